#include "sm/smcache.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/bits.h"
#include "base/clones.h"
#include "base/hints.h"
#include "kernel/lanes.h"
#include "sm/ask.h"
#include "sm/global.h"
#include "sm/room.h"
#include "sm/send.h"

/* ---- construction ------------------------------------------------------------------------ */

static enum error init_one(struct sm *sm, uint32_t id) {
    const struct cache_shape shape = smcache_shape(sm->m->cfg, id);
    struct sm_cache *c = &sm->caches[id];
    c->present = shape.bytes != 0;
    c->miss_limit = shape.mshrs ? shape.mshrs : MAX_MISSES;
    if (!c->present) return OK;
    uint8_t *data = id == CACHE_DATA ? sm->l1_data : NULL;
    const enum error e = cache_init(&c->cache, &shape, c->place, data);
    return e ? e : misses_init(&c->misses, misses_of(&shape), true);
}

enum error smcache_init(struct sm *sm) {
    enum error e = OK;
    for (uint32_t id = CACHE_DATA; !e && id < CACHE_COUNT; id++) e = init_one(sm, id);
    return e;
}

void smcache_free(struct sm *sm) {
    for (int id = CACHE_DATA; id < CACHE_COUNT; id++) {
        cache_free(&sm->caches[id].cache);
        misses_free(&sm->caches[id].misses);
    }
}

/* ---- pending misses ---------------------------------------------------------------------- */

_Static_assert(QUEUE_END == CACHE_NONE, "lists of waiters end alike");

void smcache_invalidate(struct sm *sm) {
    struct sm_cache *c = &sm->caches[CACHE_DATA];
    if (!c->present) return;
    cache_clear(&c->cache);
    room_all_lines(sm);
    for (uint32_t i = 0; i < c->misses.fresh; i++)
        if (c->misses.miss[i].open) misses_close(&c->misses, i);
}

/* Lanes of accesses as they wait for sectors. */
static struct waiters waiters_of(struct sm *sm) {
    return (struct waiters){.records = (uint8_t *)sm->waiters,
                            .size = sizeof *sm->waiters,
                            .link = offsetof(struct waiter, next),
                            .want = offsetof(struct waiter, want)};
}

/* Compilers make vectors of it. */
CLONES static uint32_t sectors_of(const uint32_t addr[32], uint32_t lanes, uint32_t inside,
                                  uint32_t shift) {
    uint32_t sectors = 0;
    for (uint32_t lane = 0; lane < 32; lane++)
        sectors |= (lanes >> lane & 1) << ((addr[lane] & inside) >> shift);
    return sectors;
}

uint32_t smcache_sectors(const struct sm_cache *c, const uint32_t addr[32], uint32_t lanes) {
    const uint32_t inside = (1u << c->cache.line_shift) - 1, shift = c->cache.sector_shift;
    if (!smcache_sectored(c)) return 1;
    return lanes & (lanes - 1) ? sectors_of(addr, lanes, inside, shift)
                               : 1u << ((addr[bits_lowest(lanes)] & inside) >> shift);
}

/* Those of some lanes that ask for these sectors of a line. */
NOINLINE static uint32_t lanes_of(const struct sm_cache *c, const struct access *a, uint32_t lanes,
                                  uint32_t sectors) {
    uint32_t found = 0, inside = (1u << c->cache.line_shift) - 1;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        if (sectors >> ((a->addr[lane] & inside) >> c->cache.sector_shift) & 1) found |= 1u << lane;
    }
    return found;
}

/* Ask memory, or a level in front of it, for sectors that lie side by side. */
static void ask_run(struct sm *sm, enum sm_cache_id id, const struct buffer *buffer, uint32_t miss,
                    uint32_t run, uint64_t at) {
    static const uint8_t kinds[CACHE_COUNT] = {0, ACCESS_LOAD, ACCESS_TEXTURE, ACCESS_FETCH,
                                               ACCESS_FETCH};
    const struct sm_cache *c = &sm->caches[id];
    const uint32_t line = c->misses.miss[miss].line, bytes = bits_count(run)
                                                             << c->cache.sector_shift;
    struct access *a = global_new_access(sm);
    a->addr[0] = (line << c->cache.line_shift) + (bits_lowest(run) << c->cache.sector_shift);
    a->addr[1] = bytes;
    a->buffer = buffer && buffer->all ? buffers_touching(buffer->all, a->addr[0], bytes) : buffer;
    a->kind = kinds[id];
    a->width = 4;
    a->flags = ACCESS_FILL;
    a->sink = SINK_CACHE;
    a->cache = (uint8_t)id;
    a->miss = (uint16_t)miss;
    a->sub = (uint8_t)run;
    if (a->kind == ACCESS_FETCH && sm->m->cfg->icache2_bytes) {
        ask_put(sm, (struct ask){.cycle = sm->now, .access = a, .addr = a->addr[0]});
        return;
    }
    send_packet(sm, a, a->addr[0], bytes, 1, at);
    sm->count.transactions++;
    sm->count.transaction_bytes += bytes;
}

/* Ask for sectors of a pending line that are not on their way: they have not been asked for, or
 * have come and been replaced since. */
static void ask_for(struct sm *sm, enum sm_cache_id id, const struct buffer *buffer, uint32_t miss,
                    uint32_t sectors, uint64_t at) {
    struct miss *m = &sm->caches[id].misses.miss[miss];
    m->requested |= (uint8_t)sectors;
    m->arrived &= (uint8_t)~sectors;
    while (sectors) {
        const uint32_t run = sectors & ~(sectors + (sectors & (0 - sectors)));
        ask_run(sm, id, buffer, miss, run, at);
        sectors &= ~run;
    }
}

void smcache_ask_line(struct sm *sm, enum sm_cache_id id, uint32_t line, uint64_t at) {
    struct sm_cache *c = &sm->caches[id];
    ask_for(sm, id, NULL, misses_start(&c->misses, line), cache_all(&c->cache), at);
}

/* A record of lanes that wait. */
static uint32_t new_waiter(struct sm *sm, struct access *a, uint32_t lanes, uint32_t want) {
    uint32_t i = sm->waiter_free;
    if (i != CACHE_NONE) sm->waiter_free = sm->waiters[i].next;
    else i = sm->waiter_fresh++;
    assert(i < sm->m->flights);
    sm->waiters[i] =
        (struct waiter){.access = a, .lanes = lanes, .next = CACHE_NONE, .want = (uint8_t)want};
    return i;
}

void smcache_wait(struct sm *sm, uint32_t *waiters, struct access *a, uint32_t lanes) {
    const uint32_t i = new_waiter(sm, a, lanes, 0);
    sm->waiters[i].next = *waiters;
    *waiters = i;
}

#ifdef SMMUX_CHECK
void smcache_check(const struct sm *sm) {
    for (int id = CACHE_DATA; id < CACHE_COUNT; id++)
        if (sm->caches[id].present) misses_check(&sm->caches[id].misses);
}
#endif

/* ---- data and texture loads -------------------------------------------------------------- */

static void count_lines(struct sm *sm, enum sm_cache_id id, uint32_t hits, uint32_t merges,
                        uint32_t misses) {
    struct counters *n = &sm->count;
    const bool data = id == CACHE_DATA;
    if (id == CACHE_CONST) {
        n->const_misses += misses;
        return;
    }
    *(data ? &n->l1_hits : &n->texture_hits) += hits;
    *(data ? &n->l1_merges : &n->texture_merges) += merges;
    *(data ? &n->l1_misses : &n->texture_misses) += misses;
}

/* Put what some lanes of a load ask for into their registers, from a line that is there. */
static void read_line(struct sm_cache *c, const struct access *a, uint32_t lanes, uint32_t index) {
    if (!lanes || !c->cache.data) return;
    access_read(a, lanes, cache_data(&c->cache, index),
                cache_number(&c->cache, index) << c->cache.line_shift);
}

/* A place for a line, where lines share room. */
static void make_room(struct sm *sm, enum sm_cache_id id, uint32_t line) {
    const uint32_t gone = cache_make_room(&sm->caches[id].cache, line);
    if (gone != CACHE_NONE) room_line(sm, id, gone);
}

/* The line of a pending miss is coming, and keeps a place, or no longer. What an access has found
 * there stays until it has been through all its lines. */
static void expect(struct sm *sm, enum sm_cache_id id, struct miss *m, bool coming) {
    if ((m->index != 0) == coming) return;
    if (coming) make_room(sm, id, m->line);
    cache_expect(&sm->caches[id].cache, m->line, coming);
    m->index = coming;
}

/* Of sectors that are not there whole, those from which lanes want words that no store has left. */
NOINLINE static uint32_t lacking(const struct sm_cache *c, const struct access *a, uint32_t lanes,
                                 uint32_t index, uint32_t away) {
    const uint32_t left = c->words[index], inside = (1u << c->cache.line_shift) - 1,
                   each = a->width <= 4 ? 1 : (1u << a->width / 4) - 1;
    uint32_t found = 0;
    if (!left) return away;
    for (; lanes; lanes &= lanes - 1) {
        const uint32_t at = a->addr[bits_lowest(lanes)] & inside;
        if (~left & each << at / 4) found |= 1u << (at >> c->cache.sector_shift);
    }
    return away & found;
}

static ALWAYS_INLINE uint32_t load_lines(struct sm *sm, enum sm_cache_id id, struct access *a,
                                         const struct segment *seg, uint32_t n, uint64_t at,
                                         uint32_t apart, const bool sectored) {
    struct sm_cache *c = &sm->caches[id];
    uint32_t hits = 0, merges = 0, misses = 0, count = 0;
    uint16_t coming[COALESCE_MAX_SEGMENTS];
    for (uint32_t i = 0; i < n; i++, at += apart) {
        const uint32_t line = smcache_line(c, seg[i].addr), index = cache_find(&c->cache, line);
        const uint32_t want = !sectored                 ? 1
                              : a->flags & ACCESS_WHOLE ? cache_all(&c->cache)
                                                        : smcache_sectors(c, a->addr, seg[i].lanes);
        uint32_t away = sectored ? smcache_absent(c, index, want) : index == CACHE_NONE;
        if (index != CACHE_NONE) cache_touch(&c->cache, index);
        if (sectored && away && index != CACHE_NONE && c->words)
            away = lacking(c, a, seg[i].lanes, index, away);
        if (!away) {
            read_line(c, a, seg[i].lanes, index);
            hits++;
            continue;
        }
        const uint32_t late = away == want ? seg[i].lanes : lanes_of(c, a, seg[i].lanes, away);
        read_line(c, a, seg[i].lanes & ~late, index);
        uint32_t miss = misses_find(&c->misses, line);
        if (miss == MISS_NONE) {
            miss = misses_start(&c->misses, line);
            if (sectored && index == CACHE_NONE) coming[count++] = (uint16_t)miss;
            room_line(sm, id, line);
        }
        struct miss *m = &c->misses.miss[miss];
        const uint32_t fresh = away & ~((uint32_t)m->requested & ~(uint32_t)m->arrived);
        if (fresh) ask_for(sm, id, a->buffer, miss, fresh, at), misses++;
        else merges++;
        miss_wait(m, waiters_of(sm), new_waiter(sm, a, late, away));
    }
    for (uint32_t i = 0; i < count; i++) expect(sm, id, &c->misses.miss[coming[i]], true);
    count_lines(sm, id, hits, merges, misses);
    return merges + misses;
}

/* Compiled for caches whose lines come whole, too: their hits are among the hottest lines. */
uint32_t smcache_load(struct sm *sm, enum sm_cache_id id, struct access *a,
                      const struct segment *seg, uint32_t n, uint64_t at, uint32_t apart) {
    return smcache_sectored(&sm->caches[id]) ? load_lines(sm, id, a, seg, n, at, apart, true)
                                             : load_lines(sm, id, a, seg, n, at, apart, false);
}

/* The way of a line, which takes the place of another one if it is not there. */
static uint32_t way_for(struct sm *sm, enum sm_cache_id id, uint32_t line) {
    struct sm_cache *c = &sm->caches[id];
    uint32_t index = smcache_sectored(c) ? cache_find(&c->cache, line) : CACHE_NONE;
    if (index != CACHE_NONE) return index;
    make_room(sm, id, line);
    index = cache_victim(&c->cache, line);
    assert(index != CACHE_NONE); /* no miss ties a line here */
    room_line(sm, id, cache_number(&c->cache, index));
    cache_put(&c->cache, index, line);
    if (c->words) c->words[index] = 0;
    return index;
}

/* Let the words that a store writes be in the L1, and its sector with the last one of them. */
static void keep(struct sm *sm, const struct access *a, const struct segment *seg, uint32_t line) {
    struct sm_cache *c = &sm->caches[CACHE_DATA];
    const uint32_t words = access_covers(a, seg->lanes, seg->bytes)
                               ? words_in(seg->addr, seg->bytes)
                               : access_words(a, seg->lanes, seg->addr, seg->bytes);
    if (!words) return; /* parts of words */
    const uint32_t index = way_for(sm, CACHE_DATA, line), left = c->words[index] |= words,
                   count = 1u << (c->cache.sector_shift - 2), whole = (1u << count) - 1;
    for (uint32_t i = 0; i * count < 32; i++)
        if (!(~left >> i * count & whole)) c->cache.lines[index].valid |= (uint8_t)(1u << i);
}

/* Write what some lanes store to what the L1 has of their line. */
NOINLINE static void update(struct sm_cache *c, const struct access *a, uint32_t lanes,
                            uint32_t line) {
    const uint32_t index = cache_find(&c->cache, line), inside = (1u << c->cache.line_shift) - 1,
                   words = a->width <= 4 ? 1 : a->width / 4;
    if (index == CACHE_NONE) return;
    if (lanes == ~0u && a->flags & ACCESS_WHOLE &&
        c->cache.lines[index].valid == cache_all(&c->cache)) {
        memcpy(cache_data(&c->cache, index) + (a->addr[0] & inside), a->data[0], sizeof a->data[0]);
        return;
    }
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left), at = a->addr[lane] & inside;
        if (!(c->cache.lines[index].valid >> (at >> c->cache.sector_shift) & 1) &&
            !(c->words && c->words[index] >> at / 4 & 1))
            continue;
        for (uint32_t i = 0; i < words; i++)
            lane_store(cache_data(&c->cache, index) + at + 4 * i, a->width, a->data[i][lane]);
    }
}

void smcache_write(struct sm *sm, const struct access *a, const struct segment *seg, uint32_t n,
                   bool keeps) {
    struct sm_cache *c = &sm->caches[CACHE_DATA];
    const bool updates = sm->m->cfg->l1_updates;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t line = smcache_line(c, seg[i].addr), miss = misses_find(&c->misses, line);
        const uint32_t own =
            smcache_sectored(c) ? cache_sectors(&c->cache, seg[i].addr, seg[i].bytes) : 1;
        if (keeps) keep(sm, a, &seg[i], line);
        if (!updates) cache_drop(&c->cache, line, own);
        else if (a->kind == ACCESS_STORE) update(c, a, seg[i].lanes, line);
        else cache_drop(&c->cache, line, cache_all(&c->cache));
        if (miss != MISS_NONE) misses_close(&c->misses, miss);
        room_line(sm, CACHE_DATA, line);
    }
}

/* ---- fills ------------------------------------------------------------------------------- */

/* Put what has come of a line into the cache: used again if several accesses wait for it. */
static void install(struct sm *sm, const struct miss *m, const struct access *fill) {
    struct cache *c = &sm->caches[fill->cache].cache;
    const uint32_t index = way_for(sm, (enum sm_cache_id)fill->cache, m->line);
    c->lines[index].used_again |= m->waiting > 1;
    c->lines[index].valid |= fill->sub;
    if (!c->data) return;
    const uint32_t inside = fill->addr[0] & ((1u << c->line_shift) - 1);
    memcpy(cache_data(c, index) + inside, fill->data[0], fill->addr[1]);
}

/* Give sectors that have come to a line's waiters; returns those that have all, oldest first. */
static uint32_t hand_out(struct sm *sm, const struct sm_cache *c, struct miss *m,
                         const struct access *fill) {
    uint32_t node = m->first;
    if (!m->waiting) return CACHE_NONE;
    for (uint32_t i = 0; i < m->waiting; i++, node = sm->waiters[node].next) {
        struct waiter *w = &sm->waiters[node];
        const uint32_t more = w->want & ~(uint32_t)fill->sub; /* they wait for */
        const uint32_t lanes = more ? lanes_of(c, w->access, w->lanes, fill->sub) : w->lanes;
        if (c->cache.data && lanes)
            access_read(w->access, lanes, (const uint8_t *)fill->data[0], fill->addr[0]);
        w->lanes &= ~lanes;
        w->want = (uint8_t)more;
    }
    if (smcache_sectored(c)) return miss_release(m, waiters_of(sm), m->arrived);
    m->waiting = 0;
    return m->first;
}

/* The list of those that wait, first come first: they were put in front of it. */
static uint32_t reversed(struct sm *sm, uint32_t list) {
    uint32_t out = CACHE_NONE;
    while (list != CACHE_NONE) {
        const uint32_t next = sm->waiters[list].next;
        sm->waiters[list].next = out;
        out = list;
        list = next;
    }
    return out;
}

/* Let the accesses of a list go on. */
static void serve(struct sm *sm, uint32_t list, uint64_t t) {
    while (list != CACHE_NONE) {
        const struct waiter w = sm->waiters[list];
        sm->waiters[list].next = sm->waiter_free;
        sm->waiter_free = list;
        list = w.next;
        global_segment_done(sm, w.access, t);
    }
}

void smcache_serve(struct sm *sm, uint32_t *waiters, uint64_t t) {
    const uint32_t list = reversed(sm, *waiters);
    *waiters = CACHE_NONE;
    serve(sm, list, t);
}

void smcache_fill(struct sm *sm, struct access *fill, uint64_t t) {
    struct sm_cache *c = &sm->caches[fill->cache];
    struct miss *m = &c->misses.miss[fill->miss];
    const uint32_t line = m->line;
    expect(sm, (enum sm_cache_id)fill->cache, m, false);
    if (m->open) install(sm, m, fill);
    room_line(sm, (enum sm_cache_id)fill->cache, line);
    m->arrived |= fill->sub;
    const uint32_t list = hand_out(sm, c, m, fill);
    if (m->arrived == m->requested) misses_end(&c->misses, fill->miss);
    c->fills++;
    sm->wake_credits = INT32_MIN; /* claims may need less now */
    serve(sm, list, t);
    if (fill->cache == CACHE_CODE) fetch_line_came(sm, line, t);
    global_free_access(sm, fill);
}

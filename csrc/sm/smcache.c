#include "sm/smcache.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "kernel/lanes.h"
#include "sm/global.h"
#include "sm/scoreboard.h"

/* ---- construction ------------------------------------------------------------------------ */

static enum error init_one(struct sm *sm, enum sm_cache_id id, struct cache_shape shape,
                           uint32_t mshrs) {
    struct sm_cache *c = &sm->caches[id];
    c->present = shape.bytes != 0;
    c->miss_limit = mshrs;
    c->miss_free = ~0ull;
    memset(c->open_miss, NO_MISS, sizeof c->open_miss);
    shape.sector = shape.line;
    return c->present ? cache_init(&c->cache, &shape) : OK;
}

enum error smcache_init(struct sm *sm) {
    const struct config *cfg = sm->m->cfg;
    const struct cache_shape data = {.bytes = cfg->l1_bytes,
                                     .line = cfg->l1_line,
                                     .ways = cfg->l1_ways,
                                     .hashed = cfg->l1_hashed,
                                     .data = true};
    const struct cache_shape texture = {
        .bytes = cfg->tex_bytes, .line = cfg->tex_line, .ways = cfg->tex_ways};
    const struct cache_shape code = {
        .bytes = cfg->icache_bytes, .line = cfg->icache_line, .ways = cfg->icache_ways};
    const struct cache_shape constant = {
        .bytes = cfg->const_bytes, .line = cfg->const_line, .ways = cfg->const_ways};
    enum error e = init_one(sm, CACHE_DATA, data, cfg->l1_mshrs);
    if (!e) e = init_one(sm, CACHE_TEXTURE, texture, cfg->tex_mshrs);
    if (!e) e = init_one(sm, CACHE_CODE, code, MAX_MISSES);
    if (!e) e = init_one(sm, CACHE_CONST, constant, MAX_MISSES);
    if (cfg->icache_bytes) {
        const struct program *p = sm->m->program;
        sm->fetch_mask = cfg->fetch_bytes ? MAX_WARPS - 1 : 0;
        sm->piece_bytes = cfg->fetch_bytes ? cfg->fetch_bytes : cfg->icache_line;
        sm->last_piece = p->deps[p->count - 1].piece;
        memset(sm->fetched, 0xff, sizeof sm->fetched);
    }
    return e;
}

void smcache_free(struct sm *sm) {
    for (int id = CACHE_DATA; id < CACHE_COUNT; id++) cache_free(&sm->caches[id].cache);
}

void smcache_begin_warp(struct sm *sm, uint32_t warp) {
    if (sm->fetch_mask) sm->fetched[warp] = CACHE_NONE;
}

/* ---- pending misses ---------------------------------------------------------------------- */

/* The number of the line that holds an address. */
static uint32_t line_of(const struct sm_cache *c, uint32_t addr) {
    return addr >> c->cache.line_shift;
}

/* The bucket of a line: the upper bits of a product, since lines at a stride of a power of two must
 * not share one. */
static uint8_t *bucket(struct sm_cache *c, uint32_t line) {
    _Static_assert(MAX_MISSES == 64, "a bucket has six bits");
    return &c->open_miss[line * 0x9e3779b1u >> 26];
}

/* The open miss of a line; NULL: there is none. */
static struct miss *find_miss(struct sm_cache *c, uint32_t line) {
    uint32_t i = *bucket(c, line);
    while (i != NO_MISS && c->miss[i].line != line) i = c->miss[i].next;
    return i == NO_MISS ? NULL : &c->miss[i];
}

/* Let nobody else join a miss: its line is here, or out of date. */
static void close_miss(struct sm_cache *c, struct miss *m) {
    uint8_t *link = bucket(c, m->line);
    while (&c->miss[*link] != m) link = &c->miss[*link].next;
    *link = m->next;
    m->open = false;
}

/* Ask the level behind the caches of instructions and constants for a line. Its answer takes some
 * time, up to which alone the SM may run before it is known. */
static void ask(struct sm *sm, struct access *a) {
    const uint64_t answer = sm->now + sm->m->cfg->lat_icache2;
    assert(sm->ask_count < 2 * MAX_MISSES);
    sm->asks[sm->ask_count++] = (struct ask){sm->now, a};
    if (answer < sm->reach) sm->reach = answer;
}

/* Ask memory, or a level in front of it, for a line. There is a free entry for the miss. */
static struct miss *start_miss(struct sm *sm, enum sm_cache_id id, const struct buffer *buffer,
                               uint32_t line, uint64_t at) {
    static const uint8_t kinds[CACHE_COUNT] = {0, ACCESS_LOAD, ACCESS_TEXTURE, ACCESS_FETCH,
                                               ACCESS_FETCH};
    struct sm_cache *c = &sm->caches[id];
    assert(c->miss_free && !find_miss(c, line));
    const uint32_t i = (uint32_t)__builtin_ctzll(c->miss_free);
    uint8_t *first = bucket(c, line);
    c->miss[i] = (struct miss){.line = line, .waiters = CACHE_NONE, .next = *first, .open = true};
    *first = (uint8_t)i;
    c->miss_free &= c->miss_free - 1;
    c->miss_count++;
    struct access *a = global_new_access(sm);
    const uint32_t bytes = 1u << c->cache.line_shift;
    a->addr[0] = line << c->cache.line_shift;
    a->buffer = buffer;
    a->kind = kinds[id];
    a->width = 4;
    a->flags = ACCESS_FILL;
    a->cache = (uint8_t)id;
    a->miss = (uint8_t)i;
    if (a->kind == ACCESS_FETCH && sm->m->cfg->icache2_bytes) {
        ask(sm, a);
        return &c->miss[i];
    }
    global_send(sm, a, a->addr[0], bytes, 1, at);
    sm->count.transactions++;
    sm->count.transaction_bytes += bytes;
    return &c->miss[i];
}

void smcache_wait(struct sm *sm, uint32_t *waiters, struct access *a, uint32_t lanes) {
    const uint32_t i = sm->waiter_free;
    assert(i < sm->m->flights);
    sm->waiter_free = sm->waiters[i].next;
    sm->waiters[i] = (struct waiter){.access = a, .lanes = lanes, .next = *waiters};
    *waiters = i;
}

/* Put what some lanes of a load ask for, from a line, into their registers. */
static void read_line(const struct sm_cache *c, const struct access *a, uint32_t lanes,
                      const uint8_t *line) {
    const uint32_t inside = (1u << c->cache.line_shift) - 1;
    access_read(a, lanes, line, a->addr[bits_lowest(lanes)] & ~inside);
}

#ifdef SMMUX_CHECK
/* Misses that are open lie each in the bucket of its line, and no line is asked for twice. */
static uint64_t check_buckets(struct sm_cache *c) {
    uint64_t listed = 0;
    for (uint32_t b = 0; b < MAX_MISSES; b++)
        for (uint32_t i = c->open_miss[b]; i != NO_MISS; i = c->miss[i].next) {
            assert(i < MAX_MISSES && !(listed >> i & 1));
            assert(c->miss[i].open && bucket(c, c->miss[i].line) == &c->open_miss[b]);
            assert(find_miss(c, c->miss[i].line) == &c->miss[i]);
            listed |= 1ull << i;
        }
    return listed;
}

void smcache_check(const struct sm *sm) {
    for (int id = CACHE_DATA; id < CACHE_COUNT; id++) {
        struct sm_cache *c = (struct sm_cache *)&sm->caches[id];
        if (!c->present) continue;
        const uint64_t open = check_buckets(c);
        assert(c->miss_count == bits_count64(~c->miss_free));
        for (uint32_t i = 0; i < MAX_MISSES; i++)
            if (!(c->miss_free >> i & 1)) assert(c->miss[i].open == (open >> i & 1));
        assert(!(open & c->miss_free));
    }
}
#endif

/* ---- data and texture loads -------------------------------------------------------------- */

uint32_t smcache_missing(const struct sm *sm, enum sm_cache_id id, const struct segment *seg,
                         uint32_t n) {
    struct sm_cache *c = (struct sm_cache *)&sm->caches[id];
    uint32_t waiting = 0, fresh = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t line = line_of(c, seg[i].addr);
        if (cache_find(&c->cache, line) != CACHE_NONE) continue;
        waiting++;
        if (!find_miss(c, line)) fresh++;
    }
    return c->miss_count + fresh > c->miss_limit && fresh && c->miss_count ? CACHE_NONE : waiting;
}

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

uint32_t smcache_load(struct sm *sm, enum sm_cache_id id, struct access *a,
                      const struct segment *seg, uint32_t n, uint64_t at, uint32_t apart) {
    struct sm_cache *c = &sm->caches[id];
    uint32_t hits = 0, merges = 0, misses = 0;
    for (uint32_t i = 0; i < n; i++, at += apart) {
        const uint32_t line = line_of(c, seg[i].addr), index = cache_find(&c->cache, line);
        if (index != CACHE_NONE) {
            cache_touch(&c->cache, index);
            if (c->cache.data) read_line(c, a, seg[i].lanes, cache_data(&c->cache, index));
            hits++;
            continue;
        }
        struct miss *m = find_miss(c, line);
        if (m) merges++;
        else m = start_miss(sm, id, a->buffer, line, at), misses++;
        smcache_wait(sm, &m->waiters, a, seg[i].lanes);
    }
    count_lines(sm, id, hits, merges, misses);
    return merges + misses;
}

void smcache_store(struct sm *sm, const struct segment *seg, uint32_t n) {
    struct sm_cache *c = &sm->caches[CACHE_DATA];
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t line = line_of(c, seg[i].addr);
        struct miss *m = find_miss(c, line);
        cache_invalidate(&c->cache, line);
        if (m) close_miss(c, m);
    }
}

/* ---- instructions and constants ---------------------------------------------------------- */

/* Look a piece of the program up and ask for its line if it is not there; where the cache
 * prefetches, for the next line too. */
static bool look_up(struct sm *sm, uint32_t piece) {
    struct sm_cache *c = &sm->caches[CACHE_CODE];
    const uint32_t line = line_of(c, CODE_BASE + piece * sm->piece_bytes);
    struct settled *known = &sm->settled[line % (sizeof sm->settled / sizeof *sm->settled)];
    if (known->line == line && known->fills == c->fills) {
        cache_touch(&c->cache, known->way);
        return true;
    }
    const uint32_t last = line_of(c, CODE_BASE + sm->last_piece * sm->piece_bytes),
                   index = cache_find(&c->cache, line);
    const uint64_t at = sm->now + sm->m->cfg->lat_global;
    if (index != CACHE_NONE) {
        cache_touch(&c->cache, index);
    } else if (c->miss_free && !find_miss(c, line)) {
        start_miss(sm, CACHE_CODE, NULL, line, at);
        sm->count.icache_misses++;
    }
    if (sm->m->cfg->icache_prefetch && line < last && c->miss_free &&
        cache_find(&c->cache, line + 1) == CACHE_NONE && !find_miss(c, line + 1)) {
        start_miss(sm, CACHE_CODE, NULL, line + 1, at);
        sm->count.icache_prefetches++;
    }
    /* Without a free entry for a miss the next line could not be asked for. */
    if (index != CACHE_NONE && c->miss_free)
        *known = (struct settled){.fills = c->fills, .line = line, .way = index};
    return index != CACHE_NONE;
}

bool smcache_fetch(struct sm *sm, uint32_t warp, uint32_t piece) {
    if (!look_up(sm, piece)) {
        sm->awaited[warp] = line_of(&sm->caches[CACHE_CODE], CODE_BASE + piece * sm->piece_bytes);
        return false;
    }
    sm->fetched[warp & sm->fetch_mask] = piece;
    /* While a buffer's instructions issue, the fetch of those behind them is under way. */
    if (sm->fetch_mask && piece < sm->last_piece) look_up(sm, piece + 1);
    return true;
}

uint32_t smcache_const(struct sm *sm, const uint32_t addr[32], uint32_t lanes) {
    struct sm_cache *c = &sm->caches[CACHE_CONST];
    uint32_t misses = 0;
    for (; c->present && lanes; lanes &= lanes - 1) {
        const uint32_t line = line_of(c, addr[bits_lowest(lanes)]),
                       index = cache_find(&c->cache, line);
        if (index != CACHE_NONE) {
            cache_touch(&c->cache, index);
        } else {
            cache_put(&c->cache, cache_victim(&c->cache, line), line);
            misses++;
        }
    }
    sm->count.const_misses += misses;
    return misses * sm->m->cfg->const_miss;
}

/* ---- fills ------------------------------------------------------------------------------- */

/* Put the line of a miss into the cache. */
static void install(struct sm_cache *c, const struct miss *m, const struct access *fill) {
    const uint32_t index = cache_victim(&c->cache, m->line);
    assert(index != CACHE_NONE); /* no miss ties a line here */
    cache_put(&c->cache, index, m->line);
    if (c->cache.data)
        memcpy(cache_data(&c->cache, index), fill->data[0], 1u << c->cache.line_shift);
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

/* Let the warps look again that wait for a line of the program, or could not ask for theirs. */
static void wake_fetchers(struct sm *sm, uint32_t line, uint64_t t) {
    struct sm_cache *c = &sm->caches[CACHE_CODE];
    for (uint32_t w = 0; w < sm->warp_limit; w++)
        if (sm->wait[w] == WAIT_FETCH && sm->ready_at[w] == NEVER &&
            sm->warps[w].state == WARP_RUNNING &&
            (sm->awaited[w] == line || !find_miss(c, sm->awaited[w])))
            warp_refresh(sm, w, sm->floor[w] > t ? sm->floor[w] : t, WAIT_FETCH);
}

/* Let the accesses of a list go on, with words of the line that has come if it holds any. */
static void serve(struct sm *sm, uint32_t list, const struct sm_cache *data,
                  const struct access *fill, uint64_t t) {
    while (list != CACHE_NONE) {
        const struct waiter w = sm->waiters[list];
        sm->waiters[list].next = sm->waiter_free;
        sm->waiter_free = list;
        list = w.next;
        if (data) read_line(data, w.access, w.lanes, (const uint8_t *)fill->data[0]);
        global_segment_done(sm, w.access, t);
    }
}

void smcache_serve(struct sm *sm, uint32_t *waiters, uint64_t t) {
    const uint32_t list = reversed(sm, *waiters);
    *waiters = CACHE_NONE;
    serve(sm, list, NULL, NULL, t);
}

void smcache_fill(struct sm *sm, struct access *fill, uint64_t t) {
    struct sm_cache *c = &sm->caches[fill->cache];
    struct miss *m = &c->miss[fill->miss];
    assert(!(c->miss_free >> fill->miss & 1));
    uint32_t list = reversed(sm, m->waiters);
    if (m->open) {
        install(c, m, fill);
        close_miss(c, m);
    }
    if (fill->cache == CACHE_CODE && !sm->fetch_mask) sm->fetched[0] = CACHE_NONE;
    c->miss_free |= 1ull << fill->miss;
    c->miss_count--;
    c->fills++;
    serve(sm, list, c->cache.data ? c : NULL, fill, t);
    if (fill->cache == CACHE_CODE) wake_fetchers(sm, m->line, t);
    global_free_access(sm, fill);
}

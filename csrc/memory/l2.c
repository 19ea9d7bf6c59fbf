#include "memory/l2.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/lines.h"
#include "kernel/program.h"

static struct cache_shape shape_of(const struct config *cfg) {
    struct cache_shape shape = config_shape(cfg, SHAPE_l2);
    shape.bytes /= cfg->partitions * cfg->l2_slices;
    return shape;
}

size_t l2_bytes(const struct config *cfg) {
    if (!cfg->l2_bytes) return 0;
    const struct cache_shape shape = shape_of(cfg);
    const size_t words = cfg->l2_words ? cache_ways(&shape) * sizeof(uint32_t) : 0;
    return cache_bytes(&shape) + lines_round(words);
}

/* Room for lines that are being completed. */
static enum error parts_init(struct l2 *l, const struct config *cfg) {
    if (!cfg->l2_parts) return OK;
    l->held = malloc(cfg->l2_writebacks * sizeof *l->held);
    l->free_held = malloc(cfg->l2_writebacks * sizeof *l->free_held);
    return l->held && l->free_held ? OK : ERROR_NO_MEMORY;
}

enum error l2_init(struct l2 *l, const struct config *cfg, uint8_t *place) {
    *l = (struct l2){
        .writebacks = cfg->l2_writebacks,
        .buffers = cfg->l2_writebacks,
        .merge_limit = cfg->l2_merge,
        .posts = cfg->l2_atom_posted,
        .parts = cfg->l2_parts,
        .dirty = cfg->l2_dirty,
        .fetch_shift = bits_lowest(cfg->l2_fetch),
    };
    const struct cache_shape shape = shape_of(cfg);
    enum error e = cache_init(&l->cache, &shape, place, NULL);
    if (!e) e = cleaner_init(&l->cleaner, cfg);
    if (!e) e = misses_init(&l->misses, shape.mshrs, false);
    if (!e) e = parts_init(l, cfg);
    if (cfg->l2_words) l->words = (uint32_t *)(void *)(place + cache_bytes(&shape));
    return e;
}

void l2_free(struct l2 *l) {
    cache_free(&l->cache);
    cleaner_free(&l->cleaner);
    misses_free(&l->misses);
    free(l->held);
    free(l->free_held);
}

#ifdef SMMUX_CHECK
void l2_check(const struct l2 *l) {
    misses_check(&l->misses);
    for (uint32_t i = 0; i < l->misses.fresh; i++) {
        const struct miss *m = &l->misses.miss[i];
        if (!m->used) continue;
        assert(m->index < l->cache.sets * l->cache.ways && m->waiting <= l->merge_limit);
        assert(cache_mshr(&l->cache.lines[m->index]) == i);
        assert(cache_number(&l->cache, m->index) == m->line);
    }
}
#endif

_Static_assert(QUEUE_END == XBAR_NONE, "lists of requests end alike");

/* How requests wait with pending misses. */
static struct waiters waiters_of(struct request *pool) {
    return (struct waiters){.records = (uint8_t *)pool,
                            .size = sizeof *pool,
                            .link = offsetof(struct request, next),
                            .want = offsetof(struct request, want)};
}

/* The bytes from the first to the last sector of a mask, with the gaps between. */
static struct l2_span sector_span(const struct cache *c, uint32_t line, uint32_t mask) {
    const uint32_t first = bits_lowest(mask), last = 31 - (uint32_t)__builtin_clz(mask);
    return (struct l2_span){(line << c->line_shift) + (first << c->sector_shift),
                            (last - first + 1) << c->sector_shift};
}

/* The sectors of all fetch units that the mask touches. */
static uint32_t fetch_sectors(const struct l2 *l, uint32_t mask) {
    const struct cache *c = &l->cache;
    if (l->fetch_shift <= c->sector_shift) return mask;
    uint32_t unit = 1u << (l->fetch_shift - c->sector_shift), whole = (1u << unit) - 1, out = 0;
    for (uint32_t at = 0; mask >> at; at += unit)
        if (mask >> at & whole) out |= whole << at;
    return out;
}

/* The sectors of a line that stores have written in part: those of one with a fetch under way are
 * soon complete. */
static uint32_t parts_of(const struct cache_line *c) {
    return c->tie ? 0 : c->dirty & ~(uint32_t)c->valid;
}

/* Write the dirty sectors of a line back, which is clean then. A write-back buffer must be free.
 * Sectors that have to be read first count as valid at once, though they come later. */
static void write_back(struct l2 *l, uint32_t index, struct l2_work *work) {
    struct cache_line *c = &l->cache.lines[index];
    assert(l->writebacks && work->writes < sizeof work->write / sizeof *work->write);
    l->writebacks--;
    l->stats.writebacks++;
    struct l2_write *w = &work->write[work->writes++];
    const uint32_t line = cache_number(&l->cache, index), parts = l->parts ? parts_of(c) : 0;
    w->span = sector_span(&l->cache, line, c->dirty);
    w->lacks.bytes = 0;
    if (parts) {
        w->lacks = sector_span(&l->cache, line, parts);
        w->held = l->free_count ? l->free_held[--l->free_count] : l->fresh_held++;
        l->held[w->held] = w->span;
        c->valid |= (uint8_t)parts;
    }
    c->dirty = 0;
}

struct l2_span l2_complete(struct l2 *l, uint32_t held) {
    l->free_held[l->free_count++] = (uint16_t)held;
    return l->held[held];
}

/* Lines of a set: how many are dirty, and how many in part; which dirty one that no miss is pending
 * on has been used least recently. */
struct dirt {
    uint32_t dirty, parts, oldest;
};

static struct dirt dirt_of(const struct cache *c, uint32_t first) {
    struct dirt d = {0, 0, CACHE_NONE};
    for (uint32_t i = first; i < first + c->ways; i++) {
        const struct cache_line *l = &c->lines[i];
        if (!l->dirty) continue;
        d.dirty++;
        d.parts += parts_of(l) != 0;
        if (!l->tie && (d.oldest == CACHE_NONE || l->used < c->lines[d.oldest].used)) d.oldest = i;
    }
    return d;
}

/* A line of which sectors have become dirty that were not: `before` is its state before that. If
 * its set has too many dirty lines now the oldest of them is written back; if it has too many with
 * sectors in part all of these are, as far as there are buffers: more than one may have come to
 * have such sectors, as fetches of others have ended. */
static void keep_few_dirty(struct l2 *l, uint32_t index, struct cache_line before,
                           struct l2_work *work) {
    const struct cache *c = &l->cache;
    const bool parts = parts_of(&c->lines[index]) && !parts_of(&before);
    if (!parts && before.dirty) return;
    const uint32_t first = index - index % c->ways;
    const struct dirt d = dirt_of(c, first);
    if (parts && d.parts > l->parts) {
        for (uint32_t i = first; i < first + c->ways && l->writebacks; i++)
            if (parts_of(&c->lines[i])) write_back(l, i, work);
    } else if (d.dirty > l->dirty && d.oldest != CACHE_NONE && l->writebacks) {
        write_back(l, d.oldest, work);
    }
}

/* How many lines an access may have to be written back. */
static uint32_t most_written(const struct l2 *l) { return l->parts ? l->parts + 2 : 0; }

/* A bit for each word in some sectors of a line. */
static uint32_t words_of(uint32_t sectors) {
    uint32_t words = 0;
    for (; sectors; sectors &= sectors - 1) words |= 0xffu << 8 * bits_lowest(sectors);
    return words;
}

/* Note that words of the line in a way have been written: a sector becomes valid with its last
 * word. */
static void add_words(struct l2 *l, uint32_t index, uint32_t words) {
    const uint32_t all = l->words[index] |= words;
    for (uint32_t sector = 0; sector < 4; sector++)
        if (!(~all >> 8 * sector & 0xff)) l->cache.lines[index].valid |= (uint8_t)(1u << sector);
}

/* Put a line into a way, without any sectors. */
static void put(struct l2 *l, uint32_t index, uint32_t line) {
    cache_put(&l->cache, index, line);
    if (l->words) l->words[index] = 0;
}

/* Find a way for the line, and write a dirty victim back. CACHE_NONE: all ways of the set are in
 * use, or there is no buffer for the victim. */
static uint32_t allocate(struct l2 *l, uint32_t line, struct l2_work *work) {
    uint32_t i = cache_victim(&l->cache, line);
    if (i == CACHE_NONE) return i;
    if (l->cache.lines[i].dirty) {
        if (!l->writebacks) return CACHE_NONE;
        write_back(l, i, work);
    }
    put(l, i, line);
    return i;
}

/* How many lines of a page can be written back at once: one buffer is left for a victim. */
static uint32_t most_cleaned(const struct l2 *l, const struct page *p) {
    return p->count < l->buffers ? p->count : l->buffers - 1;
}

/* Write the lines of a page back that are still dirty, as many as most_cleaned allows. Lines with a
 * fetch under way are left out, and written when they are replaced. */
static void clean(struct l2 *l, const struct page *p, struct l2_work *work) {
    uint32_t left = most_cleaned(l, p);
    for (uint32_t i = 0; i < p->count && left; i++) {
        const uint32_t index = cache_find(&l->cache, p->line[i]);
        if (index == CACHE_NONE || !l->cache.lines[index].dirty) continue;
        if (l->cache.lines[index].tie) continue;
        write_back(l, index, work);
        left--;
    }
}

/* What a request asks for, and what the cache has of that. */
struct lookup {
    uint32_t line, index; /* number of the line; its way, CACHE_NONE: it is not in the cache */
    uint32_t want;        /* mask of the sectors that it asks for */
    struct l2_place place;
};

/* Serve a store, whose sectors become dirty without a fetch. `covers` as in l2_access. */
static enum l2_answer store(struct l2 *l, const struct lookup *at, const struct request *r,
                            bool covers, struct l2_work *work) {
    uint32_t index = at->index;
    struct page *page = NULL;
    bool due = false;
    if (l->writebacks < most_written(l)) return L2_BLOCKED;
    if (l->cleaner.per_bank && (index == CACHE_NONE || !l->cache.lines[index].dirty)) {
        page = cleaner_place(&l->cleaner, at->place.bank, at->place.row);
        due = cleaner_is_due(&l->cleaner, page, at->place.row);
        if (due && l->writebacks <= most_cleaned(l, page)) return L2_BLOCKED;
    }
    if (index == CACHE_NONE) {
        index = allocate(l, at->line, work);
        if (index == CACHE_NONE) return L2_BLOCKED;
        l->stats.misses++;
    } else {
        cache_touch(&l->cache, index);
        l->stats.hits++;
    }
    if (due) clean(l, page, work);
    if (page) cleaner_note(&l->cleaner, page, at->place.row, at->line);
    struct cache_line *c = &l->cache.lines[index];
    const struct cache_line before = *c;
    c->dirty |= (uint8_t)at->want;
    if (covers) c->valid |= (uint8_t)at->want;
    else if (l->words) add_words(l, index, access_words(r->access, r->lanes, r->addr, r->bytes));
    if (l->parts) keep_few_dirty(l, index, before, work);
    return L2_HIT;
}

/* Ask for sectors of a line, not all of which are valid; `index` is its way, or CACHE_NONE. Sectors
 * that have not been asked for yet are fetched. Returns the line's pending miss, perhaps a new one;
 * MISS_NONE: nothing has changed, since there is no MSHR, no way or no buffer. */
static uint32_t ask(struct l2 *l, uint32_t line, uint32_t index, uint32_t want,
                    struct l2_work *work) {
    uint32_t number = index == CACHE_NONE ? CACHE_NO_MSHR : cache_mshr(&l->cache.lines[index]);
    if (number == CACHE_NO_MSHR) {
        if (l->misses.count == l->misses.capacity) return MISS_NONE;
        if (index == CACHE_NONE) index = allocate(l, line, work);
        else cache_touch(&l->cache, index);
        if (index == CACHE_NONE) return MISS_NONE;
        number = misses_start(&l->misses, line);
        l->misses.miss[number].index = index;
        cache_tie(&l->cache.lines[index], number);
    } else {
        cache_touch(&l->cache, index);
    }
    struct miss *m = &l->misses.miss[number];
    const uint32_t there = l->cache.lines[index].valid | (uint32_t)m->requested;
    uint32_t missing = want & ~there;
    if (missing) {
        missing = fetch_sectors(l, missing) & ~there;
        work->fetch = sector_span(&l->cache, line, missing);
        work->fetch_mshr = number;
        work->fetch_sectors = missing;
        m->requested |= (uint8_t)missing;
    }
    return number;
}

/* An atomic makes sectors of a line dirty. Nothing waits for a buffer: the next one comes soon. */
static void dirty_by_atomic(struct l2 *l, uint32_t index, uint32_t sectors, struct l2_work *work) {
    const struct cache_line before = l->cache.lines[index];
    l->cache.lines[index].dirty |= (uint8_t)sectors;
    if (l->parts && l->writebacks >= most_written(l)) keep_few_dirty(l, index, before, work);
}

/* Serve a load or an atomic some of whose sectors are not valid: it waits with the line's pending
 * miss, perhaps a new one, unless it is an atomic without a result and the L2 posts those. */
static enum l2_answer miss(struct l2 *l, struct request *pool, uint32_t node,
                           const struct lookup *at, struct l2_work *work) {
    const uint32_t tied =
        at->index == CACHE_NONE ? CACHE_NO_MSHR : cache_mshr(&l->cache.lines[at->index]);
    if (tied != CACHE_NO_MSHR && l->misses.miss[tied].waiting >= l->merge_limit) return L2_BLOCKED;
    const uint32_t number = ask(l, at->line, at->index, at->want, work);
    if (number == MISS_NONE) return L2_BLOCKED;
    struct miss *m = &l->misses.miss[number];
    const bool atomic = pool[node].kind == ACCESS_ATOM;
    const bool posted = atomic && l->posts && pool[node].access->dst[0] == OPERAND_NONE;
    if (!posted) miss_wait(m, waiters_of(pool), node);
    if (work->fetch.bytes) l->stats.misses++;
    else l->stats.merges++;
    if (atomic) dirty_by_atomic(l, m->index, at->want, work);
    return posted ? L2_HIT : L2_MISS;
}

/* Are all sectors valid that a load or an atomic asks for? */
static bool hits(const struct l2 *l, const struct lookup *at) {
    return at->index != CACHE_NONE && (l->cache.lines[at->index].valid & at->want) == at->want;
}

enum l2_answer l2_access(struct l2 *l, struct request *pool, uint32_t node, struct l2_place place,
                         bool covers, struct l2_work *work) {
    struct request *r = &pool[node];
    const uint32_t line = r->addr >> l->cache.line_shift;
    const struct lookup at = {.line = line,
                              .index = cache_find(&l->cache, line),
                              .want = cache_sectors(&l->cache, r->addr, r->bytes),
                              .place = place};
    enum l2_answer answer;
    work->fetch.bytes = work->writes = 0;
    r->want = (uint8_t)at.want;
    if (r->kind == ACCESS_STORE) {
        answer = store(l, &at, r, covers, work);
    } else if (hits(l, &at)) {
        cache_touch(&l->cache, at.index);
        if (r->kind == ACCESS_ATOM) dirty_by_atomic(l, at.index, at.want, work);
        l->stats.hits++;
        answer = L2_HIT;
    } else {
        answer = miss(l, pool, node, &at, work);
    }
    l->stats.accesses += answer != L2_BLOCKED;
    return answer;
}

enum l2_answer l2_ride(struct l2 *l, const struct request *r) {
    if (!l->words) return L2_HIT;
    const uint32_t i = cache_find(&l->cache, r->addr >> l->cache.line_shift);
    if (i != CACHE_NONE) add_words(l, i, access_words(r->access, r->lanes, r->addr, r->bytes));
    return L2_HIT;
}

enum l2_answer l2_ask(struct l2 *l, uint32_t line, uint32_t sectors, uint32_t *number,
                      struct l2_work *work) {
    const uint32_t i = cache_find(&l->cache, line);
    work->fetch.bytes = work->writes = 0;
    if (i != CACHE_NONE && !(sectors & ~(uint32_t)l->cache.lines[i].valid)) {
        cache_touch(&l->cache, i);
        return L2_HIT;
    }
    *number = ask(l, line, i, sectors, work);
    return *number == MISS_NONE ? L2_BLOCKED : L2_MISS;
}

void l2_forget(struct l2 *l, uint32_t line, uint32_t sectors) {
    const uint32_t i = cache_find(&l->cache, line);
    if (i == CACHE_NONE || l->cache.lines[i].tie) return;
    if (l->words) l->words[i] &= ~words_of(sectors);
    cache_drop(&l->cache, line, sectors);
}

uint32_t l2_fill(struct l2 *l, struct request *pool, uint32_t mshr, uint32_t sectors) {
    struct miss *m = &l->misses.miss[mshr];
    struct cache_line *c = &l->cache.lines[m->index];
    assert(cache_number(&l->cache, m->index) == m->line && cache_mshr(c) == mshr);
    m->arrived |= (uint8_t)sectors;
    c->valid |= (uint8_t)sectors;
    const uint32_t ready = miss_release(m, waiters_of(pool), c->valid);
    if (m->arrived == m->requested) {
        cache_tie(c, CACHE_NO_MSHR);
        misses_end(&l->misses, mshr);
    }
    return ready;
}

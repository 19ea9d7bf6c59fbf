/* Room for accesses: credits, pending misses (MSHRs) and places for stores. A warp whose access
 * finds too little room keeps the access's transactions as a claim, and sleeps until a reply comes
 * after which there may be room. */
#ifndef SMMUX_ROOM_H
#define SMMUX_ROOM_H

#include "base/bits.h"
#include "base/hints.h"
#include "sm/memop.h"
#include "sm/smcache.h"

/* How many lines of a load lack sectors, and how many of these lines have no pending miss. */
struct absence {
    uint32_t lines, fresh;
};

/* The transactions of an access that found too few credits or pending misses. */
struct claim {
    uint32_t cache, count; /* enum sm_cache_id, or 0: no cache; number of segments */
    uint32_t need;         /* credits; CACHE_NONE: too many misses are pending */
    uint32_t stores;       /* places at the port (send.h) */
    uint64_t fills; /* of the cache when it was last looked at: without a further fill the need does
                       not fall */
    struct absence absence; /* in the L1; valid while the warp's bit in sm.reckoned is set */
    struct segment segment[COALESCE_MAX_SEGMENTS];
    uint32_t addr[32]; /* of the lanes, if a cache serves the access */
};

/* The warps with claims on lines of the L1, a bit each, are found by a hash of the line. */
#define CLAIM_BITS 10

static inline uint64_t *room_claimed(const struct sm *sm, uint32_t line) {
    return &sm->claimed[bits_spread(line) >> (32 - CLAIM_BITS)];
}

/* A line of a cache, or its pending miss, has changed: the absence of claims on that line (and of a
 * few with the same hash) must be computed anew. */
static ALWAYS_INLINE void room_line(struct sm *sm, enum sm_cache_id id, uint32_t line) {
    if (id == CACHE_DATA && sm->claiming) sm->reckoned &= ~*room_claimed(sm, line);
}

/* All lines of the L1 have changed. */
static inline void room_all_lines(struct sm *sm) { sm->reckoned = 0; }

/* How many credits a load through a cache takes; CACHE_NONE: the cache has too many pending misses.
 */
uint32_t room_cached(const struct sm_cache *c, const uint32_t addr[32], const struct segment *seg,
                     uint32_t n);

/* How many credits these segments take, with a cache or without; or CACHE_NONE. */
static ALWAYS_INLINE uint32_t room_need(const struct sm *sm, enum sm_cache_id cache,
                                        const uint32_t addr[32], const struct segment *seg,
                                        uint32_t n) {
    return cache ? room_cached(&sm->caches[cache], addr, seg, n) : n;
}

/* How many credits must be free for so many segments: an access that needs more than there are goes
 * when all are free. */
static ALWAYS_INLINE int32_t room_enough(const struct sm *sm, uint32_t need) {
    const uint32_t credits = sm->m->cfg->credits;
    return (int32_t)(need < credits ? need : credits);
}

/* Are enough credits free for so many segments, and for `waits` more that wait for a tile? */
static ALWAYS_INLINE bool room_suffices(const struct sm *sm, uint32_t need, uint32_t waits) {
    return need != CACHE_NONE && sm->credits >= room_enough(sm, need + waits);
}

/* Is there room for so many lines or segments even if the cache has none of them? */
static ALWAYS_INLINE bool room_is_plenty(const struct sm *sm, enum sm_cache_id cache, uint32_t n) {
    const struct sm_cache *c = &sm->caches[cache];
    return sm->credits >= (int32_t)n && (!cache || c->misses.count + n <= c->miss_limit);
}

/* Keep the segments of an access for which there is no room; lines of a tile may come meanwhile.
 * The warp sleeps until a reply after which there may be room, instead of trying again in vain.
 * Always false: the access has not issued. */
bool room_claim(struct memop *op, enum sm_cache_id cache, const struct segment *seg, uint32_t n,
                uint32_t need, uint32_t stores);
/* Is there still no room at cycle t for the warp's claim? Then the warp sleeps. */
bool room_starves(struct sm *sm, uint32_t warp, uint64_t t);
/* Let starved warps try again, except those for which there surely is no room yet. They need not
 * fetch their instruction again. How often they try changes no timing, only the reasons that idle
 * clocks are counted under. */
void room_wake(struct sm *sm, uint64_t t);

#endif

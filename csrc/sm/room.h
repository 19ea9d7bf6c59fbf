/* Room for accesses: credits, pending misses, places for stores. A warp whose access finds too few
 * keeps its transactions as a claim, and sleeps until a reply after which there may be room. */
#ifndef SMMUX_ROOM_H
#define SMMUX_ROOM_H

#include "base/hints.h"
#include "sm/memop.h"
#include "sm/smcache.h"

/* How many lines of a load lack sectors, and how many of these nobody has asked for. */
struct absence {
    uint32_t lines, fresh;
};

/* The transactions of an access that found too few credits or pending misses. */
struct claim {
    uint32_t cache, count; /* enum sm_cache_id or 0; segments */
    uint32_t need;         /* credits, CACHE_NONE: too many misses are pending */
    uint32_t stores;       /* places among those that wait */
    uint64_t fills; /* of the cache until then; without a further one the need does not fall */
    struct absence absence; /* from the L1, as long as the warp's bit in sm.reckoned says so */
    struct segment segment[COALESCE_MAX_SEGMENTS];
    uint32_t addr[32]; /* of the lanes, if a cache serves them */
};

/* Which claims wait for lines of the L1, by a hash of the lines: a bit per warp. */
#define CLAIM_BITS 10

static inline uint64_t *room_claimed(const struct sm *sm, uint32_t line) {
    return &sm->claimed[line * 0x9e3779b1u >> (32 - CLAIM_BITS)];
}

/* Something has happened to a line of a cache, or to its pending miss: claims on it, and few
 * others, must be reckoned up anew. */
static ALWAYS_INLINE void room_line(struct sm *sm, enum sm_cache_id id, uint32_t line) {
    if (id == CACHE_DATA && sm->claiming) sm->reckoned &= ~*room_claimed(sm, line);
}

/* The same for all lines of the L1. */
static inline void room_all_lines(struct sm *sm) { sm->reckoned = 0; }

/* How many credits a load takes that a cache serves; CACHE_NONE if that has too many pending
 * misses.
 */
uint32_t room_cached(const struct sm_cache *c, const uint32_t addr[32], const struct segment *seg,
                     uint32_t n);

/* How many credits these segments take, or CACHE_NONE. */
static ALWAYS_INLINE uint32_t room_need(const struct sm *sm, enum sm_cache_id cache,
                                        const uint32_t addr[32], const struct segment *seg,
                                        uint32_t n) {
    return cache ? room_cached(&sm->caches[cache], addr, seg, n) : n;
}

/* How many credits will do for so many segments: all there are, for an access that needs more. */
static ALWAYS_INLINE int32_t room_enough(const struct sm *sm, uint32_t need) {
    const uint32_t credits = sm->m->cfg->credits;
    return (int32_t)(need < credits ? need : credits);
}

/* Are there credits for so many segments, and those that wait for a tile? */
static ALWAYS_INLINE bool room_suffices(const struct sm *sm, uint32_t need, uint32_t waits) {
    return need != CACHE_NONE && sm->credits >= room_enough(sm, need + waits);
}

/* Is there room for so many lines of a cache, or segments, even if nothing of them is there? */
static ALWAYS_INLINE bool room_is_plenty(const struct sm *sm, enum sm_cache_id cache, uint32_t n) {
    const struct sm_cache *c = &sm->caches[cache];
    return sm->credits >= (int32_t)n && (!cache || c->misses.count + n <= c->miss_limit);
}

/* Keep the segments of an access for which there is no room; lines of a tile may come meanwhile.
 * The warp sleeps until a reply after which there may be some, so that it does not issue again only
 * to find that there is still none.
 */
bool room_claim(struct memop *op, enum sm_cache_id cache, const struct segment *seg, uint32_t n,
                uint32_t need, uint32_t stores);
/* Is there still no room at cycle t for the access that the warp has a claim for? Then it sleeps.
 */
bool room_starves(struct sm *sm, uint32_t warp, uint64_t t);
/* Let warps that found too few credits or pending misses look again, unless there is still no room
 * for sure. Their instruction and its operands are there, whatever the cache of instructions holds
 * now: how often they look changes nothing but what idle clocks are said to have waited for. */
void room_wake(struct sm *sm, uint64_t t);

#endif

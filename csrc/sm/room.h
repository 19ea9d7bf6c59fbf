/* Room for accesses: credits and pending misses. A warp whose access finds too few keeps its
 * transactions as a claim, and sleeps until a reply after which there may be room. */
#ifndef SMMUX_ROOM_H
#define SMMUX_ROOM_H

#include "base/hints.h"
#include "sm/memop.h"
#include "sm/smcache.h"

/* The transactions of an access that found too few credits or pending misses. */
struct claim {
    uint32_t cache, count; /* enum sm_cache_id or 0; segments */
    uint32_t need;         /* credits, CACHE_NONE: too many misses are pending */
    uint64_t fills; /* of the cache until then; without a further one the need does not fall */
    struct segment segment[COALESCE_MAX_SEGMENTS];
    uint32_t addr[32]; /* of the lanes, if a cache serves them */
};

/* How many credits these segments take; CACHE_NONE if the cache has too many pending misses. */
static inline uint32_t room_need(const struct sm *sm, enum sm_cache_id cache,
                                 const uint32_t addr[32], const struct segment *seg, uint32_t n) {
    return cache ? smcache_missing(sm, cache, addr, seg, n) : n;
}

/* Are there credits for so many segments, and those that wait for a tile? All there are will do for
 * an access that needs more. */
static ALWAYS_INLINE bool room_suffices(const struct sm *sm, uint32_t need, uint32_t waits) {
    const uint32_t credits = sm->m->cfg->credits, all = need + waits;
    return need != CACHE_NONE && sm->credits >= (int32_t)(all < credits ? all : credits);
}

/* Keep the segments of an access for which there is no room; lines of a tile may come meanwhile.
 * The warp sleeps until a reply after which there may be some, so that it does not issue again only
 * to find that there is still none.
 */
bool room_claim(struct memop *op, enum sm_cache_id cache, const struct segment *seg, uint32_t n,
                uint32_t need);
/* Is there still no room at cycle t for the access that the warp has a claim for? Then it sleeps.
 */
bool room_starves(struct sm *sm, uint32_t warp, uint64_t t);
/* Let warps that found too few credits or pending misses look again, unless there is still no room
 * for sure. Their instruction and its operands are there, whatever the cache of instructions holds
 * now: how often they look changes nothing but what idle clocks are said to have waited for. */
void room_wake(struct sm *sm, uint64_t t);

#endif

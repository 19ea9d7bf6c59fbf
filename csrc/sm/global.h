/* Global, local and texture accesses: coalescing, caches, packets out and replies in. */
#ifndef SMMUX_GLOBAL_H
#define SMMUX_GLOBAL_H

#include "sm/memop.h"

/* The transactions of an access that found too few credits or pending misses. */
struct claim {
    uint32_t cache, count; /* enum sm_cache_id or 0; segments */
    uint32_t need;         /* credits, CACHE_NONE: too many misses are pending */
    uint64_t fills; /* of the cache until then; without a further one the need does not fall */
    struct segment segment[COALESCE_MAX_SEGMENTS];
    uint32_t addr[32]; /* of the lanes, if a cache serves them */
};

/* Issue a global, local or texture access; false if it has to wait for room, or faulted. */
bool global_issue(struct memop *op);
/* Issue a constant access that holds its unit for so many clocks; lines that the cache does not
 * have come from the level behind it. The caller loads the values then. False if it has to wait for
 * room: it issues anew, and its registers must be as they were. */
bool global_const(struct memop *op, uint32_t busy);
/* Is there still no room at cycle t for the access that the warp has a claim for? Then it sleeps.
 */
bool global_starves(struct sm *sm, uint32_t warp, uint64_t t);

/* Accesses on their way to memory and back. A record of an access comes from the SM's
 * list of free ones, which holds enough, and goes back there. */
struct access *global_new_access(struct sm *sm);
void global_free_access(struct sm *sm, struct access *a);
/* Send a packet for these lanes of the access, at cycle `at` or as soon as the port is free. */
void global_send(struct sm *sm, struct access *a, uint32_t addr, uint32_t bytes, uint32_t lanes,
                 uint64_t at);
/* A reply has come: it fills a line of a cache, or answers a segment of an access. */
void global_reply(struct sm *sm, const struct reply *r);
/* One segment of an access has its values: give its credit back, perhaps complete the access. */
void global_segment_done(struct sm *sm, struct access *a, uint64_t t);

#endif

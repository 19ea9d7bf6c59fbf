/* Global, local and texture accesses: coalescing, caches, packets out and replies in. */
#ifndef SMMUX_GLOBAL_H
#define SMMUX_GLOBAL_H

#include "sm/memop.h"

/* Issue a global, local or texture access; false if it has to wait for room, or faulted. */
bool global_issue(struct memop *op);
/* Issue a constant access that holds its unit for `busy` clocks, and has its values `late` clocks
 * behind its lines; lines that the cache does not have come from the level behind it. The caller
 * loads the values then. False if it has to wait for room: it issues anew, and its registers must
 * be as they were. */
bool global_const(struct memop *op, uint32_t busy, uint32_t late);

/* Accesses on their way to memory and back. A record of an access comes from the SM's
 * list of free ones, which holds enough, and goes back there. */
struct access *global_new_access(struct sm *sm);
void global_free_access(struct sm *sm, struct access *a);
/* A reply has come: it fills a line of a cache, or answers a segment of an access. */
void global_reply(struct sm *sm, const struct reply *r);
/* One segment of an access has its values: give its credit back, perhaps complete the access. */
void global_segment_done(struct sm *sm, struct access *a, uint64_t t);

#endif

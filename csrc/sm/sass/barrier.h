/* The sixteen barriers of a block in compiled code. Barrier 0 for all threads is that of every
 * kernel (sm/block.h); others, and those for so many threads, are here. */
#ifndef SMMUX_BARRIER_H
#define SMMUX_BARRIER_H

#include "sm/sm.h"

#define BARRIERS 16u

/* A barrier of compiled code that is being assembled. */
struct barrier {
    bool named;           /* somebody has come */
    uint32_t threads;     /* it waits for, of whole warps; 0: of the whole block */
    uint32_t arrived;     /* warps */
    uint64_t waiting;     /* bit per warp slot */
    uint64_t arrivals;    /* sum of the cycles at which they came */
    uint32_t asked;       /* what it reduces, 0: nothing */
    uint32_t ones, lanes; /* in which the predicate holds, and of all that came */
};

/* The barrier at which a warp waits; NULL if it is none of these. */
const struct barrier *barrier_of(const struct sm *sm, uint32_t warp, uint32_t *id);
/* A block starts: nobody waits. */
void barrier_begin(struct sm *sm, const struct block *b);
/* A warp has come to the barrier of that instruction with all its lanes. */
void barrier_arrive(struct sm *sm, uint32_t warp, const struct uop *u, uint64_t t);
/* The barrier of the whole block is complete: tell its warps what it has reduced. */
void barrier_reduced(struct sm *sm, struct block *b);
/* A warp of the block has exited: barriers of the whole block wait for one less. */
void barrier_exited(struct sm *sm, struct block *b, uint64_t t);

#endif

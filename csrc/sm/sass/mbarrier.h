/* Asynchronous barriers in shared memory (mbarrier of PTX): words of 64 bits that count who
 * arrives, and on CC 9.0 bytes as well, and change their phase when nobody is missing.
 *
 * CC 9.0, as an H200 tells it (experiments/hardware/hopper/vectors/vectors_mbarrier.npz): bits 1 to
 * 20 hold how many a phase awaits, negated, bits 21 to 41 the bytes that are awaited, negated, bits
 * 43 to 62 how many are still to arrive, negated, and bit 63 the phase. Lanes that arrive at one
 * barrier together do so at once, and are told the same: the high word before that. Where more
 * arrive than are missing the card stops the kernel, and so does this.
 *
 * CC 8.x, as compilers use it: the low word is 2^30 less what a phase awaits, the high one 2^31
 * less who is still to arrive, and its highest bit the phase; lanes arrive one after the other. */
#ifndef SMMUX_MBARRIER_H
#define SMMUX_MBARRIER_H

#include "sm/memop.h"

#define ARRIVALS                                                                                   \
    8u /* of a warp that wait for copies; a further one waits for the first of them                \
        */

/* An arrival that waits until all copies before it are there. */
struct arrival {
    uint32_t lanes, kind, pc; /* kind: enum atom_op */
    uint32_t at[32];          /* bytes of the SM's shared memory */
};

/* Those of a warp, in order: from `first` to `open` they wait, and each for its own copies and
 * those of the ones before. */
struct arrivals {
    uint32_t first, open;
    uint16_t pending[ARRIVALS]; /* copies, of the one at `open` those since the last arrival */
    struct arrival of[ARRIVALS];
};

/* Does the operation have to wait, since a barrier that it tries is not complete, or there are too
 * many arrivals that wait? The warp issues it again then. Its addresses are those of the block. */
bool mbarrier_waits(struct memop *op);
/* Do what an operation does to barriers, of which the addresses are known and good; returns how
 * many words it takes one after the other. */
uint32_t mbarrier_perform(struct memop *op);
/* Its values are there when those of another atomic would be: say that they come later. */
void mbarrier_late(struct memop *op);
/* A copy of the warp has been issued; returns the arrival that waits for it. */
uint16_t mbarrier_awaits(struct sm *sm, uint32_t warp);
/* A copy for which that arrival waits is there. */
void mbarrier_copied(struct sm *sm, uint32_t warp, uint16_t arrival, uint64_t t);

#endif

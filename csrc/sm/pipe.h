/* The queues between a sub-core and the memory pipe of its SM: accesses issue into the sub-core's
 * own, leave it one after the other, and wait in the SM's for the banks. Without queues
 * (lsu_queue = 0) an access issues when its unit is free. */
#ifndef SMMUX_PIPE_H
#define SMMUX_PIPE_H

#include <stdint.h>

#include "sm/subcore.h"

#define MOST_QUEUED  16u /* accesses in the queue of a sub-core, */
#define MOST_WAITING 32u /* and in that of the SM */
#define BANK_WORDS                                                                                 \
    64u /* the clocks ahead for which it is known whether the banks are free, by 64 */

struct memop;
struct uop;

struct pipe {
    uint64_t leaves[MAX_SUBCORES][MOST_QUEUED]; /* when accesses left a sub-core's queue, in turn */
    uint64_t free[MAX_SUBCORES];                /* when the next one can */
    uint64_t begins[MOST_WAITING];              /* when accesses came to the banks, in turn */
    uint64_t taken[BANK_WORDS];  /* a bit for each clock in which the banks have an access, round
                                    and round from the current 64 clocks on */
    uint64_t known;              /* the number of these 64 clocks */
    uint64_t solid, out;         /* up to which the banks are taken, and the way to memory, */
    uint64_t back[MAX_SUBCORES]; /* and what brings a sub-core its values */
    uint32_t count[MAX_SUBCORES], begun;
};

/* When an access that issues at cycle t leaves its sub-core's queue: behind the one in front, and
 * if there is room in the SM's. */
uint64_t pipe_leave(const struct sm *sm, uint32_t core, uint64_t t);
/* When it comes to the banks, or goes out to memory. */
uint64_t pipe_begin(const struct sm *sm, uint32_t core, const struct uop *u, uint64_t t);
/* How much later than that of one pass and one word a value comes. */
uint32_t pipe_late(const struct config *cfg, uint32_t passes, uint32_t words);
/* How long lanes of a store to global memory take their way: a line a clock, but two at least. */
uint32_t pipe_store_clocks(const struct memop *op, uint32_t lanes);
/* It takes the banks for so many clocks, which need not be in a row: op->t becomes the cycle at
 * which it would have begun if they were. Its values take the way back for its passes. The
 * sub-core's unit is free when its queue has room. */
void pipe_take(struct memop *op, uint32_t busy, uint32_t passes);

#endif

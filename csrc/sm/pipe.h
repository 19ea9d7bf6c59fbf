/* Memory accesses on their way from the sub-cores to the memory pipe of their SM. An access issues
 * into the queue of its sub-core. Accesses leave that queue in order, into one queue of the SM, and
 * wait there until the banks of shared memory and the L1 are free. Without queues (lsu_queue = 0)
 * an access issues when its unit is free. */
#ifndef SMMUX_PIPE_H
#define SMMUX_PIPE_H

#include <stdint.h>

#include "sm/subcore.h"

#define MOST_QUEUED  16u /* accesses that the queue of a sub-core can hold */
#define MOST_WAITING 32u /* accesses that the queue of the SM can hold */
#define BANK_WORDS   64u /* 64 clocks each, for which it is noted when the banks are busy */

struct memop;
struct uop;

struct pipe {
    uint64_t leaves[MAX_SUBCORES][MOST_QUEUED]; /* ring: when an access left its sub-core's queue */
    uint64_t free[MAX_SUBCORES];                /* when the next access can leave that queue */
    uint64_t begins[MOST_WAITING];              /* ring: when an access began at the banks */
    uint64_t taken[BANK_WORDS]; /* ring of words by clock / 64: a bit for each clock in which the
                                   banks are busy */
    uint64_t known; /* number of the first word in the ring: that of the current clock */
    uint64_t solid; /* the banks count as busy in all clocks before this one */
    uint64_t out;   /* when the path to memory is free */
    uint64_t back[MAX_SUBCORES];  /* when the path that returns values to a sub-core is free */
    uint32_t count[MAX_SUBCORES]; /* accesses that a sub-core has issued so far */
    uint32_t begun;               /* accesses that all sub-cores have issued so far */
};

/* The cycle at which an access that issues at cycle t leaves its sub-core's queue: the access in
 * front of it has left, and the SM's queue has room. */
uint64_t pipe_leave(const struct sm *sm, uint32_t core, uint64_t t);
/* The cycle at which an access that issues at cycle t begins at the banks or, if it is a store to
 * memory, on the path to memory. */
uint64_t pipe_begin(const struct sm *sm, uint32_t core, const struct uop *u, uint64_t t);
/* By how many clocks the value of an access comes later than that of an access of one pass over the
 * banks and one word per lane. */
uint32_t pipe_late(const struct config *cfg, uint32_t passes, uint32_t words);
/* For how many clocks some lanes of a store to global memory take the path to memory: one per line
 * of 128 bytes, and at least two. */
uint32_t pipe_store_clocks(const struct memop *op, uint32_t lanes);
/* Let an access take the banks for `busy` clocks, which need not be in a row: op->t becomes the
 * cycle at which it would have begun if they were. Its values take the return path for `passes`
 * passes. The sub-core's unit becomes free when the sub-core's queue has room. */
void pipe_take(struct memop *op, uint32_t busy, uint32_t passes);

#endif

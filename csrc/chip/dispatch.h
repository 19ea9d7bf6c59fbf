/* The thread block dispatcher: which block starts on which SM and when. */
#ifndef SMMUX_DISPATCH_H
#define SMMUX_DISPATCH_H

#include "sm/sm.h"

/* What the dispatcher knows of a grid. */
struct dispatch {
    const struct config *cfg;
    const uint32_t *blocks; /* which ones, if not all of the grid */
    uint64_t *starts;       /* NULL, or where to note the cycle from which each may run */
    uint32_t next, total;   /* blocks handed out, and in all */
    uint32_t again;         /* after so many a new launch begins, once all have ended; 0: none */
    uint32_t finished;
    uint32_t residency; /* blocks an SM may hold */
    uint32_t warps;     /* of a block */
    uint64_t free;  /* in thousandths of a clock: when the chip may take note of a further end */
    uint64_t noted; /* when it has taken note of the last one */
};

/* Before so many clocks after the end of a launch no block of the next one starts, so that it does
 * not matter how far the SMs have run by then: longer than any window. */
#define RELAUNCH_LEAST 512u

/* Fill the empty machine, round robin over TPCs, one block per TPC and interval; where there are
 * GPCs, one after the other, one block per SM and interval. */
void dispatch_fill(struct dispatch *d, struct sm *sms);
/* Replace the blocks that have finished before cycle `end`, in order of (cycle, SM). */
void dispatch_replace(struct dispatch *d, struct sm *sms, uint64_t end);
/* When the launch has ended: its last block has, memory has been told, and has answered all. */
uint64_t dispatch_end(const struct dispatch *d, const struct sm *sms);

/* Launch the grid again, if it is to be and has ended, with all its stores; returns whether it has.
 * The SMs know nothing of data that they have loaded then; the rest stays. */
bool dispatch_again(struct dispatch *d, struct sm *sms);

#endif

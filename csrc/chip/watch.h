/* How far a launch is, and whether it spins: what the host may ask now and then. Nothing here
 * changes a result. */
#ifndef SMMUX_WATCH_H
#define SMMUX_WATCH_H

#include "sm/sm.h"

#define WATCH_STATES 32u /* of each warp that are remembered */
#define WATCH_ENOUGH 8u  /* samples before anything is said */

/* A run as seen from outside. */
struct watch {
    const struct sm *sms;
    uint32_t sm_count;
    uint64_t cycle;           /* to which all SMs have run */
    uint32_t finished, total; /* blocks */
    uint32_t samples;         /* since the last block ended */
    struct watched *warps;    /* [sm_count][MAX_WARPS] once there are samples */
};

/* A block has ended: forget the samples. */
void watch_reset(struct watch *w);
/* Look at the registers of all warps. */
void watch_sample(struct watch *w);
/* Has every warp that has something left to do come back to where it was, with the same values in
 * all its registers? One that computes does not; one that waits for memory to change does. */
bool watch_spins(const struct watch *w);
void watch_free(struct watch *w);

#endif

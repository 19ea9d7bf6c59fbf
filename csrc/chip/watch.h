/* How far a launch is, and whether it spins: what the host may ask now and then. Nothing here
 * changes a result. */
#ifndef SMMUX_WATCH_H
#define SMMUX_WATCH_H

#include "sm/sm.h"

#define WATCH_STATES 32u /* of each warp that are remembered */
#define WATCH_ENOUGH 8u  /* samples before anything is said */
/* Between samples [EST]: more than any instruction takes that does not wait for others (the
 * longest, a division of 64 bits, takes half of it), so that a slow host does not see a warp stand
 * still. */
#define WATCH_CYCLES 4096u

/* A run as seen from outside. */
struct watch {
    const struct sm *sms;
    uint32_t sm_count;
    uint64_t cycle;           /* to which all SMs have run */
    uint32_t finished, total; /* blocks */
    uint32_t samples;         /* since the last block ended */
    uint64_t sampled;         /* cycle of the last one */
    uint64_t issued;          /* instructions before the first one */
    struct watched *warps;    /* [sm_count][MAX_WARPS] once there are samples */
};

/* A block has ended: forget the samples. */
void watch_reset(struct watch *w);
/* Look at the registers of all warps, unless it is too soon after the last sample. */
void watch_sample(struct watch *w);
/* Has every warp that has something left to do come back to where it was, with the same values in
 * all its registers, or does it wait for other warps while one has? One that computes or waits for
 * an access to memory does not; one that waits for memory to change does. */
bool watch_spins(const struct watch *w);
void watch_free(struct watch *w);

#endif

/* Atomics in a slice: their sectors are locked until they are done. */
#ifndef SMMUX_ATOMICS_H
#define SMMUX_ATOMICS_H

#include "memory/partition.h"

/* When the atomics before are done with the sectors of this one. */
uint64_t atomics_unlocked(const struct slice *s, const struct request *r);
/* For how many clocks it holds the slice; what is left of one is kept for the next atomic. */
uint32_t atomics_clocks(const struct partition *p, struct slice *s, const struct request *r);
/* Lock the atomic's sectors; returns when it is done. */
uint64_t atomics_lock(struct partition *p, struct slice *s, const struct request *r, uint64_t tick);

#endif

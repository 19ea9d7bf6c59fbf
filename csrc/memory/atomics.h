/* How long atomics take: at the port of an SM, and in an L2 slice, which locks their sectors until
 * they are done. */
#ifndef SMMUX_ATOMICS_H
#define SMMUX_ATOMICS_H

#include "memory/partition.h"

/* For how many flits, a clock each, an SM sends the atomics of some lanes to one line. A packet has
 * each word at most once, so that lanes with the same word go in different packets; a packet is a
 * flit, and one for each sector. Atomics without a result on one word are a flit for each lane
 * (atomic_lanes.csv, atomics.csv). */
uint32_t atomics_flits(const struct access *a, uint32_t lanes);
/* The tick at which earlier atomics have unlocked the sectors of this one. */
uint64_t atomics_unlocked(const struct slice *s, const struct request *r);
/* For how many whole clocks an atomic holds the slice's pipeline; the fraction left is kept for the
 * next atomic. */
uint32_t atomics_clocks(const struct partition *p, struct slice *s, const struct request *r);
/* Lock the atomic's sectors, from `tick` on; returns the tick at which it is done. */
uint64_t atomics_lock(struct partition *p, struct slice *s, const struct request *r, uint64_t tick);

#endif

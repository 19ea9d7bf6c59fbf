/* Atomics: how long they take to send; in a slice, where their sectors are locked until they are
 * done.
 */
#ifndef SMMUX_ATOMICS_H
#define SMMUX_ATOMICS_H

#include "memory/partition.h"

/* For how many clocks an SM sends those of some lanes, of one line. A packet has each word once,
 * so that lanes with the same word go in packets of their own: a flit, and one for each sector. One
 * without a result and of a single word is a flit in all (atomic_lanes.csv, atomics.csv).
 */
uint32_t atomics_flits(const struct access *a, uint32_t lanes);
/* When the atomics before are done with the sectors of this one. */
uint64_t atomics_unlocked(const struct slice *s, const struct request *r);
/* For how many clocks it holds the slice; what is left of one is kept for the next atomic. */
uint32_t atomics_clocks(const struct partition *p, struct slice *s, const struct request *r);
/* Lock the atomic's sectors; returns when it is done. */
uint64_t atomics_lock(struct partition *p, struct slice *s, const struct request *r, uint64_t tick);

#endif

/* Requests that go past the L2, all at once. */
#ifndef SMMUX_PAST_H
#define SMMUX_PAST_H

#include "memory/partition.h"

/* Can such a partition have requests that go past its L2? */
bool past_is_open(const struct partition *p);
/* Process as many events before `end` as can be without looking at what requests and completions
 * have to do with each other; the arguments are those of partition_run. */
void past_run(struct partition *p, uint64_t arrivals, uint64_t end);

#endif

/* Requests that bypass the L2, processed together where their order does not matter. */
#ifndef SMMUX_BYPASS_H
#define SMMUX_BYPASS_H

#include "memory/partition.h"

/* May bypass_run process requests of such a partition? */
bool bypass_is_possible(const struct partition *p);
/* Process those events before `end` whose order does not matter; the arguments are those of
 * partition_run, which processes the others. */
void bypass_run(struct partition *p, uint64_t arrivals, uint64_t end);

#endif

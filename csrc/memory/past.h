/* Requests that bypass the L2, served all at once. */
#ifndef SMMUX_PAST_H
#define SMMUX_PAST_H

#include "memory/partition.h"

/* May past_run process requests of such a partition? */
bool past_is_open(const struct partition *p);
/* Process those events before `end` whose order does not matter; the arguments are those of
 * partition_run, which processes the others. */
void past_run(struct partition *p, uint64_t arrivals, uint64_t end);

#endif

/* How long it takes to find the lanes of a warp that have the same value. */
#ifndef SMMUX_MATCH_H
#define SMMUX_MATCH_H

#include "sm/sm.h"

/* By how much longer than usual a MATCH of the warp takes that issues at cycle t: by the number of
 * values that its lanes have, and until those of other warps are done, for which the warp waits. */
uint64_t match_late(struct sm *sm, uint32_t warp, const struct uop *u, uint64_t t);

#endif

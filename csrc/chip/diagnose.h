/* Why a grid does not end: what the warps were doing when nothing could happen any more, or
 * when the cycle limit came. */
#ifndef SMMUX_DIAGNOSE_H
#define SMMUX_DIAGNOSE_H

#include "sm/sm.h"

/* Say why nothing happens any more though blocks are left: ERROR_DEADLOCK, at the first warp that
 * waits. */
enum error diagnose_deadlock(const struct sm *sms, uint32_t count, struct fault *f);

/* Say what the grid was at when the limit came, at `cycle`: ERROR_STARVATION and the holder if a
 * block has waited for shared memory for more than half of the time, else ERROR_CYCLE_LIMIT and
 * where the warps are. */
enum error diagnose_limit(const struct sm *sms, uint32_t count, uint64_t cycle, struct fault *f);

/* Say how many warps are at which lines. */
void diagnose_places(const struct sm *sms, uint32_t count, char *text, size_t size);

#endif

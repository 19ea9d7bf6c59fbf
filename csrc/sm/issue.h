/* Issue: which scheduler's slot comes next, and what an instruction does in it (guard, unit,
 * effect, scoreboard). */
#ifndef SMMUX_ISSUE_H
#define SMMUX_ISSUE_H

#include "sm/sm.h"

/* Issue what the schedulers have chosen, slot by slot, up to the SM's next event, the end of its
 * window or a fault. Returns the cycle of the next choice, which has not issued. */
typedef uint64_t issue_slots(struct sm *sm);
/* The issue loop that is compiled for this SM's machine and program; an observed SM's loop counts
 * per instruction and checks. */
issue_slots *issue_of(const struct sm *sm);

#endif

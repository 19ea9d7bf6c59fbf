/* The slots of the schedulers, and what an instruction does in one: guard, unit, effect,
 * scoreboard. */
#ifndef SMMUX_ISSUE_H
#define SMMUX_ISSUE_H

#include "sm/sm.h"

/* Let the schedulers' choices take their slots one after the other, up to the SM's next event or as
 * far as it may run, or to a fault; returns the cycle of the choice that is left. */
typedef uint64_t issue_slots(struct sm *sm);
/* The one for this SM's machine, with counts per instruction and checks if it is observed */
issue_slots *issue_of(const struct sm *sm);

#endif

/* One instruction of one warp: guard, unit, effect, scoreboard. */
#ifndef SMMUX_ISSUE_H
#define SMMUX_ISSUE_H

#include "sm/sm.h"

/* Let the choice of that scheduler take its slot. */
typedef void issue_slot(struct sm *sm, uint32_t scheduler);
/* The one for this SM's machine, with counts per instruction and checks if it is observed */
issue_slot *issue_of(const struct sm *sm);

#endif

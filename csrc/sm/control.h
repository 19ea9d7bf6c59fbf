/* Instructions of control: branches, exits, barriers, fences, traps, and what kernels print. */
#ifndef SMMUX_SM_CONTROL_H
#define SMMUX_SM_CONTROL_H

#include "sm/sm.h"

/* Issue one for the active lanes that its guard lets take part; false if it has faulted. */
bool issue_control(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active, uint64_t t);

#endif

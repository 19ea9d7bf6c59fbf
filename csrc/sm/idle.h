/* What a scheduler's idle clocks waited for: every one of them is accounted for. */
#ifndef SMMUX_IDLE_H
#define SMMUX_IDLE_H

#include "sm/sm.h"

/* Say what the scheduler's time [from, to), idle until this warp issued, was spent waiting for */
void idle_account(struct sm *sm, uint32_t warp, uint64_t from, uint64_t to);

#endif

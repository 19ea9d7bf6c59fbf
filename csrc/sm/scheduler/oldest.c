/* Oldest first: a warp of the oldest block that has one able to issue, so that this block ends
 * soonest. */
#include "sm/scheduler.h"

static uint32_t first(const struct sm *sm, const struct subcore *s, uint64_t able) {
    (void)s;
    return oldest_warp(sm, able);
}

static void pick(struct sm *sm, struct subcore *s) { sched_choose(sm, s, first); }

const struct scheduler_policy scheduler_oldest = {.first = first, .pick = pick};

/* Greedy, then oldest, as GPGPU-Sim's: one warp runs until it stalls, then the oldest one. */
#include "sm/scheduler.h"

static uint32_t first(const struct sm *sm, const struct subcore *s, uint64_t able) {
    if (s->last < MAX_WARPS && (able >> s->last & 1)) return s->last;
    return oldest_warp(sm, able);
}

static void pick(struct sm *sm, struct subcore *s) { sched_choose(sm, s, first); }

const struct scheduler_policy scheduler_gto = {.first = first, .pick = pick};

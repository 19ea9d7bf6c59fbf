/* Greedy, then youngest, as found on cards from Ampere on: one warp runs until it stalls, then the
 * one that came last. */
#include "sm/scheduler.h"

static uint32_t first(const struct sm *sm, const struct subcore *s, uint64_t able) {
    if (s->last < MAX_WARPS && (able >> s->last & 1)) return s->last;
    const uint64_t *block = sm->order + sm->order_count - 1;
    while (!(*block & able)) block--;
    return bits_highest64(*block & able);
}

static void pick(struct sm *sm, struct subcore *s) { sched_keep(sm, s, first); }

const struct scheduler_policy scheduler_gty = {.first = first, .pick = pick};

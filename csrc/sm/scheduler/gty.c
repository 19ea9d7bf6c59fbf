/* Greedy, then youngest, as found on cards from Ampere on: one warp runs until it stalls, then the
 * one that came last. Where stores fill the queue in front of memory warps take turns (turns.csv).
 */
#include "sm/scheduler.h"

static uint32_t first(const struct sm *sm, const struct subcore *s, uint64_t able) {
    const uint64_t behind = s->turned & sm->users[s->queued];
    if (able & ~behind) able &= ~behind;
    if (s->last < MAX_WARPS && ((able & ~behind) >> s->last & 1)) return s->last;
    const uint64_t *block = sm->order + sm->order_count - 1;
    while (!(*block & able)) block--;
    return bits_highest64(*block & able);
}

static void pick(struct sm *sm, struct subcore *s) {
    if (s->turned) sched_choose(sm, s, first);
    else sched_keep(sm, s, first);
}

const struct scheduler_policy scheduler_gty = {.first = first, .pick = pick};

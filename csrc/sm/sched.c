/* The warp schedulers: which warps can issue, and when; which of them does is up to the policy. */
#include "base/hints.h"
#include "sm/scheduler.h"

bool sched_can_issue(const struct sm *sm, const struct subcore *s, uint32_t warp, uint64_t t) {
    return sm->ready_at[warp] <= t && sched_unit_free(sm, s, sm->next_unit[warp]) <= t;
}

/* When the first of the ready warps can have its unit. */
static uint64_t first_unit(const struct sm *sm, const struct subcore *s, uint64_t ready) {
    uint64_t first = NEVER;
    if (!(ready & (ready - 1))) return sched_unit_free(sm, s, sched_unit_of(sm, ready));
    for (uint32_t unit = 0; unit < USUAL_UNITS; unit++)
        if (ready & sm->users[unit]) first = min64(first, sm->units.free[s->unit[unit]]);
    for (uint32_t unit = USUAL_UNITS; unit < sm->units.kinds; unit++)
        if (ready & sm->users[unit]) first = min64(first, sm->units.free[s->unit[unit]]);
    if (ready & sm->users[UNIT_EITHER]) first = min64(first, sched_unit_free(sm, s, UNIT_EITHER));
    return first;
}

NOINLINE uint64_t sched_after_slot(const struct sm *sm, const struct subcore *s, uint64_t *t) {
    uint64_t ready = s->ready, waiting = s->waiting, wake = s->wake, able = 0;
    while (!able && (ready | waiting)) {
        *t = ready ? min64(wake, first_unit(sm, s, ready)) : wake;
        const uint64_t woken = wake <= *t ? sched_ready_by(sm, waiting, *t, &wake) : 0;
        ready |= woken;
        waiting &= ~woken;
        able = ready ? sched_with_unit(sm, s, ready, *t) : 0;
    }
    return able;
}

uint64_t sched_able(struct sm *sm, struct subcore *s) { return sched_able_now(sm, s); }

/* Warps are taken away one after the other: none that is left would come sooner for that. */
uint64_t sched_before(const struct sm *sm, const struct subcore *s, uint64_t warps,
                      uint64_t others) {
    if (!others) return warps;
    uint64_t before = 0;
    for (uint64_t left = warps | others;;) {
        const uint64_t first = 1ull << sm->policy->first(sm, s, left);
        if (!(warps & first)) return before;
        before |= first;
        left &= ~first;
    }
}

const struct scheduler_policy *scheduler_policy(uint32_t number) {
    static const struct scheduler_policy *const policies[] = {
#define POLICY_scheduler(name, doc) &scheduler_##name,
#include "tables/policies.def"
    };
    return policies[number];
}

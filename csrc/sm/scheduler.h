/* Warp schedulers: a policy decides which of the warps that can issue in a slot takes it.
 *
 * A policy is an order of the warps that changes only when one of them issues or a block starts or
 * ends: its choice is kept until then, and stays right when warps that it did not choose can issue
 * no longer. */
#ifndef SMMUX_SCHEDULER_H
#define SMMUX_SCHEDULER_H

#include <assert.h>

#include "base/bits.h"
#include "base/hints.h"
#include "sm/sm.h"

/* The first warp, by the policy, of those in `able`, of which there is at least one. */
typedef uint32_t scheduler_first(const struct sm *sm, const struct subcore *s, uint64_t able);

struct scheduler_policy {
    scheduler_first *first;
    /* Renews the scheduler's choice: sched_choose with `first` built in. */
    void (*pick)(struct sm *sm, struct subcore *s);
    /* Warp s->last has issued: may change sm->policy_memory of the scheduler, on which the order of
     * the warps may depend. NULL: the policy remembers nothing. */
    void (*issued)(struct sm *sm, const struct subcore *s);
    /* The warp that issued last is first, unless those at a full queue take turns (s->turned). */
    bool keeps;
    bool jumps; /* the order depends on when warps have jumped */
};

#define POLICY_scheduler(name, doc) extern const struct scheduler_policy scheduler_##name;
#include "tables/policies.def"

/* The warps that can issue in the scheduler's slot. */
uint64_t sched_able(struct sm *sm, struct subcore *s);
/* Those of some warps that could take the slot whose turn comes before that of any others that
 * could. */
uint64_t sched_before(const struct sm *sm, const struct subcore *s, uint64_t warps,
                      uint64_t others);
/* Are the warp's operands and its unit ready at cycle t? */
bool sched_can_issue(const struct sm *sm, const struct subcore *s, uint32_t warp, uint64_t t);

/* The policy of that number. */
const struct scheduler_policy *scheduler_policy(uint32_t number);

/* Note that a warp has jumped. */
static inline void sched_jumped(struct sm *sm, uint32_t warp) {
    if (!sm->policy->jumps) return;
    struct subcore *s = &sm->subcores[sm->subcore_of[warp]];
    s->jumped |= 1ull << warp;
    sm->jumped_at[warp] = s->jumps++;
}

/* ---- what policies are made of ----------------------------------------------------------- */

/* The warp in the lowest slot of the oldest block that has one among these. */
static inline uint32_t oldest_warp(const struct sm *sm, uint64_t able) {
    const uint64_t *block = sm->order;
    while (!(*block & able)) block++;
    return bits_lowest64(*block & able);
}

/* ---- which warps can issue --------------------------------------------------------------- */

static inline uint64_t min64(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* When the sub-core has a unit free for an instruction; one that takes either of two takes the
 * second where the first is busy. */
static inline uint64_t sched_unit_free(const struct sm *sm, const struct subcore *s,
                                       uint32_t unit) {
    const uint64_t *free = sm->units.free;
    const uint8_t *either = sm->m->program->either;
    if (unit != UNIT_EITHER) return free[s->unit[unit]];
    return min64(free[s->unit[either[0]]], free[s->unit[either[1]]]);
}

/* The sub-core takes a unit of that kind until that cycle. */
static ALWAYS_INLINE void subcore_take(struct sm *sm, const struct subcore *s, uint32_t unit,
                                       uint64_t until) {
    if (sm->units.several && sm->units.several >> unit & 1) subcore_take_one(sm, s, unit, until);
    else sm->units.free[s->unit[unit]] = until;
}

/* The waiting warps that are ready at cycle t; *wake is when the first of the others is. */
static inline uint64_t sched_ready_by(const struct sm *sm, uint64_t waiting, uint64_t t,
                                      uint64_t *wake) {
    uint64_t found = 0, next = NEVER;
    for (; waiting; waiting &= waiting - 1) {
        const uint32_t warp = bits_lowest64(waiting);
        const uint64_t at = sm->ready_at[warp];
        if (at <= t) found |= 1ull << warp;
        else next = min64(next, at);
    }
    *wake = next;
    return found;
}

/* Most programs take no more kinds of units: these are looked at without a loop, which costs
 * nothing where nobody takes them. */
#define USUAL_UNITS 3u

/* The unit that the only one of these warps wants. */
static inline uint32_t sched_unit_of(const struct sm *sm, uint64_t warp) {
    return sm->next_unit[bits_lowest64(warp)];
}

/* The ready warps whose unit is free at cycle t; there is one at least. */
static inline uint64_t sched_with_unit(const struct sm *sm, const struct subcore *s, uint64_t ready,
                                       uint64_t t) {
    uint64_t able = 0;
    if (!(ready & (ready - 1)))
        return sched_unit_free(sm, s, sched_unit_of(sm, ready)) <= t ? ready : 0;
    for (uint32_t unit = 0; unit < USUAL_UNITS; unit++)
        able |= sm->units.free[s->unit[unit]] <= t ? sm->users[unit] : 0;
    for (uint32_t unit = USUAL_UNITS; unit < sm->units.kinds; unit++)
        able |= sm->units.free[s->unit[unit]] <= t ? sm->users[unit] : 0;
    if (sm->users[UNIT_EITHER] && sched_unit_free(sm, s, UNIT_EITHER) <= t)
        able |= sm->users[UNIT_EITHER];
    return ready & able;
}

/* The warps that can issue in the scheduler's slot. */
static ALWAYS_INLINE uint64_t sched_able_now(struct sm *sm, struct subcore *s) {
    if (s->wake <= s->slot) { /* for good: slots never go back */
        const uint64_t woken = sched_ready_by(sm, s->waiting, s->slot, &s->wake);
        s->ready |= woken;
        s->waiting &= ~woken;
    }
    return s->ready ? sched_with_unit(sm, s, s->ready, s->slot) : 0;
}

/* The warps that can issue first after a slot in which none can, and at which cycle (*t). */
uint64_t sched_after_slot(const struct sm *sm, const struct subcore *s, uint64_t *t);

/* The warps that are ready first of those that wait, of which there is one at least, and whose unit
 * is free then; when that is. */
static ALWAYS_INLINE uint64_t sched_woken_first(const struct sm *sm, struct subcore *s,
                                                uint64_t *t) {
    uint64_t found = 0, next = NEVER;
    for (uint64_t left = s->waiting; left; left &= left - 1) {
        const uint64_t at = sm->ready_at[bits_lowest64(left)], bit = left & (0 - left);
        if (at > next) continue;
        found = at < next ? bit : found | bit;
        next = at;
    }
    s->wake = *t = next;
    return sched_with_unit(sm, s, found, next);
}

/* Choose what the scheduler would issue next, and when. */
static ALWAYS_INLINE void sched_choose(struct sm *sm, struct subcore *s, scheduler_first *first) {
    struct choice *c = &s->choice;
    uint64_t able = sched_able_now(sm, s);
    c->t = s->slot;
    if (!able && !s->ready && s->waiting) able = sched_woken_first(sm, s, &c->t);
    if (!able) able = sched_after_slot(sm, s, &c->t);
    if (!able) {
        *c = (struct choice){.t = NEVER};
        return;
    }
    c->warp = first(sm, s, able);
    c->shared = s->shared[sm->next_unit[c->warp]];
    assert(able >> c->warp & 1);
}

/* The same for policies that keep to the warp that issued last, which most often can again. */
static ALWAYS_INLINE void sched_keep(struct sm *sm, struct subcore *s, scheduler_first *first) {
    const uint32_t last = s->last, unit = last < MAX_WARPS ? sm->next_unit[last] : 0;
    if (last < MAX_WARPS && sm->ready_at[last] <= s->slot &&
        sched_unit_free(sm, s, unit) <= s->slot)
        s->choice = (struct choice){s->slot, last, s->shared[unit]};
    else sched_choose(sm, s, first);
}

#endif

/* The warp schedulers: which warp issues next, and when. */
#include "base/hints.h"
#include "sm/sm.h"

static uint64_t min64(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint32_t lowest64(uint64_t x) { return (uint32_t)__builtin_ctzll(x); }

/* When a unit of that kind is free; a multiplication takes the SFU if the SP is busy. */
static uint64_t unit_free_at(const struct sm *sm, const struct scheduler *s, uint32_t unit) {
    if (unit != UNIT_EITHER) return sm->unit_free[s->unit[unit]];
    return min64(sm->unit_free[s->unit[UNIT_SP]], sm->unit_free[s->unit[UNIT_SFU]]);
}

bool sched_can_issue(const struct sm *sm, const struct scheduler *s, uint32_t warp, uint64_t t) {
    return sm->ready_at[warp] <= t && unit_free_at(sm, s, sm->next_unit[warp]) <= t;
}

/* The waiting warps that are ready at cycle t; *wake is when the first of the others is. */
static uint64_t ready_by(const struct sm *sm, uint64_t waiting, uint64_t t, uint64_t *wake) {
    uint64_t found = 0, next = NEVER;
    for (; waiting; waiting &= waiting - 1) {
        const uint32_t warp = lowest64(waiting);
        const uint64_t at = sm->ready_at[warp];
        if (at <= t) found |= 1ull << warp;
        else next = min64(next, at);
    }
    *wake = next;
    return found;
}

/* Those of the ready warps whose unit is free at cycle t. */
static uint64_t with_unit(const struct sm *sm, const struct scheduler *s, uint64_t ready,
                          uint64_t t) {
    const uint64_t sp = unit_free_at(sm, s, UNIT_SP) <= t ? ~0ull : 0;
    const uint64_t sfu = unit_free_at(sm, s, UNIT_SFU) <= t ? ~0ull : 0;
    const uint64_t lsu = unit_free_at(sm, s, UNIT_LSU) <= t ? ~0ull : 0;
    const uint64_t *users = sm->users;
    return ready & ((sp & users[UNIT_SP]) | (sfu & users[UNIT_SFU]) | (lsu & users[UNIT_LSU]) |
                    ((sp | sfu) & users[UNIT_EITHER]));
}

/* When the first of the ready warps can have its unit. */
static uint64_t first_unit(const struct sm *sm, const struct scheduler *s, uint64_t ready) {
    static const uint8_t kinds[] = {UNIT_SP, UNIT_SFU, UNIT_LSU, UNIT_EITHER};
    uint64_t first = NEVER;
    for (uint32_t i = 0; i < sizeof kinds; i++)
        if (ready & sm->users[kinds[i]]) first = min64(first, unit_free_at(sm, s, kinds[i]));
    return first;
}

/* Nobody can issue in the slot: the warps that can issue earliest after it, and when (*t). */
NOINLINE static uint64_t after_slot(const struct sm *sm, const struct scheduler *s, uint64_t *t) {
    uint64_t ready = s->ready, waiting = s->waiting, wake = s->wake, able = 0;
    while (!able && (ready | waiting)) {
        *t = min64(wake, first_unit(sm, s, ready));
        const uint64_t woken = wake <= *t ? ready_by(sm, waiting, *t, &wake) : 0;
        ready |= woken;
        waiting &= ~woken;
        able = with_unit(sm, s, ready, *t);
    }
    return able;
}

/* Loose round-robin: the first warp after the one that issued last. */
static uint32_t next_in_turn(const struct scheduler *s, uint64_t able) {
    const uint64_t after = s->last < MAX_WARPS - 1 ? able & ~0ull << (s->last + 1) : 0;
    return lowest64(after ? after : able);
}

/* Greedy-then-oldest: the warp that issued last, else the first one of the oldest block. */
static uint32_t greedy(const struct sm *sm, const struct scheduler *s, uint64_t able) {
    const uint64_t *block = sm->order;
    if (s->last < MAX_WARPS && (able >> s->last & 1)) return s->last;
    while (!(*block & able)) block++;
    return lowest64(*block & able);
}

static ALWAYS_INLINE uint64_t able_in_slot(struct sm *sm, struct scheduler *s) {
    if (s->wake <= s->slot) { /* for good: slots never go back */
        const uint64_t woken = ready_by(sm, s->waiting, s->slot, &s->wake);
        s->ready |= woken;
        s->waiting &= ~woken;
    }
    return with_unit(sm, s, s->ready, s->slot);
}

uint64_t sched_able(struct sm *sm, struct scheduler *s) { return able_in_slot(sm, s); }

/* Those of the warps that are older than another one. */
static uint64_t elders(const struct sm *sm, uint64_t warps, uint32_t than) {
    const uint64_t *block = sm->order, bit = 1ull << than;
    uint64_t found = 0;
    for (; !(*block & bit); block++) found |= *block;
    return warps & (found | (*block & (bit - 1)));
}

uint64_t sched_before(const struct sm *sm, const struct scheduler *s, uint64_t warps,
                      uint64_t others) {
    if (!others) return warps;
    const bool known = s->last < MAX_WARPS;
    if (sm->m->cfg->sched_policy) {
        const uint64_t last = known ? 1ull << s->last : 0;
        return others & last ? 0 : (warps & last) | elders(sm, warps, greedy(sm, s, others));
    }
    const uint64_t first = 1ull << next_in_turn(s, others), below = first - 1;
    const uint64_t passed = known ? (2ull << s->last) - 1 : 0; /* their turn is after all others' */
    return warps & (first & passed ? ~passed | below : ~passed & below);
}

struct choice sched_pick(struct sm *sm, struct scheduler *s) {
    uint64_t t = s->slot, able = able_in_slot(sm, s);
    if (!able) able = after_slot(sm, s, &t);
    if (!able) return (struct choice){.t = NEVER};
    const uint32_t warp = sm->m->cfg->sched_policy ? greedy(sm, s, able) : next_in_turn(s, able);
    return (struct choice){t, warp, s->units[sm->next_unit[warp]]};
}

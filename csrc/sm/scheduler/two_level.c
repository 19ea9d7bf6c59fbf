/* Two-level round-robin (Narasiman et al., MICRO 2011): warps in groups of neighbouring slots. One
 * group is ahead of the others, which follow in turn, until all its warps sleep: so groups come to
 * their loads one after the other, and not all at once. */
#include "sm/scheduler.h"

/* What a scheduler remembers: the first slot of the group ahead, and the warps that have had their
 * turn in their group's round. */
enum { AHEAD, PASSED };

/* Warp slots from one group to the next: those of other schedulers lie between. */
static uint32_t stride(const struct sm *sm) {
    return sm->m->cfg->sched_group * sm->m->cfg->schedulers;
}

static uint32_t group_start(const struct sm *sm, uint32_t warp) { return warp - warp % stride(sm); }

static uint64_t group_slots(const struct sm *sm, uint32_t start) {
    const uint32_t slots = stride(sm);
    return (slots < MAX_WARPS ? (1ull << slots) - 1 : ~0ull) << start;
}

/* The first group from that one on, round and round, that has one of the warps. */
static uint32_t next_group(const struct sm *sm, uint32_t start, uint64_t warps) {
    const uint64_t behind = warps & ~0ull << start;
    return group_start(sm, bits_lowest64(behind ? behind : warps));
}

static uint32_t first(const struct sm *sm, const struct subcore *s, uint64_t able) {
    const uint64_t *memory = sm->policy_memory[s - sm->subcores];
    const uint32_t start = next_group(sm, (uint32_t)memory[AHEAD], able);
    const uint64_t mine = able & group_slots(sm, start), left = mine & ~memory[PASSED];
    return bits_lowest64(left ? left : mine);
}

static void pick(struct sm *sm, struct subcore *s) { sched_choose(sm, s, first); }

static void issued(struct sm *sm, const struct subcore *s) {
    uint64_t *memory = sm->policy_memory[s - sm->subcores];
    const uint64_t awake = s->ready | s->waiting, slots = group_slots(sm, group_start(sm, s->last));
    memory[PASSED] = (memory[PASSED] & ~slots) | (slots & ((2ull << s->last) - 1));
    if (awake) memory[AHEAD] = next_group(sm, (uint32_t)memory[AHEAD], awake);
}

const struct scheduler_policy scheduler_two_level = {
    .first = first, .pick = pick, .issued = issued};

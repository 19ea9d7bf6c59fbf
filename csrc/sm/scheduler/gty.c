/* Greedy, then youngest, as found on cards from Ampere on: one warp runs until it stalls, then the
 * one that came last of those that have not jumped yet, then the one whose last jump is the longest
 * ago: a jump fetches instructions anew, behind those of warps that jumped before (loop_turns.csv).
 * Where stores fill the queue in front of memory, those of the oldest block go first
 * (store_bursts.csv), and its warps take turns (turns.csv). */
#include "sm/scheduler.h"

/* Of some warps the one in the highest slot of the youngest block that has one among them. */
static uint32_t youngest(const struct sm *sm, uint64_t able) {
    const uint64_t *block = sm->order + sm->order_count - 1;
    while (!(*block & able)) block--;
    return bits_highest64(*block & able);
}

/* Of some warps that have jumped the one whose last jump is the longest ago. */
static uint32_t longest_ago(const struct sm *sm, uint64_t able) {
    uint32_t first = bits_lowest64(able);
    while (able &= able - 1) {
        const uint32_t warp = bits_lowest64(able);
        if (sm->jumped_at[warp] < sm->jumped_at[first]) first = warp;
    }
    return first;
}

/* Those of the warps that may go where the queue is full: of the ones that want it those of the
 * oldest block, if it is their turn. */
static uint64_t in_turn(const struct sm *sm, const struct subcore *s, uint64_t able) {
    const uint64_t users = able & sm->users[s->queued];
    if (!users) return able;
    const uint64_t *block = sm->order;
    while (!(*block & users)) block++;
    const uint64_t own = *block & users, last = s->last < MAX_WARPS ? 1ull << s->last : 0;
    uint64_t next = own & ~s->turned;
    if (!next) next = own & ~last;
    return (able & ~users) | (next ? next : own);
}

static uint32_t first(const struct sm *sm, const struct subcore *s, uint64_t able) {
    if (s->turned) able = in_turn(sm, s, able);
    if (s->last < MAX_WARPS && (able >> s->last & 1)) return s->last;
    const uint64_t fresh = able & ~s->jumped;
    return fresh ? youngest(sm, fresh) : longest_ago(sm, able);
}

static void pick(struct sm *sm, struct subcore *s) {
    if (s->turned) sched_choose(sm, s, first);
    else sched_keep(sm, s, first);
}

const struct scheduler_policy scheduler_gty = {
    .first = first, .pick = pick, .keeps = true, .jumps = true};

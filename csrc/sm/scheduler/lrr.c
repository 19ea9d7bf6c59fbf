/* Loose round-robin, as GPGPU-Sim's: every warp in turn, those that cannot issue are passed over.
 */
#include "sm/scheduler.h"

static uint32_t first(const struct sm *sm, const struct subcore *s, uint64_t able) {
    (void)sm;
    const uint64_t after = s->last < MAX_WARPS - 1 ? able & ~0ull << (s->last + 1) : 0;
    return bits_lowest64(after ? after : able);
}

static void pick(struct sm *sm, struct subcore *s) { sched_choose(sm, s, first); }

const struct scheduler_policy scheduler_lrr = {.first = first, .pick = pick};

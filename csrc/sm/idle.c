/* Every scheduler clock is accounted for: what the idle ones waited for. */
#include "sm/sm.h"

static uint64_t *idle_counter(struct counters *c, enum wait kind) {
    switch (kind) {
    case WAIT_ALU: return &c->idle_alu;
    case WAIT_SHARED: return &c->idle_shared;
    case WAIT_GLOBAL: return &c->idle_global;
    case WAIT_UNIT: return &c->idle_unit;
    case WAIT_BARRIER: return &c->idle_barrier;
    case WAIT_ALLOCATION: return &c->idle_allocation;
    case WAIT_CREDITS: return &c->idle_credits;
    case WAIT_FETCH: return &c->idle_fetch;
    case WAIT_START: return &c->idle_no_block;
    default: return &c->idle_other;
    }
}

/* A block that starts ends an idle time that its elder warps' waits explain, if there are any. */
static enum wait reason(const struct sm *sm, uint32_t warp) {
    const enum wait kind = (enum wait)sm->wait[warp];
    if (kind != WAIT_START) return kind;
    for (uint32_t w = 0; w < sm->warp_limit; w++) {
        const uint8_t state = sm->warps[w].state;
        if (w != warp && state != WARP_FREE && state != WARP_STARTING && state != WARP_EXITED &&
            sm->wait[w] != WAIT_START)
            return (enum wait)sm->wait[w];
    }
    return WAIT_START;
}

/* [from, to) was idle until this warp issued: its wait first, then the unit's. */
void idle_account(struct sm *sm, uint32_t warp, uint64_t from, uint64_t to) {
    uint64_t ready = sm->ready_at[warp];
    if (ready > from) *idle_counter(&sm->count, reason(sm, warp)) += ready - from;
    else ready = from;
    sm->count.idle_unit += to - ready;
    if (sm->pc_count) sm->pc_count[sm->warps[warp].pc].idle += to - from;
}

#include "sm/idle.h"

#include <assert.h>
#include <stddef.h>

/* Where the counter of a reason lies. */
static const uint16_t counter_of[WAIT_COUNT] = {
#define WAIT(id, counter, words, doc) offsetof(struct counters, counter),
#include "tables/waits.def"
};

static uint64_t *idle_counter(struct counters *c, enum wait kind) {
    assert(kind < WAIT_COUNT);
    return (uint64_t *)(void *)((uint8_t *)c + counter_of[kind]);
}

/* What a warp that now issues has waited for. If its block has just started, older warps of the SM
 * explain the idle time before, if there are any. */
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

/* Up to ready_at the warp itself had to wait, and then for its unit. */
void idle_account(struct sm *sm, uint32_t warp, uint64_t from, uint64_t to) {
    uint64_t ready = sm->ready_at[warp];
    if (ready > from) *idle_counter(&sm->count, reason(sm, warp)) += ready - from;
    else ready = from;
    assert(from < to && ready <= to);
    sm->count.idle_unit += to - ready;
    if (sm->pc_count) sm->pc_count[sm->warps[warp].pc].idle += to - from;
}

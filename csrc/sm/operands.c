#include "sm/operands.h"

#include <assert.h>
#include <string.h>

#include "sm/ask.h"
#include "sm/scoreboard.h"

uint64_t operands_await(struct sm *sm, uint32_t warp, uint32_t line, uint64_t at, uint64_t floor) {
    struct operands *o = sm->operands;
    const uint32_t subcore = sm->subcore_of[warp];
    sm->floor[warp] = floor;
    if (at < sm->held[warp]) at = sm->held[warp];
    if (at < sm->now) at = sm->now;
    if (!o->at[subcore][line]) {
        /* As if at the cycle at which its instruction could issue. */
        ask_put(sm, (struct ask){.cycle = at, .addr = line, .subcore = (uint8_t)subcore});
        o->at[subcore][line] = READY_PENDING;
    }
    if (o->at[subcore][line] <= sm->now) o->there[subcore] |= 1ull << line;
    return o->at[subcore][line];
}

void operands_answer(struct sm *sm, uint32_t subcore, uint32_t line, uint64_t at) {
    sm->operands->at[subcore][line] = at;
    if (at < sm->next) sm->next = at;
    for (uint32_t w = 0; w < sm->warp_limit; w++)
        if (warp_is_fetching(sm, w) && sm->subcore_of[w] == subcore)
            warp_look_again(sm, w, sm->now);
}

void operands_forget(struct sm *sm) {
    struct operands *o = sm->operands;
    if (!o) return;
    assert(!sm->ask_count);
    memset(o->there, 0, sizeof o->there);
    memset(o->at, 0, sizeof o->at);
}

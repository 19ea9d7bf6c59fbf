#include "sm/operands.h"

#include <assert.h>
#include <string.h>

#include "sm/scoreboard.h"

/* Ask for a line, as if at the cycle at which its instruction could issue. */
static void ask(struct sm *sm, uint32_t subcore, uint32_t line, uint64_t cycle) {
    struct operands *o = sm->operands;
    const uint64_t answer = cycle + sm->m->cfg->operand_miss;
    uint32_t i = o->ask_count++;
    assert(i < MAX_SUBCORES * OPERAND_LINES);
    for (; i && o->asks[i - 1].cycle > cycle; i--) o->asks[i] = o->asks[i - 1];
    o->asks[i] = (struct operand_ask){cycle, (uint8_t)subcore, (uint8_t)line};
    o->at[subcore][line] = READY_PENDING;
    if (answer < sm->reach) sm->reach = answer;
}

uint64_t operands_await(struct sm *sm, uint32_t warp, uint32_t line, uint64_t at, uint64_t floor) {
    struct operands *o = sm->operands;
    const uint32_t subcore = sm->subcore_of[warp];
    sm->floor[warp] = floor;
    if (at < sm->held[warp]) at = sm->held[warp];
    if (at < sm->now) at = sm->now;
    if (!o->at[subcore][line]) ask(sm, subcore, line, at);
    if (o->at[subcore][line] <= sm->now) o->there[subcore] |= 1ull << line;
    return o->at[subcore][line];
}

void operands_answer(struct sm *sm, uint64_t at) {
    struct operands *o = sm->operands;
    const struct operand_ask first = o->asks[0];
    memmove(o->asks, o->asks + 1, --o->ask_count * sizeof first);
    o->at[first.subcore][first.line] = at;
    if (at < sm->next) sm->next = at;
    for (uint32_t w = 0; w < sm->warp_limit; w++)
        if (warp_is_fetching(sm, w) && sm->subcore_of[w] == first.subcore)
            warp_look_again(sm, w, sm->now);
}

void operands_forget(struct sm *sm) {
    struct operands *o = sm->operands;
    if (!o) return;
    assert(!o->ask_count);
    memset(o->there, 0, sizeof o->there);
    memset(o->at, 0, sizeof o->at);
}

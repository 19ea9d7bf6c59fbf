#include "sm/obey.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "sm/scoreboard.h"

static struct counter *counter(const struct sm *sm, uint32_t warp, uint32_t number) {
    assert(number < DEPENDENCE_COUNTERS);
    return &sm->counters[warp * DEPENDENCE_COUNTERS + number];
}

void obey_start(struct sm *sm, uint32_t warp) {
    const uint32_t counted = sm->m->program->counted;
    for (uint32_t i = 0; i < DEPENDENCE_COUNTERS; i++) {
        struct counter *c = counter(sm, warp, i);
        memset(c->known, 0, counted * sizeof *c->known);
        c->loading = 0;
    }
}

/* ---- counters ---------------------------------------------------------------------------- */

/* The counter drops at that cycle. */
static void drops(struct counter *c, uint32_t counted, uint64_t at, enum wait kind) {
    uint32_t i = counted - 1;
    if (at > c->known[0]) c->kind = (uint8_t)kind;
    if (at <= c->known[i]) return;
    for (; i && c->known[i - 1] < at; i--) c->known[i] = c->known[i - 1];
    c->known[i] = at;
}

/* When the registers that a load writes have their values; READY_PENDING: nobody knows. */
static uint64_t loaded(const struct sm *sm, const struct warp *w, uint32_t pc) {
    const struct uop *u = &sm->m->program->code[pc];
    uint64_t at = 0;
    for (uint32_t i = 0; i < u->dst_count; i++)
        if (w->ready[u->data[i]] > at) at = w->ready[u->data[i]];
    return at;
}

static enum wait kind_of(const struct sm *sm, const struct warp *w, uint32_t pc) {
    return (enum wait)w->producer[sm->m->program->code[pc].data[0]];
}

/* Find the loads whose end is known by now. */
static void settle(const struct sm *sm, const struct warp *w, struct counter *c) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < c->loading; i++) {
        const uint64_t at = loaded(sm, w, c->loads[i]);
        if (at == READY_PENDING) c->loads[left++] = c->loads[i];
        else drops(c, sm->m->program->counted, at, kind_of(sm, w, c->loads[i]));
    }
    c->loading = (uint8_t)left;
}

/* When the counter is as low as that, if the warp does not issue; for what the warp waits then. */
static uint64_t falls(const struct sm *sm, const struct warp *w, struct counter *c, uint32_t to,
                      enum wait *kind) {
    if (c->loading > to) {
        const bool stuck = !to && loaded(sm, w, c->loads[0]) == READY_PENDING;
        if (!stuck) settle(sm, w, c);
        if (c->loading > to) {
            *kind = kind_of(sm, w, c->loads[0]);
            return READY_PENDING;
        }
    }
    *kind = (enum wait)c->kind;
    return c->known[to - c->loading];
}

/* ---- waiting ----------------------------------------------------------------------------- */

/* What a warp waits for, and why. */
struct until {
    uint64_t at;
    enum wait kind;
};

static void await(const struct sm *sm, uint32_t warp, uint32_t number, uint32_t to,
                  struct until *until) {
    enum wait kind;
    const uint64_t at = falls(sm, &sm->warps[warp], counter(sm, warp, number), to, &kind);
    if (at > until->at) *until = (struct until){at, kind};
}

/* A generic access of which some lanes are done goes on when these have what they load: registers
 * have one time for all lanes. */
static void await_part(const struct sm *sm, const struct warp *w, struct until *until) {
    const uint64_t at = loaded(sm, w, w->pc);
    if (at > until->at) *until = (struct until){at, kind_of(sm, w, w->pc)};
}

/* A counter that counts as much as it can holds the next load up. */
static void await_room(const struct sm *sm, uint32_t warp, uint32_t number, struct until *until) {
    struct counter *c = counter(sm, warp, number);
    if (c->loading == MOST_COUNTED) settle(sm, &sm->warps[warp], c);
    if (c->loading == MOST_COUNTED) *until = (struct until){READY_PENDING, WAIT_GLOBAL};
}

void obey_refresh(struct sm *sm, uint32_t warp, uint64_t floor, enum wait kind) {
    const struct warp *w = &sm->warps[warp];
    const struct program *p = sm->m->program;
    const struct control_bits *bits = &p->control[w->pc];
    const uint32_t piece = p->deps[w->pc].piece & ~PIECE_SPECIAL;
    struct until until = {floor, kind};
    if (piece != sm->fetched[warp & sm->fetch_mask] && !warp_fetches(sm, warp, piece, floor))
        return;
    for (uint32_t left = bits->wait; left; left &= left - 1)
        await(sm, warp, bits_lowest(left), 0, &until);
    if (bits->counter != NO_COUNTER) await(sm, warp, bits->counter, bits->left, &until);
    if (bits->loads && w->own->served) await_part(sm, w, &until);
    if (bits->loads && bits->write != NO_COUNTER) await_room(sm, warp, bits->write, &until);
    warp_await(sm, warp, &p->code[w->pc], until.at, until.kind);
}

/* ---- issue ------------------------------------------------------------------------------- */

/* Sources are read one a clock from each bank, in the clocks behind the issue. An instruction whose
 * reads would take longer than there are clocks waits where the next one wants to be. */
static uint32_t read_registers(const struct sm *sm, struct subcore *s,
                               const struct control_bits *bits, uint32_t warp, uint64_t t) {
    const uint32_t pc = sm->warps[warp].pc, clocks = sm->m->cfg->read_ports;
    const bool follows = s->last == warp && s->last_pc + 1 == pc;
    uint64_t start = t, first[REGISTER_BANKS];
    s->last_pc = pc;
    if (!(bits->reads[0] | bits->reads[1])) return 0;
    for (uint32_t bank = 0; bank < REGISTER_BANKS; bank++) {
        const uint32_t reads = bits->reads[bank] - (follows ? bits->kept[bank] : 0u);
        first[bank] = (s->reading[bank] > t ? s->reading[bank] : t) + reads;
        if (first[bank] > start + clocks) start = first[bank] - clocks;
    }
    for (uint32_t bank = 0; bank < REGISTER_BANKS; bank++) s->reading[bank] = first[bank];
    return (uint32_t)(start - t);
}

/* The result of an instruction is counted. */
static void raise_counter(const struct sm *sm, uint32_t warp, uint32_t number, uint64_t t) {
    const struct program *p = sm->m->program;
    const uint32_t pc = sm->warps[warp].pc;
    const struct uop *u = &p->code[pc];
    const struct control_bits *bits = &p->control[pc];
    struct counter *c = counter(sm, warp, number);
    const bool memory = u->path == PATH_MEMORY;
    assert(!bits->loads || c->loading < MOST_COUNTED);
    if (bits->loads) c->loads[c->loading++] = (uint16_t)pc;
    else drops(c, p->counted, t + (memory ? bits->read_clocks : u->latency), WAIT_ALU);
}

uint32_t obey_issue(struct sm *sm, struct subcore *s, uint32_t warp, uint64_t t) {
    const struct program *p = sm->m->program;
    const struct control_bits *bits = &p->control[sm->warps[warp].pc];
    sm->held[warp] = t + bits->stall;
    if (bits->read != NO_COUNTER)
        drops(counter(sm, warp, bits->read), p->counted, t + bits->read_clocks, WAIT_UNIT);
    if (bits->write != NO_COUNTER) raise_counter(sm, warp, bits->write, t);
    if (bits->alone) raise_counter(sm, warp, ALONE, t);
    return read_registers(sm, s, bits, warp, t);
}

/* The result is not to come, unless somebody has settled already when a part of it does. */
static void lower(const struct sm *sm, uint32_t warp, uint32_t number) {
    struct counter *c = counter(sm, warp, number);
    if (c->loading && c->loads[c->loading - 1] == sm->warps[warp].pc) c->loading--;
}

void obey_retract(struct sm *sm, uint32_t warp) {
    const struct control_bits *bits = &sm->m->program->control[sm->warps[warp].pc];
    sm->held[warp] = 0;
    if (!bits->loads) return;
    if (bits->write != NO_COUNTER) lower(sm, warp, bits->write);
    if (bits->alone) lower(sm, warp, ALONE);
}

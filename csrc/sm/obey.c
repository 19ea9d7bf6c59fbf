#include "sm/obey.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "base/hints.h"
#include "sm/pipe.h"
#include "sm/sass/match.h"
#include "sm/scoreboard.h"

/* The place of the i-th load in a counter's list: struct dependences has the first ones. */
static ALWAYS_INLINE uint16_t *load_of(const struct sm *sm, uint32_t warp, uint32_t number,
                                       uint32_t i) {
    assert(number < DEPENDENCE_COUNTERS && i < MOST_COUNTED);
    if (i < FIRST_LOADS) return &sm->dependences[warp].first[number][i];
    return &sm->counters[warp * DEPENDENCE_COUNTERS + number].loads[i - FIRST_LOADS];
}

/* Set the length of a counter's list of loads. */
static ALWAYS_INLINE void set_loads(struct dependences *d, uint32_t number, uint32_t loads) {
    const uint32_t bit = 1u << number;
    d->loads[number] = (uint8_t)loads;
    d->loading = (uint8_t)(loads ? d->loading | bit : d->loading & ~bit);
}

/* The cycles at which a counter drops to 1, 2 and so on, up to the highest value that the program
 * waits for. */
static uint64_t *before_last(const struct sm *sm, uint32_t warp, uint32_t number) {
    const uint32_t more = sm->m->program->counted - 1;
    return sm->before_last + (size_t)(warp * DEPENDENCE_COUNTERS + number) * more;
}

void obey_start(struct sm *sm, uint32_t warp) {
    const size_t more = DEPENDENCE_COUNTERS * (sm->m->program->counted - 1);
    memset(&sm->dependences[warp], 0, sizeof *sm->dependences);
    sm->alone &= ~(1ull << warp);
    warp_wants(sm, warp, sm->next_unit[warp]);
    memset(before_last(sm, warp, 0), 0, more * sizeof *sm->before_last);
}

/* ---- counters ---------------------------------------------------------------------------- */

/* Note that the counter drops at a cycle which is not that of its drop to 0. */
NOINLINE static void drops_before(const struct sm *sm, uint32_t warp, uint32_t number,
                                  uint64_t at) {
    const uint32_t more = sm->m->program->counted - 1;
    uint64_t *known = before_last(sm, warp, number);
    uint32_t i = more - 1;
    if (at <= known[i]) return;
    for (; i && known[i - 1] < at; i--) known[i] = known[i - 1];
    known[i] = at;
}

/* Note that the counter drops at a cycle, for which a warp waits for that reason. */
static ALWAYS_INLINE void drops(const struct sm *sm, uint32_t warp, uint32_t number, uint64_t at,
                                enum wait kind) {
    struct dependences *d = &sm->dependences[warp];
    const uint64_t last = d->known[number];
    if (at > last) {
        d->known[number] = at;
        d->kind[number] = (uint8_t)kind;
    }
    if (sm->m->program->counted > 1) drops_before(sm, warp, number, at > last ? last : at);
}

/* The cycle at which all registers of a load have their values; READY_PENDING: not known yet. */
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

/* Take the loads whose end is known by now out of a counter's list. */
NOINLINE static void settle(const struct sm *sm, uint32_t warp, uint32_t number) {
    const struct warp *w = &sm->warps[warp];
    struct dependences *d = &sm->dependences[warp];
    uint32_t left = 0;
    for (uint32_t i = 0; i < d->loads[number]; i++) {
        const uint16_t pc = *load_of(sm, warp, number, i);
        const uint64_t at = loaded(sm, w, pc);
        if (at == READY_PENDING) *load_of(sm, warp, number, left++) = pc;
        else drops(sm, warp, number, at, kind_of(sm, w, pc));
    }
    set_loads(d, number, left);
}

/* The cycle at which the counter has dropped to a value, if the warp issues nothing before, and in
 * *kind for what it waits until then; READY_PENDING: not known yet. */
static uint64_t falls(const struct sm *sm, uint32_t warp, uint32_t number, uint32_t to,
                      enum wait *kind) {
    const struct dependences *d = &sm->dependences[warp];
    const struct warp *w = &sm->warps[warp];
    if (d->loads[number] > to) {
        const uint16_t pc = d->first[number][0];
        const uint64_t at = loaded(sm, w, pc);
        if (d->loads[number] == 1 && at != READY_PENDING) {
            drops(sm, warp, number, at, kind_of(sm, w, pc));
            set_loads(&sm->dependences[warp], number, 0);
        } else if (to || at != READY_PENDING) {
            settle(sm, warp, number);
        }
        if (d->loads[number] > to) {
            *kind = kind_of(sm, w, d->first[number][0]);
            return READY_PENDING;
        }
    }
    *kind = (enum wait)d->kind[number];
    return to == d->loads[number] ? d->known[number]
                                  : before_last(sm, warp, number)[to - d->loads[number] - 1];
}

/* ---- waiting ----------------------------------------------------------------------------- */

static struct until later(struct until a, struct until b) { return b.at > a.at ? b : a; }

/* The later of `until` and the cycle at which the counter drops to 0. */
static ALWAYS_INLINE struct until await(const struct sm *sm, uint32_t warp, uint32_t number,
                                        struct until until) {
    const struct dependences *d = &sm->dependences[warp];
    struct until own = {d->known[number], (enum wait)d->kind[number]};
    if (d->loading >> number & 1) own.at = falls(sm, warp, number, 0, &own.kind);
    return later(until, own);
}

/* The same for a counter that need not drop to 0. */
static struct until await_few(const struct sm *sm, uint32_t warp, uint32_t number, uint32_t to,
                              struct until until) {
    struct until own;
    own.at = falls(sm, warp, number, to, &own.kind);
    return later(until, own);
}

/* A generic access of which some lanes are done goes on when these have their values, since a
 * register has one cycle of readiness for all lanes. */
static struct until await_part(const struct sm *sm, const struct warp *w, struct until until) {
    return later(until, (struct until){loaded(sm, w, w->pc), kind_of(sm, w, w->pc)});
}

/* A counter that is at its maximum holds the next load up. */
static struct until await_room(const struct sm *sm, uint32_t warp, uint32_t number,
                               struct until until) {
    const struct dependences *d = &sm->dependences[warp];
    if (d->loads[number] == MOST_COUNTED) settle(sm, warp, number);
    return d->loads[number] == MOST_COUNTED ? (struct until){READY_PENDING, WAIT_GLOBAL} : until;
}

struct until obey_await(const struct sm *sm, uint32_t warp, const struct control_bits *bits,
                        struct until until) {
    const struct warp *w = &sm->warps[warp];
    for (uint32_t left = bits->wait; left; left &= left - 1)
        until = await(sm, warp, bits_lowest(left), until);
    if (sm->alone >> warp & 1) until = await(sm, warp, ALONE, until);
    if (bits->counter != NO_COUNTER) until = await_few(sm, warp, bits->counter, bits->left, until);
    if (!bits->loads) return until;
    if (w->parted) until = await_part(sm, w, until);
    return bits->write != NO_COUNTER ? await_room(sm, warp, bits->write, until) : until;
}

/* ---- issue ------------------------------------------------------------------------------- */

/* The cycle at which an instruction that issues at cycle t has read its sources. A memory access
 * reads them when it leaves its sub-core's queue. */
static ALWAYS_INLINE uint64_t has_read(const struct sm *sm, uint32_t warp, const struct uop *u,
                                       const struct control_bits *bits, uint64_t t) {
    const bool queued = u->path == PATH_MEMORY && u->op != OP_LD_CONST && sm->m->cfg->lsu_queue;
    return (queued ? pipe_leave(sm, sm->subcore_of[warp], t) : t) + bits->read_clocks;
}

/* Raise the counter for the result of the warp's next instruction: a load goes into the counter's
 * list, and anything else is there at cycle `at`. */
static ALWAYS_INLINE void raise_counter(const struct sm *sm, uint32_t warp, uint32_t number,
                                        uint64_t at) {
    const uint32_t pc = sm->warps[warp].pc;
    if (sm->m->program->control[pc].loads) {
        struct dependences *d = &sm->dependences[warp];
        const uint32_t loads = d->loads[number];
        *load_of(sm, warp, number, loads) = (uint16_t)pc;
        set_loads(d, number, loads + 1);
    } else {
        drops(sm, warp, number, at, WAIT_ALU);
    }
}

/* The cycle at which the result of an instruction that issues at cycle t is there; not for loads.
 */
static ALWAYS_INLINE uint64_t result_at(struct sm *sm, uint32_t warp, const struct uop *u,
                                        const struct control_bits *bits, uint64_t t) {
    if (u->path == PATH_MEMORY) return has_read(sm, warp, u, bits, t);
    const uint64_t at = t + u->latency;
    return u->needs & NEED_VALUES ? at + match_late(sm, warp, u, t) : at;
}

void obey_count(struct sm *sm, uint32_t warp, const struct control_bits *bits, uint64_t t) {
    const struct uop *u = &sm->m->program->code[sm->warps[warp].pc];
    if (bits->read != NO_COUNTER)
        drops(sm, warp, bits->read, has_read(sm, warp, u, bits, t), WAIT_UNIT);
    if (bits->write == NO_COUNTER && !bits->alone) return;
    const uint64_t at = bits->loads ? READY_PENDING : result_at(sm, warp, u, bits, t);
    if (bits->write != NO_COUNTER) raise_counter(sm, warp, bits->write, at);
    if (!bits->alone) return;
    sm->alone |= 1ull << warp;
    raise_counter(sm, warp, ALONE, at);
}

/* Take the load of the warp's next instruction out of the counter's list, if it is still there. */
static void lower(const struct sm *sm, uint32_t warp, uint32_t number) {
    struct dependences *d = &sm->dependences[warp];
    const uint32_t loads = d->loads[number];
    if (loads && *load_of(sm, warp, number, loads - 1) == sm->warps[warp].pc)
        set_loads(d, number, loads - 1);
}

void obey_retract(struct sm *sm, uint32_t warp) {
    const struct control_bits *bits = &sm->m->program->control[sm->warps[warp].pc];
    sm->held[warp] = 0;
    if (!bits->loads) return;
    if (bits->write != NO_COUNTER) lower(sm, warp, bits->write);
    if (bits->alone) lower(sm, warp, ALONE);
}

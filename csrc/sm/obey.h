/* Compiled code on a machine that obeys its control bits. A warp does not wait for operands by a
 * scoreboard, but for the stall count of its last instruction, and for dependence counters: a
 * counter rises when an instruction issues, and drops when its result is there or its sources are
 * read. */
#ifndef SMMUX_OBEY_H
#define SMMUX_OBEY_H

#include "kernel/control_bits.h"
#include "sm/converge.h"
#include "sm/operands.h"
#include "sm/scoreboard.h"

#define FIRST_LOADS 4u /* loads of a counter's list that are kept in struct dependences */

/* The dependence counters of a warp. When a counter drops is known at issue, but not for loads:
 * each counter has a list of its loads, and a load leaves it when somebody looks at the counter and
 * finds that the load's registers have their values. */
struct dependences {
    uint64_t known[DEPENDENCE_COUNTERS]; /* when each drops to 0, loads in its list apart */
    uint8_t kind[DEPENDENCE_COUNTERS];   /* enum wait: for what the warp waits until then */
    uint8_t loading;                     /* a bit per counter that has loads in its list */
    uint8_t loads[DEPENDENCE_COUNTERS];  /* how many loads its list has */
    uint16_t first[DEPENDENCE_COUNTERS][FIRST_LOADS]; /* their instructions, in the order of issue;
                                                         the further ones are in struct counter */
};

_Static_assert(sizeof(struct dependences) == 128, "two cache lines: each instruction looks there");

/* The further loads of a counter's list, behind struct dependences' `first`. */
struct counter {
    uint16_t loads[MOST_COUNTED - FIRST_LOADS];
};

/* Count a load into some registers as under way (obey_load) or as done (obey_loaded). Lanes that
 * have diverged may have several loads into one register under way: the register is ready after the
 * last. */
static inline void obey_load(const struct sm *sm, struct warp *w, const uint16_t *ids, uint32_t n) {
    for (uint32_t i = 0; sm->m->program->control && i < n; i++) w->own->loading[ids[i]]++;
}

static inline void obey_loaded(const struct sm *sm, struct warp *w, const uint16_t *ids,
                               uint32_t n) {
    for (uint32_t i = 0; sm->m->program->control && i < n && ids[i] != OPERAND_NONE; i++)
        w->own->loading[ids[i]]--;
}

/* Are loads into the register under way? */
static inline bool obey_loads(const struct sm *sm, const struct warp *w, uint16_t id) {
    return sm->m->program->control && w->loads_pending && w->own->loading[id];
}

/* Set the counters of a warp that begins to 0. */
void obey_start(struct sm *sm, uint32_t warp);
/* Take obey_issue back: the warp's next instruction has not issued after all. */
void obey_retract(struct sm *sm, uint32_t warp);

/* ---- waiting ----------------------------------------------------------------------------- */

/* The cycle up to which a warp waits, and why. */
struct until {
    uint64_t at;
    enum wait kind;
};

/* The later of `until` and the cycle up to which counters keep the warp's next instruction. */
struct until obey_await(const struct sm *sm, uint32_t warp, const struct control_bits *bits,
                        struct until until);

/* Prefetch the registers of an instruction that issues soon: the registers of a whole chip do not
 * fit into the host's caches, and few are touched again before all other SMs have run. */
static ALWAYS_INLINE void obey_prefetch(const struct warp *w, const struct control_bits *bits) {
    uint32_t i = 0; /* most have no more than three rows, which are prefetched without a test */
    do {
        const uint32_t *row = w->rows + bits->rows[i] * 32u;
        __builtin_prefetch(row, 1);
        __builtin_prefetch(row + 16, 1);
    } while (++i < USUAL_ROWS || (i < NAMED_ROWS && bits->rows[i] != ROW_NONE));
}

/* Find out when the warp can issue its next instruction, as warp_refresh does without control bits.
 */
static ALWAYS_INLINE void obey_refresh(struct sm *sm, uint32_t warp, uint64_t floor,
                                       enum wait kind) {
    const struct warp *w = &sm->warps[warp];
    const struct control_bits *bits = &sm->m->program->control[w->pc];
    struct until until = {floor, kind};
    if (sm->next_unit[warp] != bits->unit) warp_wants(sm, warp, bits->unit);
    if (bits->piece != sm->fetched[warp & sm->fetch_mask] &&
        !warp_fetches(sm, warp, bits->piece, floor))
        return;
    obey_prefetch(w, bits);
    if (bits->awaits || sm->alone >> warp & 1) until = obey_await(sm, warp, bits, until);
    if (bits->line && until.at != READY_PENDING && !operands_there(sm, warp, bits->line - 1u)) {
        const uint64_t at = operands_await(sm, warp, bits->line - 1u, until.at, floor);
        if (at > until.at) until = (struct until){at, WAIT_FETCH};
    }
    if (bits->opens && sm->m->dynamic && w->loads_pending) warp_sleep(sm, warp, WAIT_GLOBAL);
    else if (until.at == READY_PENDING) warp_sleep(sm, warp, until.kind);
    else warp_wait(sm, warp, until.at, until.kind);
}

/* ---- issue ------------------------------------------------------------------------------- */

/* Let an instruction that issues at cycle t read its sources, one per clock from each bank of
 * registers. Reads have `clocks` clocks behind the issue. Returns by how many clocks they take
 * longer: for so long the instruction holds up the one behind it. */
static ALWAYS_INLINE uint32_t obey_read(struct subcore *s, const struct control_bits *bits,
                                        uint32_t warp, uint32_t pc, uint64_t t, uint32_t clocks) {
    uint32_t reads[REGISTER_BANKS] = {bits->reads[0], bits->reads[1]};
    const uint32_t before = s->last_pc;
    s->last_pc = pc;
    if (!(reads[0] | reads[1])) return 0;
    if ((bits->kept[0] | bits->kept[1]) && s->last == warp && before + 1 == pc)
        for (uint32_t bank = 0; bank < REGISTER_BANKS; bank++) reads[bank] -= bits->kept[bank];
    uint64_t last = t;
    for (uint32_t bank = 0; bank < REGISTER_BANKS; bank++) {
        const uint64_t first = (s->reading[bank] > t ? s->reading[bank] : t) + reads[bank];
        last = first > last ? first : last;
        s->reading[bank] = first;
    }
    return last > t + clocks ? (uint32_t)(last - clocks - t) : 0;
}

/* Raise the counters of an instruction that issues at cycle t. */
void obey_count(struct sm *sm, uint32_t warp, const struct control_bits *bits, uint64_t t);

/* The warp's next instruction issues at cycle t: hold the warp for the stall count, and raise the
 * instruction's counters. Returns for how many further clocks the sub-core cannot issue, since the
 * banks of registers are busy. */
static ALWAYS_INLINE uint32_t obey_issue(struct sm *sm, struct subcore *s, uint32_t warp,
                                         uint64_t t) {
    const uint32_t pc = sm->warps[warp].pc;
    const struct control_bits *bits = &sm->m->program->control[pc];
    sm->held[warp] = t + bits->stall;
    if (bits->counts) obey_count(sm, warp, bits, t);
    return obey_read(s, bits, warp, pc, t, sm->m->cfg->read_ports);
}

#endif

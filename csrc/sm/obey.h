/* Compiled code on a machine that obeys its control bits: a warp waits for the stall count of its
 * last instruction and for six counters, and not for its operands. A counter rises when an
 * instruction issues, and drops when its result is there or its sources have been read. */
#ifndef SMMUX_OBEY_H
#define SMMUX_OBEY_H

#include "kernel/control_bits.h"
#include "sm/converge.h"
#include "sm/operands.h"
#include "sm/scoreboard.h"

#define FIRST_LOADS 4u /* of a counter's list, in the nearer part of it */

/* The dependence counters of a warp. Of what they count, loads are in a list until somebody asks
 * and finds that their registers have their values; all else is known when it issues. */
struct dependences {
    uint64_t known[DEPENDENCE_COUNTERS]; /* when each drops to 0, as far as known, */
    uint8_t kind[DEPENDENCE_COUNTERS];   /* and enum wait of what is the latest then */
    uint8_t loading;                     /* bits of those that have loads in their list: */
    uint8_t loads[DEPENDENCE_COUNTERS];  /* how many, */
    uint16_t first[DEPENDENCE_COUNTERS][FIRST_LOADS]; /* and the instructions of the first ones, in
                                                         the order of issue */
};

_Static_assert(sizeof(struct dependences) == 128, "two cache lines: each instruction looks there");

/* The further ones of a counter's list. */
struct counter {
    uint16_t loads[MOST_COUNTED - FIRST_LOADS];
};

/* A load into some registers is under way, or has come. Lanes that have parted may load into one
 * register at a time, which has its value when all of them have. */
static inline void obey_load(const struct sm *sm, struct warp *w, const uint16_t *ids, uint32_t n) {
    for (uint32_t i = 0; sm->m->program->control && i < n; i++) w->own->loading[ids[i]]++;
}

static inline void obey_loaded(const struct sm *sm, struct warp *w, const uint16_t *ids,
                               uint32_t n) {
    for (uint32_t i = 0; sm->m->program->control && i < n && ids[i] != OPERAND_NONE; i++)
        w->own->loading[ids[i]]--;
}

/* Do lanes still wait for loads into the register? */
static inline bool obey_loads(const struct sm *sm, const struct warp *w, uint16_t id) {
    return sm->m->program->control && w->loads_pending && w->own->loading[id];
}

/* A warp has no counts yet. */
void obey_start(struct sm *sm, uint32_t warp);
/* That instruction, of which obey_issue has told, has not issued after all. */
void obey_retract(struct sm *sm, uint32_t warp);

/* ---- waiting ----------------------------------------------------------------------------- */

/* What a warp waits for, and why. */
struct until {
    uint64_t at;
    enum wait kind;
};

/* What keeps the warp's next instruction beside the stall count of the one in front. */
struct until obey_await(const struct sm *sm, uint32_t warp, const struct control_bits *bits,
                        struct until until);

/* Ask the host for the registers of an instruction that soon issues: those of a whole chip do not
 * fit into its caches, and few of them are touched again before all other SMs have run. */
static ALWAYS_INLINE void obey_prefetch(const struct warp *w, const struct control_bits *bits) {
    uint32_t i = 0; /* of most, three rows are asked for without a look whether there are so many */
    do {
        const uint32_t *row = w->rows + bits->rows[i] * 32u;
        __builtin_prefetch(row, 1);
        __builtin_prefetch(row + 16, 1);
    } while (++i < USUAL_ROWS || (i < NAMED_ROWS && bits->rows[i] != ROW_NONE));
}

/* What warp_refresh does for an instruction with control bits. */
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

/* Sources are read one a clock from each bank, in the clocks behind the issue. An instruction whose
 * reads would take longer than there are clocks waits where the next one wants to be. */
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

/* Let the counters of an instruction rise that issues at cycle t. */
void obey_count(struct sm *sm, uint32_t warp, const struct control_bits *bits, uint64_t t);

/* The warp's next instruction is to issue at cycle t: hold the warp, and let its counters rise.
 * Returns how many clocks the sub-core cannot issue beyond the next one, since reads of registers
 * do not go on in time. */
static ALWAYS_INLINE uint32_t obey_issue(struct sm *sm, struct subcore *s, uint32_t warp,
                                         uint64_t t) {
    const uint32_t pc = sm->warps[warp].pc;
    const struct control_bits *bits = &sm->m->program->control[pc];
    sm->held[warp] = t + bits->stall;
    if (bits->counts) obey_count(sm, warp, bits, t);
    return obey_read(s, bits, warp, pc, t, sm->m->cfg->read_ports);
}

#endif

/* Compiled code on a machine that obeys its control bits: a warp waits for the stall count of its
 * last instruction and for six counters, and not for its operands. A counter rises when an
 * instruction issues, and drops when its result is there or its sources have been read. */
#ifndef SMMUX_OBEY_H
#define SMMUX_OBEY_H

#include "kernel/control_bits.h"
#include "sm/converge.h"
#include "sm/sm.h"

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
/* What warp_refresh does for an instruction with control bits. */
void obey_refresh(struct sm *sm, uint32_t warp, uint64_t floor, enum wait kind);
/* The warp's next instruction is to issue at cycle t: hold the warp, and let its counters rise.
 * Returns how many clocks the sub-core cannot issue beyond the next one, since reads of registers
 * do not go on in time. */
uint32_t obey_issue(struct sm *sm, struct subcore *s, uint32_t warp, uint64_t t);
/* That instruction, of which obey_issue has told, has not issued after all. */
void obey_retract(struct sm *sm, uint32_t warp);

#endif

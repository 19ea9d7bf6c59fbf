/* Constants that compiled code names as operands. Each sub-core has those lines of them that it has
 * named before; others it asks for, of what some TPCs share (chip/constants.h). */
#ifndef SMMUX_OPERANDS_H
#define SMMUX_OPERANDS_H

#include "kernel/control_bits.h"
#include "sm/sm.h"

/* A line that a sub-core asks for. */
struct operand_ask {
    uint64_t cycle;
    uint8_t subcore, line;
};

/* The lines of an SM, as far as the program names them. */
struct operands {
    uint64_t there[MAX_SUBCORES];             /* bit per line */
    uint64_t at[MAX_SUBCORES][OPERAND_LINES]; /* when they come; READY_PENDING: who knows; 0: nobody
                                                 has asked */
    uint32_t ask_count;                       /* not yet answered, */
    struct operand_ask asks[MAX_SUBCORES * OPERAND_LINES]; /* in order of time */
};

/* Has the warp's sub-core that line? */
static inline bool operands_there(const struct sm *sm, uint32_t warp, uint32_t line) {
    return sm->operands->there[sm->subcore_of[warp]] >> line & 1;
}

/* When the sub-core has the line that the warp's next instruction names, which can issue at a cycle
 * otherwise, and not before floor; READY_PENDING: the warp will be told. */
uint64_t operands_await(struct sm *sm, uint32_t warp, uint32_t line, uint64_t at, uint64_t floor);
/* What the SM has asked for first comes at that cycle. */
void operands_answer(struct sm *sm, uint64_t at);

/* A launch has constants of its own: those of the last one are gone. */
void operands_forget(struct sm *sm);

/* How far the SM may run with what it has asked for. */
static inline uint64_t operands_bound(const struct sm *sm, uint64_t end) {
    if (!sm->operands || !sm->operands->ask_count) return end;
    const uint64_t answer = sm->operands->asks[0].cycle + sm->m->cfg->operand_miss;
    return answer < end ? answer : end;
}

#endif

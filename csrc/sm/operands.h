/* Constants that are operands of compiled code (c[0x0][...]). A sub-core keeps every line of them
 * that it has asked for; it asks a server that some TPCs share (chip/constants.h). */
#ifndef SMMUX_OPERANDS_H
#define SMMUX_OPERANDS_H

#include "kernel/control_bits.h"
#include "sm/sm.h"

/* A line that a sub-core asks for. */
struct operand_ask {
    uint64_t cycle;
    uint8_t subcore, line;
};

/* What the sub-cores of an SM have of the lines that the program names. */
struct operands {
    uint64_t there[MAX_SUBCORES];             /* a bit per line that has come */
    uint64_t at[MAX_SUBCORES][OPERAND_LINES]; /* when a line comes; READY_PENDING: it has been asked
                                                 for, and the answer is not there; 0: it has not
                                                 been asked for */
    uint32_t ask_count;                       /* asks that are not yet answered */
    struct operand_ask asks[MAX_SUBCORES * OPERAND_LINES]; /* those, oldest first */
};

/* Has the warp's sub-core that line? */
static inline bool operands_there(const struct sm *sm, uint32_t warp, uint32_t line) {
    return sm->operands->there[sm->subcore_of[warp]] >> line & 1;
}

/* The cycle at which the warp's sub-core has a line that the warp's next instruction names. Without
 * the line it could issue at cycle `at`, not before `floor`. READY_PENDING: not known yet, the warp
 * is woken then. */
uint64_t operands_await(struct sm *sm, uint32_t warp, uint32_t line, uint64_t at, uint64_t floor);
/* The line of the SM's oldest ask comes at that cycle. */
void operands_answer(struct sm *sm, uint64_t at);

/* Forget all lines: a launch has constants of its own. */
void operands_forget(struct sm *sm);

/* The cycle to which the SM may run, at most `end`, before its oldest ask must be answered. */
static inline uint64_t operands_bound(const struct sm *sm, uint64_t end) {
    if (!sm->operands || !sm->operands->ask_count) return end;
    const uint64_t answer = sm->operands->asks[0].cycle + sm->m->cfg->operand_miss;
    return answer < end ? answer : end;
}

#endif

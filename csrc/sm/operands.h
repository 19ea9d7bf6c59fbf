/* Constants that are operands of compiled code (c[0x0][...]). A sub-core keeps every line of them
 * that it has asked for; it asks the second level (ask.h), where a launch has put them. */
#ifndef SMMUX_OPERANDS_H
#define SMMUX_OPERANDS_H

#include "kernel/control_bits.h"
#include "sm/sm.h"

/* What the sub-cores of an SM have of the lines that the program names. */
struct operands {
    uint64_t there[MAX_SUBCORES];             /* a bit per line that has come */
    uint64_t at[MAX_SUBCORES][OPERAND_LINES]; /* when a line comes; READY_PENDING: it has been asked
                                                 for, and the answer is not there; 0: it has not
                                                 been asked for */
};

/* Has the warp's sub-core that line? */
static inline bool operands_there(const struct sm *sm, uint32_t warp, uint32_t line) {
    return sm->operands->there[sm->subcore_of[warp]] >> line & 1;
}

/* The cycle at which the warp's sub-core has a line that the warp's next instruction names. Without
 * the line it could issue at cycle `at`, not before `floor`. READY_PENDING: not known yet, the warp
 * is woken then. */
uint64_t operands_await(struct sm *sm, uint32_t warp, uint32_t line, uint64_t at, uint64_t floor);
/* A sub-core's line comes at that cycle. */
void operands_answer(struct sm *sm, uint32_t subcore, uint32_t line, uint64_t at);

/* Forget all lines: a launch has constants of its own. */
void operands_forget(struct sm *sm);

#endif

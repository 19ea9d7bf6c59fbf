/* What an arithmetic operation does to 32 lanes. */
#ifndef SMMUX_EXEC_H
#define SMMUX_EXEC_H

#include "kernel/decode.h"

/* Register rows of a warp and its predicates: all the state these operations see. */
struct lanes {
    uint32_t *rows; /* [row_count][32] */
    const uint32_t *uniforms;
    uint32_t *preds; /* masks */
};

/* The 32 lanes of an operand. */
static inline const uint32_t *operand_row(const struct lanes *w, uint32_t row) {
    return (row & ROW_UNIFORM ? w->uniforms : w->rows) + (row & ~ROW_UNIFORM) * 32u;
}

/* The 32 lanes of a register to be written. */
static inline uint32_t *destination_row(const struct lanes *w, uint32_t row) {
    return w->rows + row * 32u;
}

/* A function that runs one operation on the lanes of mask. */
typedef void exec_fn(const struct uop *u, const struct lanes *w, uint32_t mask);

/* The function of each operation of struct uop: arithmetic, predicates, shuffles and votes; NULL
 * for all others. */
extern exec_fn *const exec_table[UOP_COUNT];

/* Does an integer division or remainder have a zero divisor in an active lane? The first is *lane.
 */
bool divides_by_zero(const struct uop *u, const struct lanes *w, uint32_t mask, uint32_t *lane);

#endif

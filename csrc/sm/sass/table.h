/* Operations of compiled code, for those who issue them. */
#ifndef SMMUX_SASS_TABLE_H
#define SMMUX_SASS_TABLE_H

#include "kernel/sass.h"
#include "sm/exec.h"

/* By enum sass_op; NULL for operations of control (control.c). */
extern exec_fn *const sass_functions[SASS_COUNT];

/* Run an operation of sass.def on the lanes of mask; a uniform one on all. */
static inline void exec_sass(const struct uop *u, const struct lanes *w, uint32_t mask) {
    sass_functions[u->sub](u, w, u->aux >> SHIFT_UNIFORM & MASK_UNIFORM ? ~0u : mask);
}

#endif

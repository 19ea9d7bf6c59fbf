/* Operations of compiled code, for those who issue them. */
#ifndef SMMUX_SASS_TABLE_H
#define SMMUX_SASS_TABLE_H

#include "sm/exec.h"

/* Run an operation of sass.def on the lanes of mask; a uniform one on all. */
void exec_sass(const struct uop *u, const struct lanes *w, uint32_t mask);

#endif

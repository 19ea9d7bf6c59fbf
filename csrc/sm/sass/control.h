/* Operations of compiled code that decide which lanes of a warp go on, and where. */
#ifndef SMMUX_CONTROL_H
#define SMMUX_CONTROL_H

#include "sm/sm.h"

/* Issue one at cycle t, of which the guard lets the lanes `active` take part. */
void sass_control(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active, uint64_t t);
/* The predicates that an operation writes are there at that cycle. */
void sass_await(struct sm *sm, uint32_t warp, const struct uop *u, uint64_t at);

#endif

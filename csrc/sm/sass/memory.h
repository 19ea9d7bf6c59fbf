/* Addresses of compiled code. */
#ifndef SMMUX_SASS_MEMORY_H
#define SMMUX_SASS_MEMORY_H

#include "sm/memop.h"

/* Fill in the addresses of an access, within its space. One through a generic address is done as
 * the same in the space where all its lanes go: op->u is *as then. False after a fault. */
bool sass_place(struct memop *op, struct uop *as);

#endif

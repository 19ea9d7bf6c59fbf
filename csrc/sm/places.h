/* Where the lanes of an access to global or local memory go: their addresses, checked, and the
 * array that holds them. */
#ifndef SMMUX_PLACES_H
#define SMMUX_PLACES_H

#include "sm/memop.h"

/* Does an operation only read memory? */
static inline bool places_load(uint32_t op) {
    return op == OP_LD_GLOBAL || op == OP_LD_LOCAL || op == OP_TEX;
}

/* Fill in the device addresses of an access, and the array they lie in, or the one that stands for
 * several. False: a lane goes where it may not, and has faulted. */
bool places_of(struct memop *op, const struct buffer **buffer);

#endif

/* Addresses of compiled code. */
#ifndef SMMUX_MEMORY_H
#define SMMUX_MEMORY_H

#include "sm/memop.h"

/* Issue an access: what has an address of 64 bits lane by lane in the space where it goes, and what
 * is wider than a word in local memory word by word. False if it has to wait, or faulted. */
bool sass_access(struct memop *op);

/* Is it an access to shared memory whose addresses are a register and an offset, as those of Python
 * kernels are? It needs nothing of the above. */
static inline bool sass_is_near(const struct sm *sm, const struct uop *u) {
    const uint32_t form = 7u << SASS_FORM, row = 0xffffu << SASS_ROW;
    return (u->op == OP_LD_SHARED || u->op == OP_ST_SHARED) && !u->sub &&
           (~(uint32_t)u->aux & (form | row)) == (ROW_NONE & 0xffffu) << SASS_ROW &&
           !sm->m->program->meta.dynamic_bytes;
}

#endif

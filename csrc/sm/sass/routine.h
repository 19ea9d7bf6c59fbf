/* Routines that compiled code calls and that no code of its own does: printf, malloc, free and what
 * assert calls (spec/sass.md 1.6). They take no time. */
#ifndef SMMUX_ROUTINE_H
#define SMMUX_ROUTINE_H

#include "sm/sm.h"

#define HEAP_CLASSES 28u

/* An SM's part of the heap: bytes given out, and the memory given back, by its binary logarithm. */
struct heap {
    uint32_t used, given[HEAP_CLASSES];
};

/* The device address of the heap that its module has; 0: none. */
uint32_t routine_heap(const struct program *p);
/* A thread calls a routine at cycle t, with what its warp has stored in memory; false after a
 * fault.
 */
bool routine_call(struct sm *sm, uint32_t warp, uint32_t lane, uint32_t number, uint64_t t);

#endif

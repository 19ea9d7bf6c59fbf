/* Atomics in shared memory: what they do, and how long they take. */
#ifndef SMMUX_SHARED_ATOMIC_H
#define SMMUX_SHARED_ATOMIC_H

#include <stdint.h>

#include "sm/memop.h"

/* Perform the lanes one after another; returns how many lanes hit the word that most of them hit.
 */
uint32_t shared_atomic(struct memop *op);

/* The passes of an atomic, of which so many lanes at most want one word, and a load would take so
 * many. */
uint32_t shared_atomic_passes(const struct memop *op, uint32_t load, uint32_t lanes);

/* Let a result come as much later than that of a load as it does. */
void shared_atomic_late(struct memop *op);

#endif

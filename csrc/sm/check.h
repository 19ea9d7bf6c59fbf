/* The checks of one SM: data races in shared memory, loads of uninitialised shared memory, accesses
 * to memory that the block has released, barriers that not all threads reach. Races in global
 * memory are found by the observer of the chip, which reads what the checks note (events.h).
 *
 * Each piece of shared memory has shadow records of the threads that accessed it last. Two accesses
 * by different threads of a block race if a barrier does not order them and one of them writes;
 * atomics do not race among themselves. The threads of a warp run in lockstep on the modelled
 * machines: a pair that lockstep alone orders is a warning. In the strict form it is a race: there
 * only cuda.syncwarp orders the threads of a warp, as on CC 7.x.
 *
 * Checks change no value and no cycle. */
#ifndef SMMUX_CHECK_H
#define SMMUX_CHECK_H

#include "sm/events.h"
#include "sm/findings.h"
#include "sm/memop.h"

enum check_mode { CHECK_NONE, CHECK_RACES, CHECK_RACES_STRICT, CHECK_MODE_COUNT };

/* The checks of one SM; NULL if there is no memory for them. */
struct check *check_create(const struct machine *m, enum check_mode mode);
void check_free(struct check *check);
/* The findings so far. */
const struct findings *check_findings(const struct check *check);
/* What they have noted for the observer of global memory. */
struct events *check_events(struct check *check);
/* The place of an instruction in the source: copies of an unrolled loop have one in common, and in
 * a program without lines each instruction has its own. */
uint64_t check_source(const struct program *p, uint32_t pc);

/* ---- what happens on the SM; the checks are told of it --------------------------------------- */

/* A block has its static part, and starts. */
void check_start(struct sm *sm, const struct block *b);
/* A block has its dynamic part from now on, with whatever another block has left there. */
void check_grant(struct sm *sm, const struct block *b);
/* A warp is about to count as arrived at its block's barrier. */
void check_arrival(struct sm *sm, uint32_t warp, uint64_t t);
/* All live warps of a block have arrived: the barrier orders what follows behind what was. */
void check_interval(struct sm *sm, const struct block *b, uint64_t t);
/* The same of a barrier that has a number of its own: these warps, a bit per slot, wait at it. One
 * of so many threads, and not of the whole block, does without the others. */
void check_named(struct sm *sm, const struct block *b, uint64_t waiting, bool whole, uint64_t t);
/* A phase of an asynchronous barrier is over: the same, as far as the checks can tell. */
void check_phase(struct sm *sm, const struct block *b);
/* Lanes of a warp are about to exit. */
void check_exit(struct sm *sm, uint32_t warp, uint32_t lanes);
/* Lanes of a warp have synchronised among themselves. */
void check_syncwarp(struct sm *sm, uint32_t warp, uint32_t lanes);
/* A warp waits until all others see what it has stored. */
void check_fence(struct sm *sm, uint32_t warp);
/* A warp has given 2^log_size bytes of the heap back: the accesses before are ordered, by malloc,
 * before those of whoever gets them next. */
void check_heap_free(struct sm *sm, uint32_t warp, uint32_t address, uint32_t log_size);
/* An access to global memory issues. */
void check_global(const struct memop *op);
/* An access to dynamic shared memory that the block does not hold is about to fail. */
void check_away(const struct memop *op);
/* A shared-memory instruction with active lanes is about to load or store. Its addresses are those
 * in the SM's shared memory, its shape that of struct smem_cost. */
void check_access(const struct memop *op, const uint8_t shape[2]);

/* An asynchronous copy of those lanes to these addresses of the SM's shared memory issues: it
 * stores then, as far as others are ordered, since who waits for it comes later. */
void check_copy(const struct memop *op, const uint32_t to[32], uint32_t lanes);

#endif

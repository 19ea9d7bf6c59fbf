/* Data races in shared memory, reads of what nobody wrote, barriers that not all threads reach.
 *
 * Each piece of shared memory has shadow records of who accessed it last. Two accesses by different
 * threads of a block race if a barrier does not order them and one of them writes; atomics do not
 * race among themselves. The threads of a warp run in lockstep on the modelled machines: what it
 * alone orders is a warning, and a race in the strict form, which takes as order in a warp only
 * cuda.syncwarp, as CC 7.x does.
 *
 * Checks look on: they change no value and no cycle. */
#ifndef SMMUX_CHECK_H
#define SMMUX_CHECK_H

#include "sm/findings.h"
#include "sm/memop.h"

enum check_mode { CHECK_NONE, CHECK_RACES, CHECK_RACES_STRICT, CHECK_MODE_COUNT };

/* The checks of one SM; NULL if there is no memory for them. */
struct check *check_create(const struct machine *m, enum check_mode mode);
void check_free(struct check *check);
/* What they have found so far. */
const struct findings *check_findings(const struct check *check);

/* ---- what happens on the SM; the checks are told of it --------------------------------------- */

/* A block has its static part, and starts. */
void check_start(struct sm *sm, const struct block *b);
/* A block has its dynamic part from now on, with whatever another block has left there. */
void check_grant(struct sm *sm, const struct block *b);
/* A warp is about to count as arrived at its block's barrier. */
void check_arrival(struct sm *sm, uint32_t warp, uint64_t t);
/* All live warps of a block have arrived: the barrier orders what follows behind what was. */
void check_interval(struct sm *sm, const struct block *b, uint64_t t);
/* Lanes of a warp are about to exit. */
void check_exit(struct sm *sm, uint32_t warp, uint32_t lanes);
/* Lanes of a warp have synchronised among themselves. */
void check_syncwarp(struct sm *sm, uint32_t warp, uint32_t lanes);
/* A shared-memory instruction with active lanes is about to load or store. Its addresses are those
 * in the SM's shared memory, its shape that of struct smem_cost. */
void check_access(const struct memop *op, const uint8_t shape[2]);

#endif

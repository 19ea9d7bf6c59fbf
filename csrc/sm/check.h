/* Data races in shared memory, reads of what nobody wrote, barriers that not all threads reach.
 *
 * Each piece of shared memory has shadow records of who accessed it last. Two accesses by different
 * threads of a block race if a barrier does not order them and one of them writes; atomics do not
 * race among themselves. The threads of a warp run in lockstep on the modelled machines, so that a
 * warp's instructions are ordered; the strict form grants that only between a thread and itself and
 * across cuda.syncwarp, as CC 7.x does.
 *
 * Checks look on: they change no value and no cycle. */
#ifndef SMMUX_CHECK_H
#define SMMUX_CHECK_H

#include "sm/findings.h"
#include "sm/memop.h"

enum check_mode { CHECK_NONE, CHECK_RACES, CHECK_RACES_STRICT, CHECK_MODE_COUNT };

/* NULL when out of memory. */
struct check *check_create(const struct machine *m, enum check_mode mode);
void check_free(struct check *check);
const struct findings *check_findings(const struct check *check);

/* The block has its static part, and starts. */
void check_start(struct sm *sm, const struct block *b);
/* The dynamic part is the block's, from now on, with whatever another block has left there. */
void check_grant(struct sm *sm, const struct block *b);
/* The warp is about to count as arrived at the barrier. */
void check_arrival(struct sm *sm, uint32_t warp, uint64_t t);
/* All warps that live have arrived: what follows is ordered behind what was. */
void check_interval(struct sm *sm, const struct block *b, uint64_t t);
/* Lanes of the warp are about to exit. */
void check_exit(struct sm *sm, uint32_t warp, uint32_t lanes);
/* Lanes of the warp have synchronised among themselves: order in the strict form. */
void check_syncwarp(struct sm *sm, uint32_t warp, uint32_t lanes);
/* A shared-memory instruction with active lanes, before loads and stores are performed; addresses
 * are those of the SM, shape is that of struct smem_cost. */
void check_access(const struct memop *op, const uint8_t shape[2]);

#endif

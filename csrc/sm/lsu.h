/* The load/store unit: addresses, checks, shared-memory banks, constants. */
#ifndef SMMUX_LSU_H
#define SMMUX_LSU_H

#include "sm/memop.h"

/* Issue a memory instruction of a warp of that sub-core, and hold its unit; false if it has to
 * wait, or faulted. */
bool lsu_issue(struct sm *sm, const struct subcore *core, uint32_t warp, const struct uop *u,
               uint32_t active, uint64_t t);

/* Issue an access, or a part of one, whose space is known. */
bool lsu_serve(struct memop *op);

/* ---- for all accesses --------------------------------------------------------------------- */

/* Find the rows of the data registers, in order. */
void lsu_data_rows(const struct memop *op, const uint32_t *rows[4]);
/* Record a fault at this instruction; returns false. */
bool lsu_fault(struct memop *op, uint32_t lane, enum error code, int64_t address);
/* Fill in op->addr, moved by shift. True if all active lanes are aligned and, before the move,
 * inside [base, base + bytes); else the first one that is not has faulted. */
bool lsu_addresses(struct memop *op, uint32_t base, uint32_t bytes, uint32_t shift,
                   enum error code);
/* Keep the unit busy for so many clocks. */
void lsu_charge(struct memop *op, uint32_t busy, uint32_t passes);
/* The access takes so many bank passes of shared memory, and then has its values, of so many words
 * a lane. */
void lsu_passes(struct memop *op, uint32_t passes, uint32_t words);
/* Say when the destinations have their values, READY_PENDING if nobody knows, and what for others
 * wait till then. */
void lsu_set_ready(struct memop *op, uint64_t at, enum wait kind);

#endif

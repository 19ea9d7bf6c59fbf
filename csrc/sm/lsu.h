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
/* Fill in op->addr with the lanes' addresses plus `shift`. False if the address of an active lane,
 * without shift, is not aligned or lies outside of [base, base + bytes): the first such lane has
 * faulted. */
bool lsu_addresses(struct memop *op, uint32_t base, uint32_t bytes, uint32_t shift,
                   enum error code);
/* Keep the unit busy for `busy` clocks, and the return path for `passes` passes. */
void lsu_charge(struct memop *op, uint32_t busy, uint32_t passes);
/* Let the access take `passes` passes over the banks of shared memory; its values, `words` per
 * lane, are there then. */
void lsu_passes(struct memop *op, uint32_t passes, uint32_t words);
/* Set the cycle at which the destination registers have their values (READY_PENDING: not known
 * yet), and the reason for which readers wait until then. */
void lsu_set_ready(struct memop *op, uint64_t at, enum wait kind);

#endif

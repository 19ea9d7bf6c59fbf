/* One memory instruction while it issues: what lsu.c (shared, constant) and global.c have in
 * common. */
#ifndef SMMUX_MEMOP_H
#define SMMUX_MEMOP_H

#include "sm/exec.h"
#include "sm/scoreboard.h"

/* The warp's instruction at cycle t, and for whom it is done. */
struct memop {
    struct sm *sm;
    struct warp *w;
    const struct uop *u;
    uint32_t warp, pc, active, unit;
    uint64_t t;
    uint32_t addr[32]; /* per lane; inactive lanes hold an arbitrary value */
};

/* How many registers a lane's data take. */
static inline uint32_t memop_words(uint32_t width) { return width <= 4 ? 1 : width / 4; }

/* The state of the warp's lanes, for reading operands. */
static inline struct lanes memop_lanes(const struct memop *op) {
    return (struct lanes){op->w->rows, op->sm->m->program->uniforms, op->w->preds};
}

/* ---- lsu.c ------------------------------------------------------------------------------- */

/* Find the rows of the data registers, in order. */
void lsu_data_rows(const struct memop *op, const uint32_t *rows[4]);
/* Record a fault at this instruction; returns false. */
bool lsu_fault(struct memop *op, uint32_t lane, enum error code, int64_t address);
/* Fill in op->addr, moved by shift. True if all active lanes are aligned and, before the move,
 * inside [base, base + bytes); else the first one that is not has faulted. */
bool lsu_addresses(struct memop *op, uint32_t base, uint32_t bytes, uint32_t shift,
                   enum error code);
/* Keep the unit busy for so many clocks. */
void lsu_charge(struct memop *op, uint32_t busy);
/* Say when the destinations have their values, READY_PENDING if nobody knows, and what for others
 * wait till then. */
void lsu_set_ready(struct memop *op, uint64_t at, enum wait kind);

/* Let the warp go on with its next instruction. */
static inline void memop_next(struct memop *op) {
    warp_goto(op->w, op->pc + 1);
    warp_refresh(op->sm, op->warp, op->t, WAIT_ALU);
}

/* ---- global.c ---------------------------------------------------------------------------- */

/* Issue a global, local or texture access; false if it has to wait for room, or faulted. */
bool global_issue(struct memop *op);
/* Issue a constant access that holds its unit for so many clocks; lines that the cache does not
 * have come from the level behind it. The caller loads the values then. False if it has to wait for
 * room: it issues anew, and its registers must be as they were. */
bool global_const(struct memop *op, uint32_t busy);
/* Is there still no room at cycle t for the access that the warp has a claim for? Then it sleeps.
 */
bool global_starves(struct sm *sm, uint32_t warp, uint64_t t);

#endif

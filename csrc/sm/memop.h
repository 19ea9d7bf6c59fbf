/* One memory instruction while it issues: what lsu.c (shared, constant) and global.c have in
 * common. */
#ifndef SMMUX_MEMOP_H
#define SMMUX_MEMOP_H

#include "sm/exec.h"
#include "sm/scoreboard.h"

/* The warp's instruction at cycle t, and for whom it is done. */
struct memop {
    struct sm *sm;
    const struct subcore *core;
    struct warp *w;
    const struct uop *u;
    uint32_t warp, pc, active;
    uint64_t t;   /* from when on it passes through the pipe: when it issues, unless it is queued */
    bool whole;   /* all lanes ask for words side by side, from a line's first on */
    bool more;    /* a part of an access of which a part is under way already */
    bool follows; /* and a further part follows: until then the warp does not go on */
    bool spanned; /* no active lane goes below `lowest` or above `highest`, or has a bit in its
                     address below 16 that `odd` has not */
    uint32_t lowest, highest, odd;
    const struct copy *copy; /* where an asynchronous copy goes; NULL: it is none */
    uint32_t addr[32];       /* per lane; inactive lanes hold an arbitrary value */
};

/* How many registers a lane's data take. */
static inline uint32_t memop_words(uint32_t width) { return width <= 4 ? 1 : width / 4; }

/* The state of the warp's lanes, for reading operands. */
static inline struct lanes memop_lanes(const struct memop *op) {
    return (struct lanes){op->w->rows, op->sm->m->program->uniforms, op->w->preds};
}

/* Let the warp go on with its next instruction. */
static inline void memop_next(struct memop *op) {
    warp_goto(op->w, op->pc + 1);
    if (op->sm->m->program->control) warp_refresh_special(op->sm, op->warp, op->sm->now, WAIT_ALU);
    else warp_refresh(op->sm, op->warp, op->sm->now, WAIT_ALU);
}

#endif

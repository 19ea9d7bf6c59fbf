/* A memory instruction while it issues, as lsu.c (shared memory), constants.c and global.c serve
 * it. */
#ifndef SMMUX_MEMOP_H
#define SMMUX_MEMOP_H

#include "sm/exec.h"
#include "sm/scoreboard.h"

/* A warp's memory instruction that issues at cycle t for its active lanes. */
struct memop {
    struct sm *sm;
    const struct subcore *core;
    struct warp *w;
    const struct uop *u;
    uint32_t warp, pc, active;
    uint64_t
        t; /* cycle at which it enters the memory pipe: that of its issue, unless it is queued */
    bool whole;   /* all lanes access consecutive words, from the first of a line on */
    bool more;    /* it is a part of an access of which another part is under way already */
    bool follows; /* a further part follows, before which the warp does not go on */
    bool spanned; /* `lowest` and `highest` bound the active lanes' addresses, and `odd` has all
                     bits below 16 that any of them has */
    uint32_t lowest, highest, odd;
    const struct copy *copy; /* where an asynchronous copy writes; NULL: it is no copy */
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

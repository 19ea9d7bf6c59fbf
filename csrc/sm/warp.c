#include "sm/warp.h"

#include <assert.h>

static void push(struct warp *w, uint32_t pc, uint32_t mask, uint32_t rpc) {
    assert(w->depth < STACK_DEPTH);
    w->stack[w->depth++] = (struct stack_entry){pc, mask, rpc, 0};
}

/* Continue with the stack's top; false if nothing live is left on it. */
static bool pop(struct warp *w) {
    while (w->depth) {
        const struct stack_entry top = w->stack[--w->depth];
        w->pc = top.pc;
        w->rpc = top.rpc;
        w->mask = top.mask & w->live;
        if (w->mask) return true;
    }
    w->mask = 0;
    return false;
}

bool warp_reconverge(struct warp *w) {
    while (w->mask == 0 || (w->pc == w->rpc && w->depth))
        if (!pop(w)) return false;
    return true;
}

bool warp_branch(struct warp *w, uint32_t taken, uint32_t target, uint32_t reconvergence) {
    const uint32_t next = w->pc + 1, rest = w->mask & ~taken;
    assert(w->mask && !(taken & ~w->mask));
    if (!taken || !rest || target == next) {
        warp_goto(w, taken ? target : next);
        return false;
    }
    /* Lanes that meet where the whole warp meets already wait in the entry below. */
    if (reconvergence != NO_RPC && reconvergence != w->rpc) push(w, reconvergence, w->mask, w->rpc);
    w->rpc = reconvergence;
    if (target == reconvergence) {
        w->mask = rest;
        w->pc = next;
    } else {
        if (next != reconvergence) push(w, next, rest, reconvergence);
        w->mask = taken;
        w->pc = target;
    }
    return true;
}

bool warp_exit(struct warp *w, uint32_t lanes) {
    assert(lanes && !(lanes & ~w->mask));
    w->live &= ~lanes;
    w->mask &= ~lanes;
    return w->mask ? warp_goto(w, w->pc + 1) : pop(w) && warp_goto(w, w->pc);
}

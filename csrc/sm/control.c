#include "sm/control.h"

#include "kernel/sass.h"
#include "sm/check.h"
#include "sm/print.h"
#include "sm/sass/control.h"
#include "sm/scheduler.h"
#include "sm/scoreboard.h"

static void issue_branch(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active,
                         uint64_t t) {
    struct warp *w = &sm->warps[warp];
    const uint32_t reconvergence = u->aux < 0 ? NO_RPC : (uint32_t)u->aux;
    if (warp_branch(w, active, (uint32_t)u->imm, reconvergence)) sm->count.divergent_branches++;
    sched_jumped(sm, warp);
    warp_refresh(sm, warp, t + sm->m->cfg->lat_bra, WAIT_ALU);
}

static void issue_exit(struct sm *sm, uint32_t warp, uint32_t active, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    if (sm->check && active) check_exit(sm, warp, active);
    const bool alive = active ? warp_exit(w, active) : warp_goto(w, w->pc + 1);
    if (alive) warp_refresh(sm, warp, t + sm->m->cfg->lat_bra, WAIT_ALU);
    else block_warp_exit(sm, warp, t);
}

/* A fence holds the warp until its own accesses are answered; in compiled code no less than its
 * scope says (enum sass_fence), and until those before it have let it go on. One behind accesses
 * takes as long if these have been answered (h200: answers.csv). */
static void issue_membar(struct sm *sm, uint32_t warp, const struct uop *u, uint64_t t) {
    const struct config *cfg = sm->m->cfg;
    struct warp *w = &sm->warps[warp];
    warp_goto(w, w->pc + 1);
    if (u->imm != FENCE_PLAIN) {
        const bool behind = sm->accessed >> warp & 1;
        uint64_t until = t + (u->imm == FENCE_SYSTEM ? cfg->fence_system
                              : behind               ? cfg->fence_stores
                                                     : cfg->fence_least);
        if (w->accesses_pending) {
            sm->fence_free = (sm->fence_free > t ? sm->fence_free : t) + cfg->fence_clk;
            if (sm->fence_free > until) until = sm->fence_free;
        }
        if (until > sm->held[warp]) sm->held[warp] = until;
        sm->accessed &= ~(1ull << warp);
    }
    if (w->accesses_pending) {
        w->state = WARP_FENCE;
        warp_sleep(sm, warp, WAIT_CREDITS);
    } else {
        warp_refresh(sm, warp, t, WAIT_ALU);
    }
}

/* A trap ends the launch if its predicate holds in an active lane: a variable that was never set.
 */
static void issue_trap(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active,
                       uint64_t t) {
    struct warp *w = &sm->warps[warp];
    const uint32_t p = w->preds[u->a];
    const uint32_t caught = active & (u->flags & INSN_NEGATE_Q ? ~p : p);
    if (caught) {
        sm_fault(sm, warp, (uint32_t)__builtin_ctz(caught), t, ERROR_UNASSIGNED);
        return;
    }
    warp_goto(w, w->pc + 1);
    warp_refresh(sm, warp, t, WAIT_ALU);
}

static void issue_print(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active,
                        uint64_t t) {
    struct warp *w = &sm->warps[warp];
    print_issue(sm, warp, u, active, t);
    warp_goto(w, w->pc + 1);
    warp_refresh(sm, warp, t, WAIT_ALU);
}

bool issue_control(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active, uint64_t t) {
    switch (u->op) {
    case OP_BRA: issue_branch(sm, warp, u, active, t); break;
    case OP_EXIT: issue_exit(sm, warp, active, t); break;
    case OP_TRAP: issue_trap(sm, warp, u, active, t); break;
    case OP_SASS_CONTROL: sass_control(sm, warp, u, active, t); break;
    case OP_PRINT: issue_print(sm, warp, u, active, t); break;
    case OP_BAR_SYNC: block_arrive(sm, warp, u, t); break;
    default: issue_membar(sm, warp, u, t); break;
    }
    return sm->fault.code == OK;
}

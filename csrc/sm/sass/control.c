#include "sm/sass/control.h"

#include "base/bits.h"
#include "sm/check.h"
#include "sm/converge.h"
#include "sm/exec.h"
#include "sm/sass/sass.h"
#include "sm/scoreboard.h"

#define INSN_BYTES 16u /* what an address counts: an instruction has 128 bits */

void sass_await(struct sm *sm, uint32_t warp, const struct uop *u, uint64_t at) {
    struct warp *w = &sm->warps[warp];
    uint32_t written = 1u << sass_pred(u, SHIFT_PD0) | 1u << sass_pred(u, SHIFT_PD1);
    if (u->op == OP_SASS && u->sub == SASS_R2P)
        written |= u->aux >> SHIFT_UNIFORM & MASK_UNIFORM ? 0x7f00u : 0x7fu;
    for (written &= 0x7f7fu; written; written &= written - 1) {
        const uint32_t id = sm->m->program->registers + bits_lowest(written);
        w->ready[id] = at;
        w->producer[id] = WAIT_ALU;
    }
}

/* The warp has arrived at a barrier of its block with all its lanes. */
static void arrive(struct sm *sm, uint32_t warp, uint64_t t) {
    static const struct uop plain = {.op = OP_BAR_SYNC, .sub = BAR_PLAIN};
    block_arrive(sm, warp, &plain, t);
}

/* Whoever is active goes on; if nobody is, all have exited, or they wait at the barrier of the
 * block, or for each other for ever. */
static void go_on(struct sm *sm, uint32_t warp, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    if (w->mask) {
        warp_refresh(sm, warp, t + sm->m->cfg->lat_bra, WAIT_ALU);
    } else if (!w->live) {
        block_warp_exit(sm, warp, t);
    } else {
        w->mask = w->live; /* for who is told of what goes wrong */
        if (converge_gather(w)) arrive(sm, warp, t);
        else sm_fault(sm, warp, (uint32_t)bits_lowest(w->live), t, ERROR_DIVERGENT_BARRIER);
    }
}

static uint32_t operand_predicate(const struct uop *u, const struct warp *w) {
    const uint32_t number = sass_pred(u, SHIFT_PS0), lanes = w->preds[number & 15];
    return number & SASS_NOT ? ~lanes : lanes;
}

/* Go where a register says; an address that is none of an instruction is a fault. */
static bool jump(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    const struct lanes lanes = {w->rows, sm->m->program->uniforms, w->preds};
    const uint32_t *low = operand_row(&lanes, u->a);
    uint32_t target[32];
    for (uint32_t lane = 0; lane < 32; lane++) {
        target[lane] = active >> lane & 1 ? (low[lane] + (uint32_t)u->imm) / INSN_BYTES : w->pc + 1;
        if (!(w->mask >> lane & 1) || target[lane] < sm->m->program->count) continue;
        sm_fault(sm, warp, lane, t, ERROR_BAD_JUMP);
        return false;
    }
    converge_scatter(w, target);
    return true;
}

void sass_control(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    const struct lanes lanes = {w->rows, sm->m->program->uniforms, w->preds};
    switch (active || u->sub == SASS_BRA ? u->sub : SASS_COUNT) {
    case SASS_BRA:
        active &= operand_predicate(u, w);
        if (active && active != w->mask) sm->count.divergent_branches++;
        converge_branch(w, active, (uint32_t)u->imm);
        break;
    case SASS_CALL: converge_branch(w, active, (uint32_t)u->imm); break;
    case SASS_RET:
        if (!jump(sm, warp, u, active, t)) return;
        break;
    case SASS_EXIT:
        if (sm->check) check_exit(sm, warp, active);
        converge_exit(w, active);
        break;
    case SASS_BSSY: w->barriers[u->q] = w->mask, w->pc++; break;
    case SASS_BSYNC: converge_wait(w, u->q); break;
    case SASS_BREAK: w->barriers[u->q] &= ~active, w->pc++; break;
    case SASS_YIELD: converge_yield(w); break;
    case SASS_WARPSYNC:
        converge_sync(w, u->a & ROW_UNIFORM && (u->a & 0x7fffu) == sm->m->program->uniform_count
                             ? ~0u
                             : operand_row(&lanes, u->a)[bits_lowest(active)]);
        break;
    case SASS_BAR:
        if (w->mask == w->live) {
            arrive(sm, warp, t);
            return;
        }
        converge_block(w);
        break;
    default: w->pc++; break;
    }
    go_on(sm, warp, t);
}

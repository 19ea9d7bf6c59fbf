/* One instruction of one warp: guard, unit, effect, scoreboard. */
#include "bits.h"
#include "check.h"
#include "exec.h"
#include "scoreboard.h"

static uint32_t guarded(const struct warp *w, const struct uop *u) {
    if (!u->guard) return w->mask;
    const uint32_t p = w->preds[(u->guard & ~GUARD_NOT) - 1];
    return w->mask & (u->guard & GUARD_NOT ? ~p : p);
}

static void count_issue(struct sm *sm, uint32_t warp, uint32_t pc, uint32_t active) {
    const uint32_t lanes = bits_count(active);
    sm->count.instructions++;
    sm->count.thread_instructions += lanes;
    if (sm->pc_count) {
        sm->pc_count[pc].issued++;
        sm->pc_count[pc].threads += lanes;
        if (sm->check && sm->m->program->code[pc].flags & INSN_SYNCWARP)
            check_syncwarp(sm, warp, pc);
    }
}

static void issue_branch(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active,
                         uint64_t t) {
    struct warp *w = &sm->warps[warp];
    const uint32_t reconvergence = u->aux < 0 ? NO_RPC : (uint32_t)u->aux;
    if (warp_branch(w, active, (uint32_t)u->imm, reconvergence)) sm->count.divergent_branches++;
    warp_refresh(sm, warp, t + sm->m->cfg->lat_bra, WAIT_ALU);
}

static void issue_exit(struct sm *sm, uint32_t warp, uint32_t active, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    if (sm->check && active) check_exit(sm, warp, active);
    const bool alive = active ? warp_exit(w, active) : warp_goto(w, w->pc + 1);
    if (alive) warp_refresh(sm, warp, t + sm->m->cfg->lat_bra, WAIT_ALU);
    else block_warp_exit(sm, warp, t);
}

/* A fence holds the warp until its own accesses are answered. */
static void issue_membar(struct sm *sm, uint32_t warp, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    warp_goto(w, w->pc + 1);
    if (w->accesses_pending) {
        w->state = WARP_FENCE;
        warp_sleep(sm, warp, WAIT_CREDITS);
    } else {
        warp_refresh(sm, warp, t, WAIT_ALU);
    }
}

static bool issue_alu(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active,
                      uint64_t t) {
    struct warp *w = &sm->warps[warp];
    const struct program *p = sm->m->program;
    const struct lanes lanes = {w->rows, p->uniforms, w->preds};
    const uint32_t pc = w->pc;
    uint32_t lane;
    if ((u->cls == CLASS_IDIV || u->cls == CLASS_IREM) &&
        divides_by_zero(u, &lanes, active, &lane)) {
        sm_fault(sm, warp, lane, t, ERROR_DIVISION_BY_ZERO);
        return false;
    }
    if (active) exec_table[u->op](u, &lanes, active);
    if (u->dst_count) {
        w->ready[u->dst] = t + u->latency;
        w->producer[u->dst] = u->unit == UNIT_LSU ? WAIT_SHARED : WAIT_ALU;
    }
    warp_goto(w, pc + 1);
    warp_refresh(sm, warp, t, WAIT_ALU);
    return true;
}

static bool is_memory(uint32_t op) { return op >= OP_LD_GLOBAL && op <= OP_TEX; }

bool issue_instruction(struct sm *sm, uint32_t warp, uint32_t scheduler, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    const struct program *p = sm->m->program;
    const uint32_t pc = w->pc;
    const struct uop *u = &p->code[pc];
    const struct scheduler *s = &sm->sched[scheduler];
    const uint32_t active = guarded(w, u);
    if (is_memory(u->op)) {
        if (!lsu_issue(sm, warp, u, active, s->unit[UNIT_LSU], t)) return false;
        count_issue(sm, warp, pc, active);
        return true;
    }
    /* A multiplication takes the SFU if the SP is busy. */
    uint32_t unit = s->unit[u->unit & 3];
    if (u->unit == UNIT_EITHER)
        unit = sm->unit_free[s->unit[UNIT_SP]] <= t ? s->unit[UNIT_SP] : s->unit[UNIT_SFU];
    sm->unit_free[unit] = t + u->interval;
    count_issue(sm, warp, pc, active);
    switch (u->op) {
    case OP_BRA: issue_branch(sm, warp, u, active, t); return true;
    case OP_EXIT: issue_exit(sm, warp, active, t); return true;
    case OP_BAR_SYNC: block_arrive(sm, warp, u, t); return sm->fault.code == OK;
    case OP_MEMBAR: issue_membar(sm, warp, t); return true;
    default: return issue_alu(sm, warp, u, active, t);
    }
}

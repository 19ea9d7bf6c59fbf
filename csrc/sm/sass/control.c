#include "sm/sass/control.h"

#include "base/bits.h"
#include "sm/check.h"
#include "sm/converge.h"
#include "sm/exec.h"
#include "sm/obey.h"
#include "sm/sass/barrier.h"
#include "sm/sass/cbu.h"
#include "sm/sass/copy.h"
#include "sm/sass/routine.h"
#include "sm/sass/sass.h"
#include "sm/scheduler.h"
#include "sm/scoreboard.h"
#include "sm/smcache.h"

#define NS_PER_MS     1000000u
#define MOST_SLEEP_NS (1u << 20)

/* The value of a special register in one lane at cycle t. */
static uint64_t special_of(const struct sm *sm, uint32_t warp, uint32_t number, uint32_t lane,
                           uint64_t t) {
    const uint32_t bit = 1u << lane,
                   *rows = sm->warps[warp].rows + sm->m->program->registers * 32u + lane;
    switch (number) {
    case REGISTER_TID_X: return rows[SPECIAL_TID_X * 32];
    case REGISTER_TID_Y: return rows[SPECIAL_TID_Y * 32];
    case REGISTER_TID_Z: return rows[SPECIAL_TID_Z * 32];
    case REGISTER_LANEID: return lane;
    case REGISTER_EQMASK: return bit;
    case REGISTER_LTMASK: return bit - 1;
    case REGISTER_LEMASK: return bit | (bit - 1);
    case REGISTER_GTMASK: return ~(bit | (bit - 1));
    case REGISTER_GEMASK: return ~(bit - 1);
    case REGISTER_VIRTID: return (uint64_t)sm->place[warp] << 8;
    case REGISTER_VIRTCFG: return sm->m->cfg->max_warps_sm << 8;
    case REGISTER_VIRTUALSMID: return sm->id;
    case REGISTER_GLOBALTIMERLO: return t * NS_PER_MS / sm->m->cfg->shader_khz;
    case REGISTER_GLOBALTIMERHI: return t * NS_PER_MS / sm->m->cfg->shader_khz >> 32;
    case REGISTER_CLOCKHI: return t >> 32;
    case REGISTER_SMEMSZ: return sm->m->program->meta.smem_size;
    default: return t;
    }
}

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

/* What an instruction of control does that decides how long it takes. */
struct passage {
    uint32_t sub;   /* which one it is; SASS_COUNT: no lane takes part */
    bool parted;    /* some of its lanes go on apart from others */
    bool whole;     /* there are no other lanes that it could wait for */
    bool returns;   /* others have had their turn, and could not go on */
    uint32_t taken; /* lanes that go elsewhere than to the next instruction */
    uint32_t sets;  /* different sets of lanes that its lanes wait for */
    bool restored;  /* its barrier register has been kept elsewhere */
};

/* Does the warp go on behind the instruction for the price of its stall count alone? So it does
 * where control bits are obeyed, and lanes neither go elsewhere nor wait for others. */
static bool falls_through(const struct sm *sm, const struct warp *w, const struct uop *u,
                          const struct passage *p) {
    const struct program *program = sm->m->program;
    if (!program->control || &program->code[w->pc] != u + 1) return false;
    switch (u->sub) {
    case SASS_EXIT:
    case SASS_BSSY: return true;
    case SASS_BRA: return !p->taken;
    case SASS_WARPSYNC: return u->q == SYNC_ALL && p->whole;
    default: return false;
    }
}

/* For how many clocks it takes the convergence barrier unit. */
static uint32_t unit_clocks(const struct config *cfg, const struct uop *u,
                            const struct passage *p) {
    const uint32_t parting = p->parted ? cfg->cbu_clk : 0;
    switch (p->sub) {
    case SASS_BSSY:
    case SASS_BSYNC: return (p->restored ? cfg->cbu_jump : cfg->cbu_clk) + parting;
    case SASS_JUMP: return cfg->cbu_jump + parting;
    case SASS_YIELD: return (cfg->cbu_jump << p->returns) + parting;
    case SASS_WARPSYNC:
    case SASS_COLLECTIVE:
        if (u->q != SYNC_NAMED) return parting;
        return cfg->cbu_warpsync + (p->sets - 1) * cfg->cbu_warpsync_more + parting;
    default: return parting;
    }
}

/* How many clocks after it has begun the warp goes on, if it does not fall through. */
static uint32_t clocks_of(const struct config *cfg, const struct uop *u, const struct passage *p) {
    switch (p->sub) {
    case SASS_BSYNC:
        return (cfg->bsync_clk ? cfg->bsync_clk : cfg->lat_bra) +
               (p->restored ? cfg->bsync_restored : 0);
    case SASS_JUMP: return cfg->lat_bra + cfg->jump_clk;
    case SASS_YIELD: return (cfg->lat_bra + cfg->yield_clk) << p->returns;
    case SASS_WARPSYNC:
    case SASS_COLLECTIVE:
        if (!cfg->warpsync_clk || u->q == SYNC_ALL) return cfg->lat_bra;
        return cfg->warpsync_clk + (u->q == SYNC_NAMED ? (p->sets - 1) * cfg->warpsync_more : 0);
    default: return cfg->lat_bra;
    }
}

/* Find out when the warp's next instruction can issue, from a cycle on. */
static void go_on_at(struct sm *sm, uint32_t warp, uint64_t at) {
    if (sm->m->program->control) obey_refresh(sm, warp, at, WAIT_ALU);
    else warp_refresh(sm, warp, at, WAIT_ALU);
}

/* Let the warp go on at cycle `at` after an instruction that may have changed the active group, and
 * has issued at t. With no group active, all lanes have exited, or wait at a barrier of the block,
 * or wait for each other for ever, a fault. */
static void go_on(struct sm *sm, uint32_t warp, uint64_t t, uint64_t at) {
    struct warp *w = &sm->warps[warp];
    if (w->mask) {
        go_on_at(sm, warp, at);
    } else if (!w->live) {
        block_warp_exit(sm, warp, t);
    } else {
        w->mask = w->live; /* findings and faults name the live lanes */
        if (converge_gather(w)) barrier_arrive(sm, warp, &sm->m->program->code[w->pc], t);
        else sm_fault(sm, warp, (uint32_t)bits_lowest(w->live), t, ERROR_DIVERGENT_BARRIER);
    }
}

/* NANOSLEEP: sleep until the next multiple of the least power of two nanoseconds above the operand
 * (h200: naps.csv), which is a millisecond at most, as PTX has it. Without .WARP (q) the other
 * groups have their turn first, and the lanes sleep only if there are no other groups. */
static void sleep_until_tick(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active,
                             uint64_t t) {
    const struct config *cfg = sm->m->cfg;
    struct warp *w = &sm->warps[warp];
    const struct lanes lanes = {w->rows, sm->m->program->uniforms, w->preds};
    const uint32_t wanted = operand_row(&lanes, u->a)[bits_lowest(active)], mask = w->mask;
    if (u->q) w->pc++;
    else converge_yield(w);
    if (!cfg->sleep_least || w->mask != mask) {
        go_on_at(sm, warp, t);
        return;
    }
    uint64_t at = t + cfg->sleep_least, tick = 1;
    while (tick <= wanted && tick < MOST_SLEEP_NS) tick *= 2;
    const uint64_t ticks =
        t * NS_PER_MS / cfg->shader_khz / tick + 1; /* shader_khz: clocks of a millisecond */
    const uint64_t wakes = (ticks * tick * cfg->shader_khz + NS_PER_MS - 1) / NS_PER_MS;
    if (wanted && wakes > at) at = wakes;
    go_on_at(sm, warp, at);
}

static uint32_t operand_predicate(const struct uop *u, const struct warp *w) {
    const uint32_t number = sass_pred(u, SHIFT_PS0), lanes = w->preds[number & 15];
    return number & SASS_NOT ? ~lanes : lanes;
}

/* Go on as behind arithmetic: the result is there after the instruction's latency. */
static void advance(struct sm *sm, uint32_t warp, const struct uop *u, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    for (uint32_t i = 0; i < u->dst_count && !sm->m->program->control; i++) {
        w->ready[u->dst + i] = t + u->latency;
        w->producer[u->dst + i] = WAIT_ALU;
    }
    w->pc++;
    go_on_at(sm, warp, t);
}

/* Read a special register into the lanes of an instruction, or into all of a uniform one. */
static void read_special(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active,
                         uint64_t t) {
    struct warp *w = &sm->warps[warp];
    const struct lanes lanes = {w->rows, sm->m->program->uniforms, w->preds};
    uint32_t *d = destination_row(&lanes, u->d);
    const bool uniform = u->aux >> SHIFT_UNIFORM & MASK_UNIFORM;
    const uint32_t first = bits_lowest(active);
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!uniform && !(active >> lane & 1)) continue;
        const uint64_t value = special_of(sm, warp, u->q, uniform ? first : lane, t);
        d[lane] = (uint32_t)value;
        if (u->sub == SASS_S2R_64) d[lane + 32] = (uint32_t)(value >> 32);
    }
    advance(sm, warp, u, t);
}

/* Copy a barrier register to a register, or back. */
static void move_barrier(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active,
                         uint64_t t) {
    struct warp *w = &sm->warps[warp];
    const struct lanes lanes = {w->rows, sm->m->program->uniforms, w->preds};
    if (u->sub == SASS_BMOV) {
        const uint32_t *views = operand_row(&lanes, u->a);
        converge_restore(w, u->q, active, views);
        if (views[bits_lowest(active)]) w->own->restored |= (uint16_t)(1u << u->q);
    } else {
        converge_keep(w, u->q, active, u->imm & BMOV_DROPPED ? NULL : destination_row(&lanes, u->d),
                      u->imm & BMOV_CLEAR);
    }
    advance(sm, warp, u, t);
}

/* B2R.RESULT: read the result of the warp's last BAR.RED, as a number and as a predicate. */
static void read_reduced(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active,
                         uint64_t t) {
    struct warp *w = &sm->warps[warp];
    const struct lanes lanes = {w->rows, sm->m->program->uniforms, w->preds};
    uint32_t *d = destination_row(&lanes, u->d);
    for (uint32_t lane = 0; lane < 32; lane++)
        if (active >> lane & 1) d[lane] = w->own->reduced;
    sass_write(u, &lanes, SHIFT_PD0, w->own->reduced ? ~0u : 0, active);
    sass_await(sm, warp, u, t + u->latency);
    advance(sm, warp, u, t);
}

/* Perform the calls of lanes whose target is a routine outside of the code, such as malloc or
 * vprintf; these lanes go on at their return addresses. */
static void call_routines(struct sm *sm, uint32_t warp, const uint32_t *low, uint32_t active,
                          uint32_t target[32], uint64_t t) {
    const uint32_t *back = sm->warps[warp].rows + (LAST_ARGUMENT - 1) * 32u;
    for (uint32_t left = active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        if (low[lane + 32] != ROUTINE_HIGH) continue;
        if (!routine_call(sm, warp, lane, low[lane], t)) return;
        target[lane] = back[lane];
    }
}

/* Jump to the addresses in a register; an address that is not that of an instruction is a fault. Do
 * lanes part? */
static bool jump(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    const struct lanes lanes = {w->rows, sm->m->program->uniforms, w->preds};
    const uint32_t *low = operand_row(&lanes, u->a);
    uint32_t target[32];
    for (uint32_t lane = 0; lane < 32; lane++) target[lane] = low[lane] + (uint32_t)u->imm;
    if (u->q == JUMP_ANYWHERE) call_routines(sm, warp, low, active, target, t);
    if (sm->fault.code != OK) return false;
    for (uint32_t left = active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left), to = target[lane];
        const bool nowhere = !to && u->q != JUMP_INSIDE;
        target[lane] = to / INSN_BYTES;
        if (!(to % INSN_BYTES) && target[lane] < sm->m->program->count && !nowhere) continue;
        sm_fault(sm, warp, lane, t, nowhere ? ERROR_NULL_CALL : ERROR_BAD_JUMP);
        return false;
    }
    for (uint32_t lane = 0; lane < 32; lane++)
        if (!(active >> lane & 1)) target[lane] = w->pc + 1;
    const uint32_t all = w->mask;
    converge_scatter(w, target);
    return w->mask != all;
}

/* Must the warp wait before it calls routines outside of the code, which see what it has stored? If
 * so, it issues the call again later. */
static bool awaits_stores(struct sm *sm, uint32_t warp, const struct uop *u) {
    struct warp *w = &sm->warps[warp];
    if (u->q != JUMP_ANYWHERE || !w->accesses_pending) return false;
    w->state = WARP_FENCE;
    warp_sleep(sm, warp, WAIT_CREDITS);
    return true;
}

/* The lanes that take a branch. A plain one: those active lanes whose predicate holds. BRA.ANY: the
 * whole group if any active lane takes it, even lanes that the guard leaves out, as compilers write
 * loops that serve one lane at a time through uniform registers. BRA.DIV and BRA.CONV: the whole
 * group if the active lanes are not, or are, all the lanes that a mask names. */
static uint32_t taken(const struct uop *u, const struct warp *w, const struct lanes *lanes,
                      uint32_t active) {
    const uint32_t named = operand_row(lanes, u->a)[0] & w->live;
    switch (u->q) {
    case BRANCH_ANY: return active & operand_predicate(u, w) ? w->mask : 0;
    case BRANCH_DIV: return named != active ? w->mask : 0;
    case BRANCH_CONV: return named == active ? w->mask : 0;
    default: return active & operand_predicate(u, w);
    }
}

/* WARPSYNC, or the begin of a collective: wait for the lanes that a register names. Returns how
 * many different sets of lanes that are. */
static uint32_t synchronise(struct sm *sm, uint32_t warp, const struct uop *u,
                            const struct lanes *lanes) {
    struct warp *w = &sm->warps[warp];
    const uint32_t *of = operand_row(lanes, u->a), named = of[bits_lowest(w->mask)] & w->live;
    const uint32_t sets = sass_values(of, of, w->mask);
    if (sm->check && !(named & ~converge_met(w, named))) check_syncwarp(sm, warp, named);
    if (u->sub == SASS_COLLECTIVE) converge_collect(w, of);
    else converge_sync(w, of, u->q == SYNC_EXCLUSIVE);
    return sets;
}

/* Can the instruction have a predicate operand beside its guard? */
static bool has_predicate(uint32_t op) {
    return op == SASS_BSSY || op == SASS_BSYNC || op == SASS_BREAK || op == SASS_EXIT;
}

/* Does the instruction act on the active lanes as a group of their own, so that lanes which its
 * guard leaves out must be split off first? */
static bool is_for_some(uint32_t op) {
    return op == SASS_BSSY || op == SASS_BSYNC || op == SASS_YIELD || op == SASS_SLEEP ||
           op == SASS_WARPSYNC || op == SASS_COLLECTIVE || op == SASS_BAR;
}

/* Execute an instruction that leaves the active group as it is: one that moves values of special or
 * barrier registers, or groups asynchronous copies and waits for them. False if it is another. */
static bool keeps_group(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active,
                        uint64_t t) {
    switch (u->sub) {
    case SASS_BMOV:
    case SASS_BMOV_READ: move_barrier(sm, warp, u, active, t); return true;
    case SASS_S2R:
    case SASS_S2R_64: read_special(sm, warp, u, active, t); return true;
    case SASS_B2R: read_reduced(sm, warp, u, active, t); return true;
    case SASS_LDGDEPBAR:
        if (sm->copies) copy_commit(sm, warp);
        advance(sm, warp, u, t);
        return true;
    case SASS_DEPBAR:
        sm->warps[warp].pc++;
        if (!sm->copies || copy_wait(sm, warp, u->q)) warp_refresh(sm, warp, t, WAIT_ALU);
        return true;
    default: return false;
    }
}

void sass_control(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active, uint64_t t) {
    const struct config *cfg = sm->m->cfg;
    struct warp *w = &sm->warps[warp];
    const struct lanes lanes = {w->rows, sm->m->program->uniforms, w->preds};
    struct passage p = {.sets = 1};
    if (has_predicate(u->sub)) active &= operand_predicate(u, w);
    if (active && active != w->mask && is_for_some(u->sub)) {
        p.parted = true;
        converge_leave(w, active);
    }
    p.whole = w->mask == w->live;
    p.sub = active || u->sub == SASS_BRA ? u->sub : SASS_COUNT;
    switch (p.sub) {
    case SASS_BRA:
        p.taken = taken(u, w, &lanes, active);
        p.parted = p.taken && p.taken != w->mask;
        if (p.parted) sm->count.divergent_branches++;
        converge_branch(w, p.taken, (uint32_t)u->imm);
        break;
    case SASS_CALL: converge_branch(w, active, (uint32_t)u->imm); break;
    case SASS_JUMP:
        if (awaits_stores(sm, warp, u)) return;
        p.parted = jump(sm, warp, u, active, t);
        if (sm->fault.code != OK) return;
        break;
    case SASS_EXIT:
        if (sm->check) check_exit(sm, warp, active);
        converge_exit(w, active);
        break;
    case SASS_BSSY: converge_enter(w, u->q); break;
    case SASS_BSYNC:
        p.restored = w->own->restored >> u->q & 1;
        w->own->restored &= (uint16_t) ~(1u << u->q);
        converge_wait(w, u->q);
        break;
    case SASS_BREAK: converge_break(w, u->q, active); break;
    case SASS_YIELD: {
        const uint32_t own = w->mask;
        converge_yield(w);
        p.returns = w->mask == own && !p.whole;
        break;
    }
    case SASS_SLEEP: sleep_until_tick(sm, warp, u, active, t); return;
    case SASS_ERRBAR:
        w->pc++;
        go_on_at(sm, warp, t + cfg->errbar_clk);
        return;
    case SASS_IVALL: smcache_invalidate(sm), w->pc++; break;
    case SASS_WARPSYNC:
    case SASS_COLLECTIVE:
        p.sets = synchronise(sm, warp, u, &lanes);
        p.parted |= u->q == SYNC_EXCLUSIVE && p.sets > 1; /* each set waits in a turn of its own */
        break;
    case SASS_ENDCOLLECTIVE: converge_disperse(w, sm->m->program->code); break;
    case SASS_BAR:
        if (active == w->live) {
            barrier_arrive(sm, warp, u, t);
            return;
        }
        converge_block(w);
        break;
    case SASS_TRAP: sm_fault(sm, warp, bits_lowest(active), t, ERROR_TRAP); return;
    default:
        if (active && keeps_group(sm, warp, u, active, t)) return;
        w->pc++;
        break;
    }
    const uint64_t begin = cbu_take(sm, t, unit_clocks(cfg, u, &p));
    const bool falls = falls_through(sm, w, u, &p);
    if (!falls) sched_jumped(sm, warp);
    go_on(sm, warp, t, falls ? begin : begin + clocks_of(cfg, u, &p));
}

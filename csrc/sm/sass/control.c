#include "sm/sass/control.h"

#include "base/bits.h"
#include "sm/check.h"
#include "sm/converge.h"
#include "sm/exec.h"
#include "sm/obey.h"
#include "sm/sass/barrier.h"
#include "sm/sass/copy.h"
#include "sm/sass/routine.h"
#include "sm/sass/sass.h"
#include "sm/scoreboard.h"
#include "sm/smcache.h"

#define NS_PER_MS     1000000u
#define MOST_SLEEP_NS (1u << 20)

/* A special register in one lane at cycle t. */
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
    case REGISTER_GLOBALTIMERLO: return t * 1000000 / sm->m->cfg->shader_khz;
    case REGISTER_GLOBALTIMERHI: return t * 1000000 / sm->m->cfg->shader_khz >> 32;
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

/* Where control bits are obeyed, a branch that nobody takes costs its stall count alone. */
static bool falls_through(const struct sm *sm, const struct warp *w, const struct uop *u,
                          uint32_t taken) {
    const struct program *p = sm->m->program;
    if (!p->control || &p->code[w->pc] != u + 1) return false;
    return u->sub == SASS_EXIT || (u->sub == SASS_BRA && !taken);
}

/* Look when the next instruction can issue, from that cycle on. */
static void go_on_at(struct sm *sm, uint32_t warp, uint64_t at) {
    if (sm->m->program->control) obey_refresh(sm, warp, at, WAIT_ALU);
    else warp_refresh(sm, warp, at, WAIT_ALU);
}

/* Whoever is active goes on, some perhaps where a branch leads; if nobody is, all have exited, or
 * they wait at the barrier of the block, or for each other for ever. */
static void go_on(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t taken, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    if (w->mask) {
        const uint64_t at = falls_through(sm, w, u, taken) ? t : t + sm->m->cfg->lat_bra;
        go_on_at(sm, warp, at);
    } else if (!w->live) {
        block_warp_exit(sm, warp, t);
    } else {
        w->mask = w->live; /* for who is told of what goes wrong */
        if (converge_gather(w)) barrier_arrive(sm, warp, &sm->m->program->code[w->pc], t);
        else sm_fault(sm, warp, (uint32_t)bits_lowest(w->live), t, ERROR_DIVERGENT_BARRIER);
    }
}

/* Sleep until a clock of so many nanoseconds ticks: of the least power of two that is more (h200:
 * naps.csv), a millisecond at most, as PTX has it. The lanes sleep that are not to let others go
 * on, or of whose warp no others can. */
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
    const uint64_t ticks = t * NS_PER_MS / cfg->shader_khz / tick + 1; /* kHz: clocks of a ms */
    const uint64_t wakes = (ticks * tick * cfg->shader_khz + NS_PER_MS - 1) / NS_PER_MS;
    if (wanted && wakes > at) at = wakes;
    go_on_at(sm, warp, at);
}

static uint32_t operand_predicate(const struct uop *u, const struct warp *w) {
    const uint32_t number = sass_pred(u, SHIFT_PS0), lanes = w->preds[number & 15];
    return number & SASS_NOT ? ~lanes : lanes;
}

/* Go on as arithmetic does: what it has written is there after its latency. */
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
    if (u->sub == SASS_BMOV) converge_restore(w, u->q, active, operand_row(&lanes, u->a));
    else
        converge_keep(w, u->q, active, u->imm & BMOV_DROPPED ? NULL : destination_row(&lanes, u->d),
                      u->imm & BMOV_CLEAR);
    advance(sm, warp, u, t);
}

/* Read what the last barrier that reduces has found, as a number and as a predicate. */
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

/* Call routines outside of the code for the lanes that go to one; they go on where they return to.
 */
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

/* Go where a register says; an address that is none of an instruction is a fault. */
static void jump(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    const struct lanes lanes = {w->rows, sm->m->program->uniforms, w->preds};
    const uint32_t *low = operand_row(&lanes, u->a);
    uint32_t target[32];
    for (uint32_t lane = 0; lane < 32; lane++) target[lane] = low[lane] + (uint32_t)u->imm;
    if (u->q == JUMP_ANYWHERE) call_routines(sm, warp, low, active, target, t);
    if (sm->fault.code != OK) return;
    for (uint32_t left = active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left), to = target[lane];
        const bool nowhere = !to && u->q != JUMP_INSIDE;
        target[lane] = to / INSN_BYTES;
        if (!(to % INSN_BYTES) && target[lane] < sm->m->program->count && !nowhere) continue;
        sm_fault(sm, warp, lane, t, nowhere ? ERROR_NULL_CALL : ERROR_BAD_JUMP);
        return;
    }
    for (uint32_t lane = 0; lane < 32; lane++)
        if (!(active >> lane & 1)) target[lane] = w->pc + 1;
    converge_scatter(w, target);
}

/* Routines outside see what the warp has stored: it waits for that, and issues the call again. */
static bool awaits_stores(struct sm *sm, uint32_t warp, const struct uop *u) {
    struct warp *w = &sm->warps[warp];
    if (u->q != JUMP_ANYWHERE || !w->accesses_pending) return false;
    w->state = WARP_FENCE;
    warp_sleep(sm, warp, WAIT_CREDITS);
    return true;
}

/* Which lanes of the active ones a branch takes: each for itself. Or the whole group if one of them
 * does, also lanes that a guard leaves out: loops go round so that find a uniform register for each
 * lane in turn, and what they write of these is for all. Or
 * the whole group if the active ones are not, or are, those that a mask names: where lanes have
 * masks of their own, compilers let only those that have the first one's be active. */
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

/* Wait for the lanes of a mask. */
static void synchronise(struct sm *sm, uint32_t warp, const struct uop *u,
                        const struct lanes *lanes) {
    struct warp *w = &sm->warps[warp];
    const uint32_t *of = operand_row(lanes, u->a), named = of[bits_lowest(w->mask)] & w->live;
    if (sm->check && !(named & ~converge_met(w, named))) check_syncwarp(sm, warp, named);
    if (u->sub == SASS_COLLECTIVE) converge_collect(w, of);
    else converge_sync(w, of, u->q);
}

/* May it name a predicate beside its guard? */
static bool has_predicate(uint32_t op) {
    return op == SASS_BSSY || op == SASS_BSYNC || op == SASS_BREAK || op == SASS_EXIT;
}

/* Does only a part of a group do this together? The others go on behind it. */
static bool is_for_some(uint32_t op) {
    return op == SASS_BSSY || op == SASS_BSYNC || op == SASS_YIELD || op == SASS_SLEEP ||
           op == SASS_WARPSYNC || op == SASS_COLLECTIVE || op == SASS_BAR;
}

void sass_control(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    const struct lanes lanes = {w->rows, sm->m->program->uniforms, w->preds};
    if (has_predicate(u->sub)) active &= operand_predicate(u, w);
    if (active && active != w->mask && is_for_some(u->sub)) converge_leave(w, active);
    switch (active || u->sub == SASS_BRA ? u->sub : SASS_COUNT) {
    case SASS_BRA:
        active = taken(u, w, &lanes, active);
        if (active && active != w->mask) sm->count.divergent_branches++;
        converge_branch(w, active, (uint32_t)u->imm);
        break;
    case SASS_CALL: converge_branch(w, active, (uint32_t)u->imm); break;
    case SASS_JUMP:
        if (awaits_stores(sm, warp, u)) return;
        jump(sm, warp, u, active, t);
        if (sm->fault.code != OK) return;
        t += sm->m->cfg->jump_clk;
        break;
    case SASS_EXIT:
        if (sm->check) check_exit(sm, warp, active);
        converge_exit(w, active);
        break;
    case SASS_BSSY: converge_enter(w, u->q); break;
    case SASS_BSYNC: converge_wait(w, u->q); break;
    case SASS_BREAK: converge_break(w, u->q, active); break;
    case SASS_YIELD:
        t += w->mask == w->live ? sm->m->cfg->yield_clk : sm->m->cfg->yield_parted;
        converge_yield(w);
        break;
    case SASS_SLEEP: sleep_until_tick(sm, warp, u, active, t); return;
    case SASS_ERRBAR:
        w->pc++;
        go_on_at(sm, warp, t + sm->m->cfg->errbar_clk);
        return;
    case SASS_IVALL: smcache_invalidate(sm), w->pc++; break;
    case SASS_WARPSYNC:
    case SASS_COLLECTIVE: synchronise(sm, warp, u, &lanes); break;
    case SASS_ENDCOLLECTIVE: converge_disperse(w, sm->m->program->code); break;
    case SASS_BAR:
        if (active == w->live) {
            barrier_arrive(sm, warp, u, t);
            return;
        }
        converge_block(w);
        break;
    case SASS_BMOV:
    case SASS_BMOV_READ: move_barrier(sm, warp, u, active, t); return;
    case SASS_S2R:
    case SASS_S2R_64: read_special(sm, warp, u, active, t); return;
    case SASS_LDGDEPBAR:
        if (sm->copies) copy_commit(sm, warp);
        advance(sm, warp, u, t);
        return;
    case SASS_DEPBAR:
        w->pc++;
        if (!sm->copies || copy_wait(sm, warp, u->q)) warp_refresh(sm, warp, t, WAIT_ALU);
        return;
    case SASS_B2R: read_reduced(sm, warp, u, active, t); return;
    case SASS_TRAP: sm_fault(sm, warp, bits_lowest(active), t, ERROR_TRAP); return;
    default: w->pc++; break;
    }
    go_on(sm, warp, u, active, t);
}

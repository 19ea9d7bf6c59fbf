#include "sm/issue.h"

#include <assert.h>

#include "base/bits.h"
#include "base/hints.h"
#include "sm/check.h"
#include "sm/control.h"
#include "sm/exec.h"
#include "sm/idle.h"
#include "sm/lsu.h"
#include "sm/obey.h"
#include "sm/sass/control.h"
#include "sm/sass/table.h"
#include "sm/scheduler.h"
#include "sm/scoreboard.h"

/* The active lanes that the instruction's guard lets take part. */
static uint32_t guarded(const struct warp *w, const struct uop *u) {
    if (!u->guard) return w->mask;
    const uint32_t p = w->preds[(u->guard & ~GUARD_NOT) - 1];
    return w->mask & (u->guard & GUARD_NOT ? ~p : p);
}

static void count_issue(struct sm *sm, uint32_t active) {
    sm->count.instructions++;
    sm->count.thread_instructions += active == ~0u ? 32 : bits_count(active);
}

/* Note an instruction that has issued in the counts per instruction and in the checks. */
NOINLINE static void note_issue(struct sm *sm, uint32_t warp, uint32_t pc, uint32_t active,
                                uint32_t mask) {
    if (sm->pc_count) {
        sm->pc_count[pc].issued++;
        sm->pc_count[pc].threads += bits_count(active);
    }
    const struct uop *u = &sm->m->program->code[pc];
    if (sm->check && u->flags & INSN_SYNCWARP_BEHIND) check_syncwarp(sm, warp, mask);
    if (sm->check && u->op == OP_MEMBAR && active) check_fence(sm, warp);
}

/* Do what only few operations need (`needs`); false if the instruction divides by zero. */
NOINLINE static bool issue_needs(struct sm *sm, uint32_t warp, const struct uop *u,
                                 const struct lanes *lanes, uint32_t active, uint64_t t,
                                 bool obedient) {
    struct warp *w = &sm->warps[warp];
    uint32_t lane;
    if ((u->needs & NEED_DIVISOR) && divides_by_zero(u, lanes, active, &lane)) {
        sm_fault(sm, warp, lane, t, ERROR_DIVISION_BY_ZERO);
        return false;
    }
    if (obedient) return true;
    if (u->needs & NEED_HIGH) {
        w->ready[u->dh] = t + u->latency;
        w->producer[u->dh] = WAIT_ALU;
    }
    for (uint32_t i = 1; (u->needs & NEED_GROUP) && i < u->dst_count; i++) {
        w->ready[u->dst + i] = t + u->latency;
        w->producer[u->dst + i] = WAIT_ALU;
    }
    if (u->needs & NEED_PREDS) sass_await(sm, warp, u, t + u->latency);
    return true;
}

static ALWAYS_INLINE bool issue_alu(struct sm *sm, uint32_t warp, const struct uop *u,
                                    uint32_t active, uint64_t t, const bool obedient) {
    struct warp *w = &sm->warps[warp];
    const struct lanes lanes = {w->rows, sm->m->program->uniforms, w->preds};
    if (u->needs && !issue_needs(sm, warp, u, &lanes, active, t, obedient)) return false;
    assert(exec_table[u->op]);
    if (obedient && active && u->op == OP_SASS) exec_sass(u, &lanes, active);
    else if (active) exec_table[u->op](u, &lanes, active);
    if (u->dst_count && !obedient) { /* otherwise control bits say when it can be read */
        w->ready[u->dst] = t + u->latency;
        w->producer[u->dst] = u->path == PATH_LANES ? WAIT_SHARED : WAIT_ALU;
    }
    warp_goto(w, w->pc + 1);
    if (obedient) obey_refresh(sm, warp, t, WAIT_ALU);
    else warp_refresh(sm, warp, t, WAIT_ALU);
    return true;
}

/* Hold the unit that an instruction takes, and return which one that is. */
static ALWAYS_INLINE uint32_t take_unit(struct sm *sm, const struct subcore *s, const struct uop *u,
                                        uint64_t t, const bool special) {
    uint32_t unit = u->unit, interval = u->interval;
    if (unit == UNIT_EITHER) {
        const uint8_t *either = sm->m->program->either;
        const bool busy = sm->units.free[s->unit[either[0]]] > t;
        unit = either[busy];
        if (busy) interval = sm->m->cfg->fmul_on_sfu;
    }
    if (special) subcore_take(sm, s, unit, t + interval);
    else sm->units.free[s->unit[unit]] = t + interval;
    return unit;
}

/* Account for the scheduler's time up to a cycle as spent on issuing. */
static void spend(struct sm *sm, uint64_t until) {
    if (until <= sm->paid) return;
    sm->count.issue_cycles += until - sm->paid;
    sm->paid = until;
}

/* Under sfu_slots: keep the slot halfway to the next one for the SFU. */
NOINLINE static void keep_slot(struct sm *sm, const struct subcore *s, uint64_t t) {
    const uint64_t next = t + sm->m->cfg->issue_interval;
    for (uint32_t unit = 0; unit < sm->units.kinds; unit++)
        if (unit != sm->units.sfu) subcore_hold(sm, s, unit, next);
    spend(sm, next);
}

/* Issue the warp's next instruction. False if it has to wait after all, as a memory access may for
 * credits, or if it has faulted. The constant arguments say which cases the caller is compiled for:
 * counts or checks are on, the SFU has slots, a unit can be one of several, control bits are
 * obeyed. */
static ALWAYS_INLINE bool issue(struct sm *sm, const struct subcore *s, uint32_t warp, uint64_t t,
                                const bool observed, const bool sfu_slots, const bool special,
                                const bool obedient) {
    const struct warp *w = &sm->warps[warp];
    const uint32_t pc = w->pc;
    const struct uop *u = &sm->m->program->code[pc];
    const uint32_t active = guarded(w, u), mask = w->mask;
    if (observed && u->flags & INSN_SYNCWARP && sm->check) check_syncwarp(sm, warp, mask);
    if (u->path == PATH_MEMORY) {
        if (!lsu_issue(sm, s, warp, u, active, t)) return false;
        if (sfu_slots) keep_slot(sm, s, t);
        count_issue(sm, active);
        if (observed) note_issue(sm, warp, pc, active, mask);
        return true;
    }
    const uint32_t unit = take_unit(sm, s, u, t, special);
    if (sfu_slots && unit != sm->units.sfu && u->path != PATH_LANES) keep_slot(sm, s, t);
    count_issue(sm, active);
    if (observed) note_issue(sm, warp, pc, active, mask);
    if (u->path == PATH_CONTROL) return issue_control(sm, warp, u, active, t);
    return issue_alu(sm, warp, u, active, t, obedient);
}

/* A scheduler takes a unit that others share. Schedulers that have chosen a warp for that unit must
 * choose again; the choice of all others stays right. Schedulers take such a unit in turn, as in
 * GPGPU-Sim 4, whose order of schedulers changes from cycle to cycle: next time the one behind the
 * last taker goes first. */
static ALWAYS_INLINE void take_shared(struct sm *sm, uint32_t index, uint32_t taken) {
    const uint32_t schedulers = sm->m->cfg->schedulers;
    for (uint32_t s = 0; s < schedulers; s++)
        if (sm->subcores[s].choice.shared & taken) sm->stale |= 1u << s;
    sm->turn = index + 1 == schedulers ? 0 : index + 1;
}

/* Must a warp that has issued let slots pass before it does so again? */
static bool holds_warps(const struct config *cfg) {
    return cfg->warp_interval > cfg->issue_interval;
}

/* The warp has issued, and may not do so again before that cycle. */
static void hold_warp(struct sm *sm, uint32_t warp, uint64_t at) {
    sm->held[warp] = at; /* what the warp sleeps for may come before `at` */
    if (sm->ready_at[warp] < at) warp_wait(sm, warp, at, WAIT_UNIT);
}

/* Dual issue: let the warp issue another instruction in the same slot. */
NOINLINE static void issue_second(struct sm *sm, const struct subcore *s, uint32_t warp, uint64_t t,
                                  bool observed, bool sfu_slots) {
    if (issue(sm, s, warp, t, observed, sfu_slots, true, false)) sm->count.dual_issued++;
}

static ALWAYS_INLINE void take_slot(struct sm *sm, uint32_t index, const bool observed,
                                    const bool special, const bool obedient) {
    const struct config *cfg = sm->m->cfg;
    const bool sfu_slots = special && cfg->sfu_slots;
    struct subcore *s = &sm->subcores[index];
    const struct choice c = s->choice;
    const uint64_t paid = sfu_slots ? sm->paid : s->slot;
    assert(c.t >= s->slot && sched_can_issue(sm, s, c.warp, c.t));
    sm->stale |= special && cfg->issue_width > 1 ? ~0u : 1u << index;
    if (c.shared) take_shared(sm, index, c.shared);
    if (c.t > paid) idle_account(sm, c.warp, paid, c.t);
    if (sfu_slots && c.t > paid) sm->paid = c.t;
    s->slot = c.t;
    const uint32_t late = obedient ? obey_issue(sm, s, c.warp, c.t) : 0;
    if (issue(sm, s, c.warp, c.t, observed, sfu_slots, special, obedient)) {
        s->slot = c.t + (cfg->issue_interval >> sfu_slots) + late;
        if (obedient) sm->count.idle_unit += late;
        s->last = c.warp;
        if (sfu_slots) spend(sm, s->slot);
        else sm->count.issue_cycles += cfg->issue_interval;
        if (sm->policy->issued) sm->policy->issued(sm, s);
        if (special && !obedient && cfg->issue_width > 1 && sched_can_issue(sm, s, c.warp, c.t) &&
            sm->fault.code == OK)
            issue_second(sm, s, c.warp, c.t, observed, sfu_slots);
    }
    if (obedient && s->slot == c.t) obey_retract(sm, c.warp);
    if (special && !obedient && holds_warps(cfg)) hold_warp(sm, c.warp, c.t + cfg->warp_interval);
}

/* The scheduler that issues next: the earliest one and, of several, the first from `turn` on. */
static ALWAYS_INLINE uint32_t next_scheduler(struct sm *sm, uint32_t schedulers) {
    uint32_t index = 0;
    if (sm->stale & 1u) sm->policy->pick(sm, &sm->subcores[0]);
    uint64_t first = sm->subcores[0].choice.t;
    for (uint32_t s = 1; s < schedulers; s++) {
        if (sm->stale >> s & 1) sm->policy->pick(sm, &sm->subcores[s]);
        const uint64_t at = sm->subcores[s].choice.t;
        if (at > first || (at == first && (index >= sm->turn || sm->turn > s))) continue;
        first = at;
        index = s;
    }
    sm->stale = 0;
    return index;
}

/* The same where there are MAX_SUBCORES of them and it is the first one's turn: without branches,
 * which the host could not predict. */
static ALWAYS_INLINE uint32_t next_of_four(struct sm *sm) {
    for (uint32_t left = sm->stale & ((1u << MAX_SUBCORES) - 1); left; left &= left - 1)
        sm->policy->pick(sm, &sm->subcores[bits_lowest(left)]);
    sm->stale = 0;
    uint32_t index = 0;
    uint64_t first = sm->subcores[0].choice.t;
    for (uint32_t s = 1; s < MAX_SUBCORES; s++) {
        const uint64_t at = sm->subcores[s].choice.t;
        index = at < first ? s : index;
        first = at < first ? at : first;
    }
    return index;
}

static ALWAYS_INLINE uint64_t take_slots(struct sm *sm, const bool observed, const bool special,
                                         const bool obedient) {
    const uint32_t schedulers = sm->m->cfg->schedulers;
    for (;;) {
        const bool four = obedient && schedulers == MAX_SUBCORES && !sm->turn;
        const uint32_t index = four ? next_of_four(sm) : next_scheduler(sm, schedulers);
        const uint64_t t = sm->subcores[index].choice.t;
        if (t >= sm->reach || t >= sm_event(sm) || sm->fault.code != OK) return t;
        assert(t >= sm->now);
        sm->now = t;
        take_slot(sm, index, observed, special, obedient);
    }
}

/* ---- arithmetic of compiled code --------------------------------------------------------- */

/* Note that the warp can issue its next instruction at a cycle. If that is the scheduler's next
 * slot, and the policy would choose the warp again, the choice is made here, without looking at
 * others. */
static ALWAYS_INLINE void ready_behind(struct sm *sm, uint32_t index, uint32_t warp, uint64_t at,
                                       uint32_t unit) {
    struct subcore *s = &sm->subcores[index];
    const uint64_t bit = 1ull << warp;
    sm->ready_at[warp] = at;
    sm->wait[warp] = WAIT_ALU;
    if (at > s->slot) {
        s->ready &= ~bit;
        s->waiting |= bit;
        if (at < s->wake) s->wake = at;
    } else {
        s->ready |= bit;
        s->waiting &= ~bit;
        if (sm->policy->keeps && !s->turned && sm->units.free[s->unit[unit]] <= s->slot) {
            s->choice = (struct choice){s->slot, warp, s->shared[unit]};
            return;
        }
    }
    sm->stale |= 1u << index;
}

/* Issue the instruction that the sub-core has chosen, which is simple (control_bits.h). False if
 * the cycle of the SM's next event may have changed, since the warp's next instruction or its
 * constant operand had to be asked for. Values are computed last, as nothing here depends on them:
 * so few registers of the host must be saved over the call. */
static ALWAYS_INLINE bool issue_simple(struct sm *sm, uint32_t index, struct warp *w, uint32_t pc,
                                       const struct program *p, uint64_t t) {
    struct subcore *s = &sm->subcores[index];
    const struct control_bits *bits = &p->control[pc];
    const struct uop *u = &p->code[pc];
    const uint32_t warp = s->choice.warp;
    assert(t >= s->slot && sched_can_issue(sm, s, warp, t));
    if (s->choice.shared) take_shared(sm, index, s->choice.shared);
    if (t > s->slot) idle_account(sm, warp, s->slot, t);
    if (bits->counts) obey_count(sm, warp, bits, t);
    const struct config *cfg = sm->m->cfg;
    const uint32_t late = obey_read(s, bits, warp, pc, t, cfg->read_ports);
    const uint32_t active = guarded(w, u);
    bool fetched = true;
    sm->units.free[s->unit[u->unit]] = t + u->interval;
    count_issue(sm, active);
    sm->count.idle_unit += late;
    sm->count.issue_cycles += cfg->issue_interval;
    s->slot = t + cfg->issue_interval + late;
    s->last = warp;
    sm->held[warp] = t + bits->stall;
    w->pc = pc + 1;
    if (bits[1].follows) {
        if (bits[1].unit != u->unit) warp_wants(sm, warp, bits[1].unit);
        obey_prefetch(w, bits + 1);
        ready_behind(sm, index, warp, t + bits->stall, bits[1].unit);
    } else {
        fetched = bits[1].piece == sm->fetched[warp & sm->fetch_mask] &&
                  (!bits[1].line || operands_there(sm, warp, bits[1].line - 1u));
        sm->stale |= 1u << index;
        obey_refresh(sm, warp, t, WAIT_ALU);
    }
    const struct lanes lanes = {w->rows, p->uniforms, w->preds};
    if (active) exec_sass(u, &lanes, active);
    return fetched;
}

NOINLINE static void take_obedient(struct sm *sm, uint32_t index) {
    take_slot(sm, index, false, false, true);
}

/* take_slots for compiled code on most machines, where simple instructions have a path of their
 * own. */
static ALWAYS_INLINE uint64_t take_simple_slots(struct sm *sm) {
    const struct program *p = sm->m->program;
    const uint32_t schedulers = sm->m->cfg->schedulers;
    bool calm = false; /* `until` is still right: the SM's next event has not changed */
    for (uint64_t until = 0;;) {
        const bool four = schedulers == MAX_SUBCORES && !sm->turn;
        const uint32_t index = four ? next_of_four(sm) : next_scheduler(sm, schedulers);
        const uint64_t t = sm->subcores[index].choice.t;
        if (!calm) {
            const uint64_t event = sm_event(sm);
            until = sm->fault.code != OK ? 0 : event < sm->reach ? event : sm->reach;
        }
        if (t >= until) return t;
        assert(t >= sm->now);
        sm->now = t;
        struct warp *w = &sm->warps[sm->subcores[index].choice.warp];
        const uint32_t pc = w->pc;
        if (p->control[pc].simple) calm = issue_simple(sm, index, w, pc, p, t);
        else calm = false, take_obedient(sm, index);
    }
}

/* ---- values ------------------------------------------------------------------------------ */

/* The most instructions that a warp runs on for: it may spin until another warp has gone on. */
#define TURN 4096u

/* Let a warp run on until it waits, ends, or has had its turn, as if instructions took no time. */
static void run_on(struct sm *sm, uint32_t warp, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    const struct subcore *s = &sm->subcores[sm->subcore_of[warp]];
    const struct lanes lanes = {w->rows, sm->m->program->uniforms, w->preds};
    bool good = true;
    for (uint32_t n = 0; n < TURN && good && w->state == WARP_RUNNING; n++) {
        const struct uop *u = &sm->m->program->code[w->pc];
        const uint32_t active = guarded(w, u);
        count_issue(sm, active);
        if (u->path == PATH_MEMORY) {
            good = lsu_issue(sm, s, warp, u, active, t);
        } else if (u->path == PATH_CONTROL) {
            good = issue_control(sm, warp, u, active, t);
        } else {
            if (u->needs) good = issue_needs(sm, warp, u, &lanes, active, t, true);
            if (good && active) exec_table[u->op](u, &lanes, active);
            if (good) warp_goto(w, w->pc + 1);
        }
    }
}

/* The issue loop where only values count, not time: warps run on one after the other, each turn in
 * a clock of its own. */
static uint64_t values(struct sm *sm) {
    struct subcore *s = &sm->subcores[0]; /* its slot is that of all */
    for (uint32_t idle = 0; idle < MAX_WARPS; idle++) {
        s->last = (s->last + 1) % MAX_WARPS;
        if (sm->warps[s->last].state != WARP_RUNNING) continue;
        if (s->slot < sm->now) s->slot = sm->now;
        if (s->slot >= sm->reach || s->slot >= sm_event(sm)) return s->slot;
        sm->now = s->slot++;
        run_on(sm, s->last, sm->now);
        if (sm->fault.code != OK) return sm->now;
        idle = 0;
    }
    return NEVER;
}

/* The issue loop compiled for each case, since these are the hottest lines of the simulator. Most
 * machines have no slots of the SFU, issue one instruction at a time and let a warp issue in each
 * slot; few obey control bits; and most runs have neither counts per instruction nor checks. */
static uint64_t plain(struct sm *sm) { return take_slots(sm, false, false, false); }
static uint64_t watched(struct sm *sm) { return take_slots(sm, true, false, false); }
static uint64_t special(struct sm *sm) { return take_slots(sm, false, true, false); }
static uint64_t special_watched(struct sm *sm) { return take_slots(sm, true, true, false); }
static uint64_t obedient(struct sm *sm) { return take_simple_slots(sm); }
static uint64_t obedient_special(struct sm *sm) { return take_slots(sm, false, true, true); }
static uint64_t obedient_watched(struct sm *sm) { return take_slots(sm, true, true, true); }

issue_slots *issue_of(const struct sm *sm) {
    const struct config *cfg = sm->m->cfg;
    if (sm->m->values) return values;
    const bool usual = !cfg->sfu_slots && cfg->issue_width <= 1 && !sm->units.several &&
                       !(sm->m->program->control && sm->policy->issued);
    if (sm->m->program->control)
        return sm->observed ? obedient_watched : usual ? obedient : obedient_special;
    if (!usual || holds_warps(cfg)) return sm->observed ? special_watched : special;
    return sm->observed ? watched : plain;
}

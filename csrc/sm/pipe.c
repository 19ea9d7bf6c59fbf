#include "sm/pipe.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "base/hints.h"
#include "kernel/control_bits.h"
#include "memory/coalesce.h"
#include "sm/memop.h"
#include "sm/scheduler.h"
#include "sm/send.h"

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* pipe_leave, to be inlined in this file. */
static ALWAYS_INLINE uint64_t leave(const struct sm *sm, uint32_t core, uint64_t t) {
    const struct pipe *p = &sm->pipe;
    const uint32_t room = sm->m->cfg->pipe_queue;
    const uint64_t at = later(t, p->free[core]);
    return p->begun < room ? at : later(at, p->begins[(p->begun - room) % MOST_WAITING]);
}

/* Does the access take the path to memory instead of the banks? Stores to global and local memory
 * do. */
static bool goes_out(const struct uop *u) { return u->op == OP_ST_GLOBAL || u->op == OP_ST_LOCAL; }

/* ---- the banks --------------------------------------------------------------------------- */

/* An access takes the first clocks that are free, also between those which accesses of other
 * sub-cores have taken that issued before it. */

/* The first clock that the ring of busy clocks does not reach. */
static uint64_t horizon(const struct pipe *p) { return (p->known + BANK_WORDS) * 64; }

/* The word of busy clocks that clock t belongs to, where the clocks before t count as busy. */
static uint64_t taken_from(const struct pipe *p, uint64_t t) {
    return p->taken[t / 64 % BANK_WORDS] | ((1ull << t % 64) - 1);
}

NOINLINE static uint64_t later_clock(const struct pipe *p, uint64_t t) {
    while (t < horizon(p)) {
        const uint64_t taken = t / 64 < p->known ? 0 : taken_from(p, t);
        if (~taken) return t / 64 * 64 + (uint32_t)__builtin_ctzll(~taken);
        t = (t / 64 + 1) * 64;
    }
    return t;
}

/* The first clock from t on in which the banks are free. */
static ALWAYS_INLINE uint64_t first_clock(const struct pipe *p, uint64_t t) {
    t = later(t, p->solid);
    if (t / 64 - p->known < BANK_WORDS && !(p->taken[t / 64 % BANK_WORDS] >> t % 64 & 1)) return t;
    return later_clock(p, t);
}

/* Forget the clocks before `now`, so that their words can be used for clocks to come. */
static void forget_before(struct pipe *p, uint64_t now) {
    const uint64_t word = now / 64;
    if (word >= p->known + BANK_WORDS) {
        memset(p->taken, 0, sizeof p->taken);
        p->known = word;
    }
    for (; p->known < word; p->known++) p->taken[p->known % BANK_WORDS] = 0;
}

/* Take the first `count` free clocks from t on, run by run, and return the last of them. Beyond the
 * ring only one limit is kept (`solid`), so that all clocks up to there count as busy. */
static ALWAYS_INLINE uint64_t take_clocks(struct pipe *p, uint64_t t, uint32_t count) {
    assert(t / 64 >= p->known); /* nothing issues before now */
    while (count) {
        t = first_clock(p, t);
        if (t >= horizon(p)) return (p->solid = t + count) - 1;
        uint64_t *word = &p->taken[t / 64 % BANK_WORDS];
        const uint64_t behind = *word >> t % 64;
        const uint32_t room = behind ? bits_lowest64(behind) : 64 - (uint32_t)(t % 64),
                       run = room < count ? room : count;
        *word |= ~0ull >> (64 - run) << t % 64;
        t += run;
        count -= run;
    }
    return t - 1;
}

/* ---- the queues -------------------------------------------------------------------------- */

uint64_t pipe_leave(const struct sm *sm, uint32_t core, uint64_t t) { return leave(sm, core, t); }

uint64_t pipe_begin(const struct sm *sm, uint32_t core, const struct uop *u, uint64_t t) {
    const struct pipe *p = &sm->pipe;
    const uint64_t at = leave(sm, core, t);
    if (goes_out(u)) return later(at, p->out);
    return first_clock(p, later(at, p->back[core]));
}

uint32_t pipe_late(const struct config *cfg, uint32_t passes, uint32_t words) {
    return (passes ? passes - 1 : 0) * cfg->pass_late + (words ? words - 1 : 0) * cfg->word_late;
}

uint32_t pipe_store_clocks(const struct memop *op, uint32_t lanes) {
    struct segment line[COALESCE_MAX_SEGMENTS];
    const uint32_t lines = coalesce_lines(op->addr, lanes, 128, line);
    return lines > 2 ? lines : 2;
}

static bool is_shared(const struct uop *u) {
    return u->op == OP_LD_SHARED || u->op == OP_ST_SHARED || u->op == OP_ATOM_SHARED;
}

/* For how many clocks an access keeps the one behind it in the sub-core's queue: until its address
 * and data have left. */
static uint32_t drain(const struct config *cfg, const struct uop *u) {
    const uint32_t address = is_shared(u) ? cfg->drain_shared : cfg->drain_global;
    return address + control_data(u) * cfg->drain_data;
}

/* Is the access that has just come the only one in its sub-core's queue? */
static bool is_alone(const struct pipe *p, uint32_t core, uint64_t now) {
    return p->count[core] < 2 || p->leaves[core][(p->count[core] - 2) % MOST_QUEUED] <= now;
}

/* A warp has issued an access. If that has filled the queue, warps take turns until the queue has
 * been empty: this one has had its turn, and comes again after all others have. */
static void turn(struct subcore *core, const struct uop *u, uint32_t warp, bool full) {
    const uint64_t bit = 1ull << warp;
    core->queued = u->unit;
    core->turned = !full ? 0 : core->turned & bit ? bit : core->turned | bit;
}

void pipe_take(struct memop *op, uint32_t busy, uint32_t passes) {
    struct sm *sm = op->sm;
    struct pipe *p = &sm->pipe;
    const struct config *cfg = sm->m->cfg;
    const uint32_t core = sm->subcore_of[op->warp], room = cfg->lsu_queue;
    const uint64_t at = leave(sm, core, sm->now);
    const bool out = goes_out(op->u);
    uint64_t free = sm->now + 1;
    p->free[core] = at + drain(cfg, op->u);
    p->leaves[core][p->count[core]++ % MOST_QUEUED] = at + cfg->lsu_front;
    p->begins[p->begun++ % MOST_WAITING] = op->t;
    if (out) {
        p->out = later(later(p->out, op->t) + busy, send_entered(sm));
    } else if (busy) {
        forget_before(p, sm->now);
        op->t = take_clocks(p, op->t, busy) + 1 - busy;
        p->back[core] = op->t + busy;
    }
    /* A sub-core takes the banks every other clock at most; reductions only look lines up. */
    if (op->u->dst_count)
        p->back[core] =
            later(p->back[core], op->t + later(cfg->pass_least, passes * cfg->pass_late));
    else if (is_shared(op->u) && passes > 1)
        p->back[core] = later(p->back[core], op->t + passes * cfg->pass_late);
    if (p->count[core] >= room)
        free = later(free, p->leaves[core][(p->count[core] - room) % MOST_QUEUED]);
    if (out) {
        struct subcore *own = &sm->subcores[core];
        const bool waits = send_waits(sm);
        if (waits) free = later(free, p->free[core]); /* the next one moves up */
        const bool full = waits || free > sm->now + 1 || !send_has_room(sm, busy);
        turn(own, op->u, op->warp, full || (own->turned && !is_alone(p, core, sm->now)));
    }
    subcore_take(sm, op->core, op->u->unit, free);
}

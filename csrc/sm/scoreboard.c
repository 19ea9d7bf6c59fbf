#include "sm/scoreboard.h"

#include "base/hints.h"
#include "sm/obey.h"

bool opens_region(const struct sm *sm, const struct uop *u) {
    if (u->op == OP_SASS_CONTROL)
        return sm->m->dynamic && u->sub == SASS_BAR && u->q == BARRIER_ALLOC;
    return u->op == OP_BAR_SYNC &&
           ((u->flags & INSN_ISOLATE) || (u->sub == BAR_ALLOC && sm->m->dynamic));
}

/* Registers that the warp's next instruction waits for, side by side. */
static void await_run(const struct warp *w, uint32_t first, uint32_t last, uint64_t *at,
                      enum wait *kind) {
    for (uint32_t id = first; id <= last; id++)
        if (w->ready[id] > *at) {
            *at = w->ready[id];
            *kind = (enum wait)w->producer[id];
        }
}

NOINLINE static void refresh_many(struct sm *sm, uint32_t warp, uint64_t floor, enum wait kind) {
    const struct warp *w = &sm->warps[warp];
    const struct deps *deps = &sm->m->program->deps[w->pc];
    const uint32_t piece = deps->piece & ~PIECE_MANY;
    if (piece != sm->fetched[warp & sm->fetch_mask] && !warp_fetches(sm, warp, piece, floor))
        return;
    uint64_t at = floor;
    for (uint32_t i = 0; i < deps->count; i++) await_run(w, deps->id[i], deps->id[i], &at, &kind);
    for (uint32_t i = DEPS - deps->groups; i < DEPS; i++) {
        const uint32_t first = deps->id[i] & ((1u << GROUP_SHIFT) - 1);
        await_run(w, first, first + (deps->id[i] >> GROUP_SHIFT), &at, &kind);
    }
    warp_await(sm, warp, &sm->m->program->code[w->pc], at, kind);
}

void warp_refresh_special(struct sm *sm, uint32_t warp, uint64_t floor, enum wait kind) {
    if (sm->m->program->control) obey_refresh(sm, warp, floor, kind);
    else refresh_many(sm, warp, floor, kind);
}

/* ---- what holds of an SM between two of its events, checked with SMMUX_CHECK --------------- */

#ifdef SMMUX_CHECK

#include <assert.h>

#include "base/bits.h"

/* ---- warps ------------------------------------------------------------------------------- */

/* A warp sleeps, waits until a cycle that its scheduler knows, or is ready; only running ones do
 * not sleep. */
static void check_wait(const struct sm *sm, uint32_t warp) {
    const struct subcore *s = &sm->subcores[sm->subcore_of[warp]];
    const bool ready = s->ready >> warp & 1, waiting = s->waiting >> warp & 1;
    assert(!(ready && waiting));
    assert((ready || waiting) == (sm->ready_at[warp] != NEVER));
    assert(!ready || sm->ready_at[warp] <= s->slot);
    assert(!waiting || sm->ready_at[warp] >= s->wake);
    assert(sm->ready_at[warp] == NEVER || sm->warps[warp].state == WARP_RUNNING);
    assert(sm->wait[warp] < WAIT_COUNT);
}

/* A running warp has lanes, and its scheduler knows which unit it wants next. */
static void check_running(const struct sm *sm, uint32_t warp) {
    const struct warp *w = &sm->warps[warp];
    assert(w->mask && !(w->mask & ~w->live));
    assert(w->pc < sm->m->program->count);
    assert(sm->users[sm->next_unit[warp]] >> warp & 1);
}

static void check_warp(const struct sm *sm, uint32_t warp) {
    const struct warp *w = &sm->warps[warp];
    check_wait(sm, warp);
    assert(w->depth <= STACK_DEPTH && w->loads_pending <= w->accesses_pending);
    assert(w->state != WARP_FENCE || w->accesses_pending);
    assert(w->state == WARP_FREE || warp < sm->warp_limit);
    if (w->state == WARP_RUNNING) check_running(sm, warp);
    if (sm->starved >> warp & 1)
        assert(sm->ready_at[warp] == NEVER && sm->wait[warp] == WAIT_CREDITS);
}

/* ---- blocks ------------------------------------------------------------------------------ */

static bool is_queued(const struct sm *sm, uint32_t slot) {
    for (uint32_t i = 0; i < sm->queue_count; i++)
        if (sm->queue[i] == slot) return true;
    return false;
}

/* Returns how many accesses of the block are on their way. */
static uint32_t check_block(const struct sm *sm, uint32_t slot) {
    const struct block *b = &sm->blocks[slot];
    uint32_t live = 0, arrived = 0, accesses = 0;
    assert(bits_count64(b->warp_slots) == sm->m->warps_per_block);
    for (uint64_t left = b->warp_slots; left; left &= left - 1) {
        const struct warp *w = &sm->warps[__builtin_ctzll(left)];
        assert(w->block == slot && w->state != WARP_FREE);
        assert((w->state == WARP_STARTING) == !b->started);
        live += w->state != WARP_EXITED;
        arrived += w->state == WARP_BARRIER;
        accesses += w->accesses_pending;
    }
    assert(live == b->warps_live && accesses == b->accesses_pending);
    assert(live || accesses || b->tile_pending); /* else it has ended */
    assert(!(b->started && b->held));
    assert(is_queued(sm, slot) ? b->arrived == 0
                               : (b->started || b->held) && arrived == b->arrived);
    return accesses;
}

/* Blocks hold warps of their own, and those that have started stand in the order of age. */
static uint32_t check_blocks(const struct sm *sm) {
    uint64_t held = 0, started = 0;
    uint32_t accesses = 0;
    for (uint32_t slot = 0; slot < MAX_BLOCKS; slot++) {
        const struct block *b = &sm->blocks[slot];
        if (!b->used) continue;
        assert(!(held & b->warp_slots));
        held |= b->warp_slots;
        if (b->started) started |= b->warp_slots;
        accesses += check_block(sm, slot);
    }
    for (uint32_t i = 0; i < sm->order_count; i++) {
        assert(sm->order[i] && !(sm->order[i] & ~started));
        started &= ~sm->order[i];
    }
    assert(!started);
    return accesses;
}

/* ---- the SM ------------------------------------------------------------------------------ */

/* Transactions on their way have taken credits, and nobody else has. */
static void check_credits(const struct sm *sm, uint32_t accesses) {
    const int32_t credits = (int32_t)sm->m->cfg->credits;
    assert(sm->credits <= credits - (int32_t)accesses);
    assert(accesses || sm->credits == credits);
}

static void check_events(const struct sm *sm) {
    assert(sm->reply_first <= sm->reply_end && sm->reply_end <= sm->port->in_capacity);
    for (uint32_t i = sm->reply_first + 1; i < sm->reply_end; i++)
        assert(sm->replies[i - 1].cycle <= sm->replies[i].cycle);
    for (uint32_t i = 1; i < sm->pending_count; i++)
        assert(sm->pending[i - 1].cycle <= sm->pending[i].cycle);
    for (uint32_t i = 1; i < sm->finished_count; i++)
        assert(sm->finished[i - 1] <= sm->finished[i]);
}

void scoreboard_check(const struct sm *sm) {
    uint64_t users = 0;
    for (uint32_t unit = 0; unit < UNIT_COUNT; unit++) {
        assert(!(users & sm->users[unit]));
        users |= sm->users[unit];
    }
    assert(!(sm->starved & ~sm->claiming));
    for (uint32_t w = 0; w < sm->m->cfg->max_warps_sm; w++) check_warp(sm, w);
    check_credits(sm, check_blocks(sm) + sm->late);
    check_events(sm);
    port_check(sm->port);
}

#endif

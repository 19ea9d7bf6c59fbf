/* The scoreboard: when a warp can issue its next instruction, as far as that does not depend on
 * other warps. */
#ifndef SMMUX_SCOREBOARD_H
#define SMMUX_SCOREBOARD_H

#include <assert.h>

#include "sm/sm.h"

/* Check all that holds of an SM without a fault between two of its events (scoreboard.c). */
#ifdef SMMUX_CHECK
void scoreboard_check(const struct sm *sm);
#else
static inline void scoreboard_check(const struct sm *sm) { (void)sm; }
#endif

/* Let a warp sleep until an event wakes it, whose cycle is not known yet. */
static inline void warp_sleep(struct sm *sm, uint32_t warp, enum wait kind) {
    struct subcore *s = &sm->subcores[sm->subcore_of[warp]];
    s->ready &= ~(1ull << warp);
    s->waiting &= ~(1ull << warp);
    sm->stale |= 1u << sm->subcore_of[warp];
    sm->ready_at[warp] = NEVER;
    sm->wait[warp] = (uint8_t)kind;
}

/* Does the warp sleep until its next instruction, or that instruction's constant operand, is
 * fetched? */
static inline bool warp_is_fetching(const struct sm *sm, uint32_t warp) {
    return sm->wait[warp] == WAIT_FETCH && sm->ready_at[warp] == NEVER &&
           sm->warps[warp].state == WARP_RUNNING;
}

/* Let a warp wait, for the reason given, until a cycle at which it can issue. */
static inline void warp_wait(struct sm *sm, uint32_t warp, uint64_t at, enum wait kind) {
    assert(at != NEVER && sm->warps[warp].state == WARP_RUNNING);
    struct subcore *s = &sm->subcores[sm->subcore_of[warp]];
    const uint64_t bit = 1ull << warp;
    if (at < sm->held[warp]) at = sm->held[warp];
    sm->stale |= 1u << sm->subcore_of[warp];
    sm->ready_at[warp] = at;
    sm->wait[warp] = (uint8_t)kind;
    if (at <= s->slot) {
        s->ready |= bit;
        s->waiting &= ~bit;
    } else {
        s->ready &= ~bit;
        s->waiting |= bit;
        if (at < s->wake) s->wake = at;
    }
}

/* Must the warp's loads be back before this control instruction? So it is before a barrier that
 * allocates, under dynamic management, and before one that isolates a region (Figure 1): otherwise
 * the region would contain the wait for loads that were issued in front of it, and loading them
 * early would gain nothing. */
bool opens_region(const struct sm *sm, const struct uop *u);

/* Let the warp wait until `at`, when the operands of its next instruction are there, for reason
 * `kind`. */
static inline void warp_await(struct sm *sm, uint32_t warp, const struct uop *u, uint64_t at,
                              enum wait kind) {
    if (u->path == PATH_CONTROL && sm->warps[warp].loads_pending && opens_region(sm, u))
        warp_sleep(sm, warp, WAIT_GLOBAL);
    else if (at == READY_PENDING) warp_sleep(sm, warp, kind);
    else warp_wait(sm, warp, at, kind);
}

/* Note which unit the warp's next instruction takes. */
static inline void warp_wants(struct sm *sm, uint32_t warp, uint32_t unit) {
    sm->users[sm->next_unit[warp]] &= ~(1ull << warp);
    sm->users[unit] |= 1ull << warp;
    sm->next_unit[warp] = (uint8_t)unit;
}

/* warp_refresh for instructions with groups of registers, with more than FEW_DEPS operands, or with
 * control bits. */
void warp_refresh_special(struct sm *sm, uint32_t warp, uint64_t floor, enum wait kind);
/* Has the warp that piece of the program? If not, it sleeps until it has. */
static inline bool warp_fetches(struct sm *sm, uint32_t warp, uint32_t piece, uint64_t floor) {
    if (fetch_piece(sm, warp, piece)) return true;
    sm->floor[warp] = floor;
    warp_sleep(sm, warp, WAIT_FETCH);
    return false;
}

/* Find out from which cycle on a warp can issue, and what it waits for until then. To be called
 * when the warp has a new next instruction, or when something that it waited for has happened. It
 * does not issue before `floor`, for reason `kind`. */
static inline void warp_refresh(struct sm *sm, uint32_t warp, uint64_t floor, enum wait kind) {
    const struct warp *w = &sm->warps[warp];
    const struct program *p = sm->m->program;
    const struct deps *deps = &p->deps[w->pc];
    const struct uop *u = &p->code[w->pc];
    uint64_t at = floor;
    warp_wants(sm, warp, u->unit);
    if (deps->piece != sm->fetched[warp & sm->fetch_mask]) {
        if (deps->piece & PIECE_SPECIAL) {
            warp_refresh_special(sm, warp, floor, kind);
            return;
        }
        if (!warp_fetches(sm, warp, deps->piece, floor)) return;
    }
    for (uint32_t i = 0; i < FEW_DEPS && i < deps->count; i++) {
        const uint32_t id = deps->id[i];
        if (w->ready[id] > at) {
            at = w->ready[id];
            kind = (enum wait)w->producer[id];
        }
    }
    warp_await(sm, warp, u, at, kind);
}

/* The warp's next instruction, or its constant operand, has come at cycle t: look again whether it
 * can issue, at t and at the warp's floor at the earliest. */
static inline void warp_look_again(struct sm *sm, uint32_t warp, uint64_t t) {
    warp_refresh(sm, warp, sm->floor[warp] > t ? sm->floor[warp] : t, WAIT_FETCH);
}

#endif

#include "sm/sass/mbarrier.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "kernel/sass.h"
#include "sm/barrier_words.h"
#include "sm/check.h"
#include "sm/converge.h"
#include "sm/lsu.h"
#include "sm/scoreboard.h"

#define MOST         0xfffffu /* that a barrier awaits, threads and bytes */
#define TRY_CLOCKS   7722u    /* that a try waits, as an H200 does (`times` of the vectors) */
#define MOST_TRIES   1024u    /* in vain, by a warp of a block where all wait: 4 ms of the card */
#define LOOK_LATE    12u      /* how much later than other values of shared memory a predicate is */
#define TOLD_LATE    4u       /* there, and what an arrival is told, on the same card */
#define RETRY_CLOCKS 32u      /* until an arrival looks again whether there is room for it */

/* ---- the words --------------------------------------------------------------------------- */

/* What comes to a barrier at once. */
struct change {
    uint32_t threads;
    int32_t bytes; /* more that are awaited, or fewer */
    bool leave;
};

/* Change the word of a barrier of CC 9.0. False: more have come than it awaits. */
static bool arrive(uint64_t *word, struct change by, bool *over) {
    uint32_t phase = (uint32_t)(*word >> 63), missing = (uint32_t) - (*word >> 43) & MOST,
             all = (uint32_t) - (*word >> 1) & MOST;
    int32_t bytes = -((int32_t)((uint32_t)(*word >> 21) << 11) / (1 << 11));
    if (by.threads > missing || by.bytes > (int32_t)MOST || by.bytes < -(int32_t)MOST) return false;
    bytes += by.bytes;
    if (bytes > (int32_t)MOST || bytes < -(int32_t)MOST) return false;
    missing -= by.threads;
    if (by.leave) all -= by.threads;
    *over = !missing && !bytes;
    if (*over) {
        phase ^= 1;
        missing = all;
    }
    *word = (uint64_t)phase << 63 | (uint64_t)(-missing & MOST) << 43 |
            (uint64_t)((uint32_t)-bytes & 0x1fffffu) << 21 | (-all & MOST) << 1;
    return true;
}

/* The same of CC 8.x, for a thread that arrives. */
static void arrive_80(uint64_t *word, bool *over) {
    const uint32_t low = (uint32_t)*word;
    uint32_t high = (uint32_t)(*word >> 32) + 1;
    *over = !(high << 1);
    if (*over) high |= (low + 0x40000000u) & 0x7fffffffu;
    *word = (uint64_t)high << 32 | low;
}

/* ---- phases ------------------------------------------------------------------------------ */

/* A phase is over: who waits for one looks again. */
static void end_phase(struct sm *sm, const struct block *b, uint64_t t) {
    if (sm->check) check_phase(sm, b);
    for (uint64_t left = sm->trying & b->warp_slots; left; left &= left - 1) {
        const uint32_t warp = (uint32_t)__builtin_ctzll(left);
        sm->trying &= ~(1ull << warp);
        warp_refresh(sm, warp, t, WAIT_BARRIER);
    }
}

/* Some come to the barrier at a place; false if they are too many. */
static bool come(struct sm *sm, uint32_t warp, uint32_t at, struct change by, uint64_t t) {
    const struct block *b = &sm->blocks[sm->warps[warp].block];
    uint64_t word;
    bool over;
    memcpy(&word, sm->shared + at, sizeof word);
    if (!arrive(&word, by, &over)) return false;
    memcpy(sm->shared + at, &word, sizeof word);
    if (over) end_phase(sm, b, t);
    return true;
}

static void come_80(struct sm *sm, uint32_t warp, uint32_t at, uint64_t t) {
    const struct block *b = &sm->blocks[sm->warps[warp].block];
    uint64_t word;
    bool over;
    memcpy(&word, sm->shared + at, sizeof word);
    arrive_80(&word, &over);
    memcpy(sm->shared + at, &word, sizeof word);
    if (over) end_phase(sm, b, t);
}

/* ---- arrivals behind copies -------------------------------------------------------------- */

static bool too_many(struct sm *sm, uint32_t warp, uint32_t lane, uint32_t pc, uint64_t t) {
    sm_fault(sm, warp, lane, t, ERROR_BARRIER_COUNT);
    sm->fault.pc = pc;
    sm->fault.line = sm->m->program->line[pc];
    return false;
}

/* Those of the lanes that have the same address as the first of them. */
static uint32_t at_one(const uint32_t at[32], uint32_t lanes) {
    const uint32_t first = at[bits_lowest(lanes)];
    uint32_t same = 0;
    for (uint32_t lane = 0; lane < 32; lane++) same |= (at[lane] == first ? 1u : 0) << lane;
    return same & lanes;
}

/* All copies before that arrival are there. */
static void complete(struct sm *sm, uint32_t warp, const struct arrival *a, uint64_t t) {
    const bool byte = a->kind == ATOM_BARRIER_COPIED_BYTE, old = a->kind == ATOM_BARRIER_COPIED_80;
    for (uint32_t left = a->lanes, mine; left; left &= ~mine) {
        const uint32_t lane = bits_lowest(left);
        mine = old ? 1u << lane : at_one(a->at, left);
        const uint32_t count = bits_count(mine);
        const struct change by = {.threads = byte ? 0 : count, .bytes = byte ? -(int32_t)count : 0};
        if (old) come_80(sm, warp, a->at[lane], t);
        else if (!come(sm, warp, a->at[lane], by, t) && !too_many(sm, warp, lane, a->pc, t)) return;
    }
}

static void settle(struct sm *sm, uint32_t warp, uint64_t t) {
    struct arrivals *all = &sm->arrivals[warp];
    while (all->first != all->open && !all->pending[all->first % ARRIVALS])
        complete(sm, warp, &all->of[all->first++ % ARRIVALS], t);
}

uint16_t mbarrier_awaits(struct sm *sm, uint32_t warp) {
    struct arrivals *all = &sm->arrivals[warp];
    all->pending[all->open % ARRIVALS]++;
    return (uint16_t)(all->open % ARRIVALS);
}

void mbarrier_copied(struct sm *sm, uint32_t warp, uint16_t arrival, uint64_t t) {
    assert(sm->arrivals[warp].pending[arrival]);
    sm->arrivals[warp].pending[arrival]--;
    settle(sm, warp, t);
}

/* The arrival waits for the copies so far, and copies from now on are the next one's. */
static void queue(struct memop *op) {
    struct arrivals *all = &op->sm->arrivals[op->warp];
    struct arrival *own = &all->of[all->open++ % ARRIVALS];
    assert(all->open - all->first < ARRIVALS);
    *own = (struct arrival){.lanes = op->active, .kind = op->u->sub, .pc = op->pc};
    memcpy(own->at, op->addr, sizeof own->at);
    settle(op->sm, op->warp, op->t);
}

/* ---- operations -------------------------------------------------------------------------- */

/* The lanes of `left` that come to the barrier of the first of them, and say the same. */
static uint32_t alike(const struct memop *op, const uint32_t *b[2], uint32_t left) {
    const uint32_t first = bits_lowest(left);
    uint32_t lanes = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t differ = (b[0][lane] ^ b[0][first]) | (b[1][lane] ^ b[1][first]);
        lanes |= (differ ? 0 : 1u) << lane;
    }
    return lanes & at_one(op->addr, left);
}

static uint64_t word_at(const struct memop *op, uint32_t lane) {
    uint64_t word;
    memcpy(&word, op->sm->shared + op->addr[lane], sizeof word);
    return word;
}

/* The lanes in which the phase is over that they ask for. */
static uint32_t over(const struct memop *op, const uint32_t *parity) {
    uint32_t lanes = 0;
    for (uint32_t left = op->active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        lanes |= ((uint32_t)(word_at(op, lane) >> 63) ^ parity[lane] >> 31) << lane;
    }
    return lanes;
}

/* Put what lanes are told into the destination. */
static void tell(const struct memop *op, uint32_t lanes, uint64_t value) {
    for (uint32_t i = 0; i < op->u->dst_count; i++)
        for (uint32_t left = lanes; left; left &= left - 1)
            op->w->rows[op->u->data[i] * 32u + bits_lowest(left)] = (uint32_t)(value >> 32 * i);
}

/* Lanes that say the same come to one barrier. */
static bool come_together(struct memop *op, const uint32_t *b[2], uint32_t lanes) {
    const uint32_t sub = op->u->sub, first = bits_lowest(lanes), count = bits_count(lanes);
    const bool masked = sub == ATOM_BARRIER_ARRIVE_MASK || sub == ATOM_BARRIER_DROP_MASK;
    const int32_t sign = sub == ATOM_BARRIER_COMPLETE ? -1 : 1;
    const uint32_t threads = b[0][first], bytes = b[1][first];
    const struct change by = {.threads = threads * count,
                              .bytes = sign * (int32_t)(bytes * count),
                              .leave = sub == ATOM_BARRIER_DROP || sub == ATOM_BARRIER_DROP_MASK};
    const uint64_t before = word_at(op, first);
    if (threads > MOST || bytes > MOST || !come(op->sm, op->warp, op->addr[first], by, op->t))
        return too_many(op->sm, op->warp, first, op->pc, op->t);
    tell(op, lanes, (before >> 32 << 32) | (masked ? lanes : 0));
    return true;
}

/* Write the predicate of an operation that looks. */
static void answer(struct memop *op, const uint32_t *parity) {
    struct warp *w = op->w;
    const uint32_t number = sass_done(op->u), lanes = over(op, parity);
    w->own->until = 0;
    op->sm->trying &= ~(1ull << op->warp);
    if (w->depth && lanes != op->active) converge_tire(w);
    if ((number & 7) == 7) return;
    w->preds[number] = (w->preds[number] & ~op->active) | lanes;
}

static bool looks(const struct uop *u) {
    return u->sub == ATOM_BARRIER_TEST || u->sub == ATOM_BARRIER_TRY;
}

void mbarrier_late(struct memop *op) {
    const struct uop *u = op->u;
    const uint32_t number = sass_done(u);
    if (!u->dst_count || u->sub == ATOM_BARRIER_ARRIVE_80) return;
    const uint64_t at = op->w->ready[u->data[0]] + (looks(u) ? LOOK_LATE : TOLD_LATE);
    lsu_set_ready(op, at, WAIT_SHARED);
    if (!looks(u) || (number & 7) == 7) return;
    op->w->ready[op->sm->m->program->registers + number] = at;
    op->w->producer[op->sm->m->program->registers + number] = WAIT_SHARED;
}

uint32_t mbarrier_perform(struct memop *op) {
    const struct lanes lanes = memop_lanes(op);
    const uint32_t *b[2] = {operand_row(&lanes, op->u->data[2]),
                            operand_row(&lanes, op->u->data[3])};
    const uint32_t sub = op->u->sub;
    uint32_t words = 0;
    for (uint32_t left = op->active; left && op->sm->check; left &= left - 1)
        barrier_words_note(op->sm, op->addr[bits_lowest(left)]);
    if (looks(op->u)) {
        answer(op, b[0]);
        return 1;
    }
    if (atom_awaits_copies(sub)) {
        queue(op);
        return 1;
    }
    for (uint32_t left = op->active, mine; left; left &= ~mine) {
        const uint32_t lane = bits_lowest(left);
        mine = sub == ATOM_BARRIER_ARRIVE_80 ? 1u << lane : alike(op, b, left);
        words++;
        if (sub == ATOM_BARRIER_ARRIVE_80) {
            tell(op, mine, word_at(op, lane));
            come_80(op->sm, op->warp, op->addr[lane], op->t);
        } else if (!come_together(op, b, mine)) {
            break;
        }
    }
    return words;
}

/* ---- waiting ----------------------------------------------------------------------------- */

/* Is what the lanes ask for in the block's static part, where barriers lie, and over for none? */
static bool fails(const struct memop *op) {
    const struct lanes lanes = memop_lanes(op);
    const struct program *p = op->sm->m->program;
    struct memop there = *op;
    for (uint32_t left = op->active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left), at = op->addr[lane];
        if (at & 7 || p->meta.shared_bytes < 8 || at > p->meta.shared_bytes - 8) return false;
        there.addr[lane] += op->sm->blocks[op->w->block].static_base;
    }
    return !over(&there, operand_row(&lanes, op->u->data[2]));
}

/* The warp looks again at that cycle, or earlier. */
static bool look_again(struct memop *op, uint64_t at) {
    op->w->pc = op->pc;
    warp_refresh(op->sm, op->warp, at, WAIT_BARRIER);
    return true;
}

/* Does each other warp of the block wait for an asynchronous barrier, at one of the block, or has
 * exited? Nobody is left who could arrive, unless one of them does so for having tried in vain. */
static bool all_wait(const struct sm *sm, uint32_t warp) {
    const struct block *b = &sm->blocks[sm->warps[warp].block];
    for (uint64_t left = b->warp_slots & ~(1ull << warp); left; left &= left - 1) {
        const uint32_t other = (uint32_t)__builtin_ctzll(left), state = sm->warps[other].state;
        const bool waits = state == WARP_BARRIER || state == WARP_NAMED || state == WARP_EXITED;
        if (!waits && !(sm->trying >> other & 1)) return false;
    }
    return true;
}

/* A try ends in vain. */
static bool give_up(struct memop *op) {
    struct warp *w = op->w;
    if (++w->own->tries < MOST_TRIES || !all_wait(op->sm, op->warp)) return false;
    sm_fault(op->sm, op->warp, bits_lowest(op->active), op->sm->now, ERROR_DEADLOCK);
    return true;
}

/* Lanes wait only where all of their warp do: others are to go on. */
bool mbarrier_waits(struct memop *op) {
    struct sm *sm = op->sm;
    struct warp *w = op->w;
    if (atom_awaits_copies(op->u->sub)) {
        const struct arrivals *all = &sm->arrivals[op->warp];
        const bool full = op->active && all->open - all->first == ARRIVALS - 1;
        return full && look_again(op, sm->now + RETRY_CLOCKS);
    }
    if (op->u->sub != ATOM_BARRIER_TRY || !op->active || op->active != w->live) return false;
    if (!fails(op)) {
        w->own->tries = 0;
        return false;
    }
    if (!w->own->until) w->own->until = sm->now + TRY_CLOCKS;
    if (sm->now >= w->own->until) return give_up(op);
    sm->trying |= 1ull << op->warp;
    return look_again(op, w->own->until);
}

#include "chip/examine.h"

#include <assert.h>

#include "base/bits.h"
#include "base/clones.h"
#include "base/hints.h"
#include "chip/polls.h"
#include "kernel/sass.h"
#include "sm/check.h"

enum error examiner_init(struct examiner *x, const struct machine *m, struct fault *fault) {
    x->machine = m;
    x->strict = m->check == CHECK_RACES_STRICT;
    const enum error e = marks_init(&x->marks, m, fault);
    if (e) return e;
    const bool looks = marks_look(m->program, &x->marks);
    return order_init(&x->order, m->cfg, looks) ? OK : ERROR_NO_MEMORY;
}

void examiner_free(struct examiner *x) {
    marks_free(&x->marks);
    order_free(&x->order);
}

/* One warp instruction under examination: those of its lanes that go to one extent. */
struct visit {
    struct examiner *x;
    const struct event *e;
    const struct uop *u;
    const struct extent *extent;
    const uint32_t *addr;
    uint32_t active;
    uint32_t slot, sm;
    uint32_t pieces;  /* per lane, side by side */
    struct mark mark; /* that lane 0 leaves */
};

/* ---- one lane, one piece: the definition ------------------------------------------------- */

static ALWAYS_INLINE struct mark mark_of(const struct visit *v, uint32_t lane) {
    struct mark mine = v->mark;
    mine.who |= lane;
    mine.thread = (uint16_t)(mine.thread + lane);
    return mine;
}

static ALWAYS_INLINE bool same_thread(const struct mark *a, const struct mark *b) {
    return a->block == b->block && !((a->who ^ b->who) & MARK_WHO);
}

static ALWAYS_INLINE bool same_warp(const struct mark *a, const struct mark *b) {
    return a->block == b->block && !((a->who ^ b->who) & MARK_WHO & ~MARK_LANE);
}

/* How what left a mark is ordered before what the lane does. published: it was an atomic, or a
 * store behind a fence. */
static ALWAYS_INLINE enum order_of order_after(const struct visit *v, const struct mark *m,
                                               uint32_t lane, bool published) {
    if (!m->epoch) return ORDERED;
    const struct origin before = {.epoch = m->epoch,
                                  .block = m->block,
                                  .slot = (m->who & MARK_WHO) >> MARK_SLOT,
                                  .lane = m->who & MARK_LANE,
                                  .place = published ? order_place(v->addr[lane]) : NO_PLACE};
    return order_between(&v->x->order, &before, v->slot, lane);
}

static ALWAYS_INLINE uint32_t address_of(const struct visit *v, uint32_t piece) {
    return (uint32_t)(v->extent->low + ((uint64_t)piece << v->extent->shift));
}

/* Report what a lane does to a piece, and who was there before. */
NOINLINE static void report(const struct visit *v, enum finding_kind kind,
                            const struct mark *before, uint32_t piece, uint32_t lane) {
    const struct machine *m = v->x->machine;
    const uint32_t base = v->u->aux < 0 ? 0 : m->buffers[v->u->aux].address;
    const struct finding found = {
        .kind = kind,
        .pc = {before->pc, v->e->pc},
        .thread = {before->thread, v->mark.thread + lane},
        .block = {before->block, v->e->block},
        .address = address_of(v, piece) - base,
        .sm = v->sm,
        .in_global = 1,
        .cycle = v->e->cycle,
    };
    const uint64_t place[2] = {check_source(m->program, before->pc),
                               check_source(m->program, v->e->pc)};
    findings_add(&v->x->findings, &found, place);
}

static void report_pair(const struct visit *v, enum order_of order, const struct mark *before,
                        uint32_t piece, uint32_t lane) {
    const bool warning = order == LOCKSTEP && !v->x->strict;
    report(v, warning ? FINDING_LOCKSTEP : FINDING_RACE, before, piece, lane);
}

/* Do two accesses wait for each other, rather than race? What a poll or an atomic reads may be
 * stored by an atomic, or directly behind a fence. Two that are strong do not race in PTX. */
static bool synchronise(uint32_t a, uint32_t b, bool atomic) {
    const uint32_t reads = MARK_POLL | MARK_ASKS;
    if (a & b & MARK_STRONG) return true;
    if (atomic && (a | b) & MARK_POLL) return true;
    return (a & MARK_FENCE && b & reads) || (b & MARK_FENCE && a & reads);
}

/* Report the lane's access if nothing orders one of these two before it; rather one of another
 * warp. */
static ALWAYS_INLINE void find_pair(const struct visit *v, struct mark (*marks)[2], uint32_t piece,
                                    uint32_t lane) {
    if (!marks) return;
    const bool atomic = v->u->op == OP_ATOM_GLOBAL || marks == v->extent->atomic;
    const struct mark *found = NULL;
    enum order_of how = ORDERED;
    for (uint32_t i = 0; i < 2; i++) {
        const struct mark *m = &marks[piece][i];
        const bool published = marks == v->extent->atomic;
        const enum order_of order = order_after(v, m, lane, published);
        if (order <= how || synchronise(m->who, v->mark.who, atomic)) continue;
        found = m;
        how = order;
    }
    if (found) report_pair(v, how, found, piece, lane);
}

/* What the lane stores to a piece. */
static ALWAYS_INLINE uint32_t stored(const struct visit *v, uint32_t piece, uint32_t lane) {
    const uint32_t at = address_of(v, piece) - v->addr[lane], bits = 8u << v->extent->shift;
    assert(at < v->u->width);
    const uint32_t word = event_data(v->e, at / 4)[lane] >> at % 4 * 8;
    return bits == 32 ? word : word & ((1u << bits) - 1);
}

/* Report a store that was there unless something orders it. */
static ALWAYS_INLINE void find_store(const struct visit *v, uint32_t piece, uint32_t lane) {
    if (!v->extent->store) return;
    const struct mark *m = &v->extent->store[piece];
    const enum order_of order = order_after(v, m, lane, m->who & (MARK_FENCE | MARK_STRONG));
    const bool atomic = v->u->op == OP_ATOM_GLOBAL;
    if (order == ORDERED || synchronise(m->who, v->mark.who, atomic)) return;
    if (v->u->op == OP_ST_GLOBAL && v->extent->value[piece] == stored(v, piece, lane))
        report(v, FINDING_SAME_VALUE, m, piece, lane);
    else report_pair(v, order, m, piece, lane);
}

static ALWAYS_INLINE void examine(const struct visit *v, uint32_t piece, uint32_t lane) {
    find_store(v, piece, lane);
    if (v->u->op != OP_LD_GLOBAL) find_pair(v, v->extent->load, piece, lane);
    if (v->u->op != OP_ATOM_GLOBAL) find_pair(v, v->extent->atomic, piece, lane);
}

/* Report lanes of one store that meet: the highest one's value stays. */
static void find_twice(const struct visit *v, uint32_t piece, uint32_t lane) {
    const struct mark *m = &v->extent->store[piece];
    const struct mark mine = mark_of(v, lane);
    if (m->epoch != mine.epoch || m->pc != mine.pc || !same_warp(m, &mine) || same_thread(m, &mine))
        return;
    const bool same = v->extent->value[piece] == stored(v, piece, lane);
    report(v, same ? FINDING_SAME_VALUE : FINDING_CONFLICT, m, piece, lane);
}

/* Is a mark not needed to find races any more, given that of the lane? */
static ALWAYS_INLINE bool replaceable(const struct visit *v, const struct mark *m,
                                      const struct mark *mine) {
    return same_thread(m, mine) || order_after(v, m, mine->who & MARK_LANE, false) == ORDERED;
}

/* Leave the lane's mark among two. */
static ALWAYS_INLINE void note(const struct visit *v, struct mark pair[2], uint32_t lane) {
    const struct mark mine = mark_of(v, lane);
    if (replaceable(v, &pair[0], &mine)) {
        pair[0] = mine;
        return;
    }
    const bool apart = pair[0].block != pair[1].block, other = mine.block != pair[0].block;
    if (replaceable(v, &pair[1], &mine) || (!apart && other) ||
        (same_warp(&pair[0], &pair[1]) && !same_warp(&pair[0], &mine)))
        pair[1] = mine;
}

static ALWAYS_INLINE void record(const struct visit *v, uint32_t piece, uint32_t lane) {
    switch (v->u->op) {
    case OP_ST_GLOBAL:
        find_twice(v, piece, lane);
        v->extent->store[piece] = mark_of(v, lane);
        v->extent->value[piece] = stored(v, piece, lane);
        break;
    case OP_LD_GLOBAL:
        if (v->extent->load) note(v, v->extent->load[piece], lane);
        break;
    default:
        if (v->extent->atomic) note(v, v->extent->atomic[piece], lane);
        break;
    }
}

static ALWAYS_INLINE uint32_t piece_of(const struct visit *v, uint32_t lane) {
    return (uint32_t)(v->addr[lane] - v->extent->low) >> v->extent->shift;
}

typedef void visit_fn(const struct visit *v, uint32_t piece, uint32_t lane);

static ALWAYS_INLINE void visit_lanes(const struct visit *v, visit_fn *visit) {
    for (uint32_t left = v->active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left), first = piece_of(v, lane);
        for (uint32_t k = 0; k < v->pieces; k++) visit(v, first + k, lane);
    }
}

/* ---- the same for accesses with nothing to report, nearly all of them ---------------------- */

/* Has anybody else left a mark? */
static ALWAYS_INLINE uint32_t strange(const struct mark *m, uint32_t block, uint32_t who) {
    const uint32_t differ = (m->block ^ block) | ((m->who ^ who) & MARK_WHO);
    return (m->epoch != 0 ? 1u : 0u) & (differ != 0 ? 1u : 0u);
}

/* A store of 32 lanes side by side to what is never loaded: has nobody else stored there? Then it
 * is marked. */
CLONES static bool quiet_row(struct mark *restrict at, uint32_t *restrict value, struct mark mine,
                             const uint32_t *restrict data) {
    uint32_t seen = 0;
    for (uint32_t lane = 0; lane < 32; lane++)
        seen |= strange(&at[lane], mine.block, mine.who | lane);
    if (seen) return false;
    for (uint32_t lane = 0; lane < 32; lane++) {
        at[lane] = mine;
        at[lane].who |= lane;
        at[lane].thread = (uint16_t)(mine.thread + lane);
        value[lane] = data[lane];
    }
    return true;
}

CLONES static bool is_row(const uint32_t addr[32], uint32_t step) {
    uint32_t differ = 0;
    for (uint32_t lane = 0; lane < 32; lane++) differ |= addr[lane] ^ (addr[0] + step * lane);
    return !differ;
}

static bool quiet(const struct visit *v) {
    const struct extent *x = v->extent;
    if (v->u->op != OP_ST_GLOBAL || x->load || x->atomic) return false;
    if (v->active != ~0u || v->u->width != 4 || v->pieces != 1 || !is_row(v->addr, 4)) return false;
    const uint32_t first = piece_of(v, 0);
    return quiet_row(x->store + first, x->value + first, v->mark, event_data(v->e, 0));
}

/* ---- accesses ---------------------------------------------------------------------------- */

/* Flags of the marks that an instruction leaves. */
static uint32_t flags_of(const struct examiner *x, const struct uop *u, uint32_t pc,
                         const struct knowledge *k) {
    const uint32_t strong = sass_is_strong(u) ? MARK_STRONG : 0;
    switch (u->op) {
    case OP_ST_GLOBAL: return strong | (k->fenced ? MARK_FENCE : 0);
    case OP_LD_GLOBAL:
        return strong | (strong ? MARK_ASKS : 0) | (x->marks.polls[pc] ? MARK_POLL : 0);
    default: return (u->flags & INSN_WIDE ? MARK_STRONG : 0) | (u->dst_count ? MARK_ASKS : 0);
    }
}

/* A store behind a fence, one that is strong and an atomic publish; a poll, a strong load and an
 * atomic whose value is taken ask. */
static void hand_on(const struct visit *v) {
    const uint32_t flags = v->mark.who;
    const bool strong = v->u->op == OP_ST_GLOBAL && flags & MARK_STRONG,
               publishes = v->u->op == OP_ATOM_GLOBAL || flags & MARK_FENCE || strong,
               asks = flags & (MARK_POLL | MARK_ASKS);
    if (publishes || asks)
        order_hand_on(&v->x->order, v->slot, v->addr, v->e->active, publishes, asks);
}

/* The lanes among these that go where the first one goes. */
static uint32_t together(const struct visit *v, uint32_t lanes) {
    uint32_t found = 0;
    if (v->u->aux >= 0) return lanes;
    for (uint32_t left = lanes; left; left &= left - 1)
        if (marks_extent(&v->x->marks, v->x->machine, v->u, v->addr[bits_lowest(left)]) ==
            v->extent)
            found |= left & (0u - left);
    return found;
}

/* Examine all lanes, one extent after the other. */
static void examine_lanes(struct visit *v) {
    const struct examiner *x = v->x;
    for (uint32_t left = v->e->active; left; left &= ~v->active) {
        v->extent = marks_extent(&x->marks, x->machine, v->u, v->addr[bits_lowest(left)]);
        v->active = together(v, left);
        v->pieces = (uint32_t)v->u->width >> v->extent->shift;
        if (quiet(v)) continue;
        visit_lanes(v, examine);
        visit_lanes(v, record);
    }
}

void examine_heap_free(struct examiner *x, const struct event *e) {
    marks_forget(&x->marks, x->machine, e->address, 1u << e->log_size);
}

void examine_flag(struct examiner *x, const struct event *e, uint32_t sm) {
    const uint32_t slot = sm * x->order.slots + e->warp;
    order_now(&x->order);
    order_hand_on(&x->order, slot, event_addresses(e), e->active, e->publishes, e->looks);
}

void examine_access(struct examiner *x, const struct event *e, uint32_t sm) {
    const struct uop *u = &x->machine->program->code[e->pc];
    const uint32_t slot = sm * x->order.slots + e->warp;
    struct knowledge *k = &x->order.warp[slot];
    if (k->asks) order_settle(&x->order, slot, e->settled);
    struct visit v = {
        .x = x,
        .e = e,
        .u = u,
        .addr = event_addresses(e),
        .slot = slot,
        .sm = sm,
        .mark = {.epoch = order_now(&x->order),
                 .block = e->block,
                 .who = slot << MARK_SLOT | flags_of(x, u, e->pc, k),
                 .pc = e->pc,
                 .thread = (uint16_t)(32 * bits_count64(e->warps & ((1ull << e->warp) - 1)))},
    };
    if (x->marks.polls[e->pc] != POLL_FIXED) examine_lanes(&v);
    if (x->order.looks) hand_on(&v);
    if (u->op == OP_ST_GLOBAL) k->fenced = false;
}

/* The checks of one SM: their memory, and what blocks, barriers and exits mean to them. */
#include "sm/check.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sm/shadow.h"

/* ---- construction ------------------------------------------------------------------------ */

/* May the instruction access shared memory? */
static bool is_shared(const struct uop *u) {
    return u->op == OP_LD_SHARED || u->op == OP_ST_SHARED || u->op == OP_ATOM_SHARED ||
           sass_is_generic(u);
}

/* The bytes of the program's narrowest access to shared memory, and whether it may have atomics
 * there. */
static uint32_t narrowest_access(const struct program *p, bool *atomics) {
    uint32_t narrowest = 4;
    for (uint32_t pc = 0; pc < p->count; pc++) {
        const struct uop *u = &p->code[pc];
        if (!is_shared(u)) continue;
        if (u->width < narrowest) narrowest = u->width;
        *atomics |= u->op == OP_ATOM_SHARED || u->op == OP_ATOM_GLOBAL;
    }
    return narrowest;
}

/* All lies in one allocation, whose pages the host hands out when they are touched: those of second
 * tags hardly ever are. */
struct check *check_create(const struct machine *m, enum check_mode mode) {
    bool atomics = false;
    const uint32_t shift = (uint32_t)__builtin_ctz(narrowest_access(m->program, &atomics));
    const size_t pieces = ((m->cfg->smem_bytes + SMEM_BESIDE) >> shift) + 1;
    const size_t each = sizeof(struct piece) + sizeof(struct piece_pc) +
                        (atomics ? sizeof(uint32_t) + sizeof(uint16_t) : 0);
    const size_t known = MAX_WARPS * sizeof *((struct check *)0)->known;
    struct check *c = calloc(1, sizeof *c + known + 2 * pieces * each);
    if (!c) return NULL;
    if (m->watched && !events_init(&c->events, m->cfg)) {
        check_free(c);
        return NULL;
    }
    c->strict = mode == CHECK_RACES_STRICT;
    c->known = (lane_epochs *)(c + 1);
    c->atomics = atomics;
    c->shift = shift;
    c->piece_count = pieces;
    c->first = (struct piece *)((uint8_t *)(c + 1) + known);
    c->second = c->first + pieces;
    c->first_pc = (struct piece_pc *)(c->second + pieces);
    c->second_pc = c->first_pc + pieces;
    if (!atomics) return c;
    c->atomic[0] = (uint32_t *)(c->second_pc + pieces);
    c->atomic[1] = c->atomic[0] + pieces;
    c->atomic_pc[0] = (uint16_t *)(c->atomic[1] + pieces);
    c->atomic_pc[1] = c->atomic_pc[0] + pieces;
    return c;
}

void check_free(struct check *check) {
    if (check) events_free(&check->events);
    free(check);
}

const struct findings *check_findings(const struct check *check) { return &check->findings; }

struct events *check_events(struct check *check) {
    return &check->events;
}

uint64_t check_source(const struct program *p, uint32_t pc) {
    return p->line[pc] ? (uint64_t)p->line[pc] << 16 | p->code[pc].op : 1ull << 63 | pc;
}

/* The same, but for barriers of compiled code: many stand in one line of a header, and which of
 * them are copies of each other only their instructions tell. */
static uint64_t place_of(const struct program *p, enum finding_kind kind, uint32_t pc) {
    return p->sass && kind == FINDING_DIVERGENCE ? 1ull << 63 | pc : check_source(p, pc);
}

void check_report(struct sm *sm, const struct block *b, uint64_t t, struct finding found) {
    const struct program *p = sm->m->program;
    found.block[0] = found.block[1] = b->id;
    found.sm = sm->id;
    found.cycle = t;
    const uint64_t places[2] = {place_of(p, found.kind, found.pc[0]),
                                place_of(p, found.kind, found.pc[1])};
    findings_add(&sm->check->findings, &found, places);
}

void check_away(const struct memop *op) {
    const struct block *b = &op->sm->blocks[op->w->block];
    for (uint32_t left = op->active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left), thread = first_thread(b, op->warp) + lane;
        check_report(op->sm, b, op->t,
                     (struct finding){.kind = FINDING_RELEASED,
                                      .pc = {op->pc, op->pc},
                                      .thread = {thread, thread},
                                      .address = op->addr[lane] - b->dynamic_base});
    }
}

/* ---- intervals --------------------------------------------------------------------------- */

static struct interval *interval_of(struct sm *sm, const struct block *b) {
    return &sm->check->blocks[b - sm->blocks];
}

/* Note an event that orders accesses to global memory, if these are watched. */
static void note(struct sm *sm, const struct block *b, enum event_kind kind, uint32_t warp) {
    if (sm->m->watched) events_add(&sm->check->events, sm, b, kind, warp);
}

void check_fence(struct sm *sm, uint32_t warp) {
    const struct block *b = &sm->blocks[sm->warps[warp].block];
    struct check *c = sm->check;
    const uint32_t now = check_epoch(c);
    flags_fence(&c->flags, warp, b->warp_slots, interval_of(sm, b)->start, now);
    note(sm, b, EVENT_FENCE, warp);
}

void check_flags(const struct memop *op) {
    struct check *c = op->sm->check;
    bool publishes, looks;
    if (flags_access(&c->flags, op, &publishes, &looks) && op->sm->m->watched)
        events_flag(&c->events, op, publishes, looks);
}

void check_heap_free(struct sm *sm, uint32_t warp, uint32_t address, uint32_t log_size) {
    if (!sm->m->watched) return;
    events_heap_free(&sm->check->events, sm, &sm->blocks[sm->warps[warp].block], address, log_size);
}

void check_global(const struct memop *op) {
    const struct machine *m = op->sm->m;
    if (op->u->width != m->program->code[op->pc].width) return; /* a piece beside an array's end */
    if (op->u->op == OP_LD_LOCAL || op->u->op == OP_ST_LOCAL) return; /* where a pointer may lead */
    if (m->watched && m->watched[op->pc]) events_access(&op->sm->check->events, op);
}

/* Once in a million barriers the numbers run out: everything counts as written and ordered then. */
static void forget(struct check *c) {
    memset(c->first, 0, c->piece_count * sizeof *c->first);
    memset(c->second, 0, c->piece_count * sizeof *c->second);
    for (uint32_t i = 0; c->atomics && i < 2; i++)
        memset(c->atomic[i], 0, c->piece_count * sizeof *c->atomic[i]);
    memset(&c->flags, 0, sizeof c->flags);
    c->epoch = 1;
    for (uint32_t i = 0; i < MAX_BLOCKS; i++)
        c->blocks[i].start = 1u << TAG_EPOCH, c->blocks[i].fresh[0] = c->blocks[i].fresh[1] = 0;
    memset(c->known, 0, MAX_WARPS * sizeof *c->known);
}

uint32_t check_epoch(struct check *c) {
    if (++c->epoch == EPOCHS) forget(c);
    assert(c->epoch && c->epoch < EPOCHS);
    return c->epoch << TAG_EPOCH;
}

void check_start(struct sm *sm, const struct block *b) {
    const uint32_t now = check_epoch(sm->check);
    *interval_of(sm, b) = (struct interval){.start = now, .fresh = {now, now}};
    note(sm, b, EVENT_START, 0);
    for (uint64_t slots = b->warp_slots; slots; slots &= slots - 1) {
        const uint32_t warp = (uint32_t)__builtin_ctzll(slots);
        sm->check->exits[warp].late = 0;
        flags_start(&sm->check->flags, warp);
    }
}

void check_grant(struct sm *sm, const struct block *b) {
    struct interval *i = interval_of(sm, b);
    i->start = i->fresh[1] = check_epoch(sm->check);
}

/* Each lane that takes part knows afterwards what any of the others did or knew. Lanes that have
 * exited take part, as they do at barriers. */
void check_syncwarp(struct sm *sm, uint32_t warp, uint32_t lanes) {
    struct check *c = sm->check;
    note(sm, &sm->blocks[sm->warps[warp].block], EVENT_SYNCWARP, warp);
    c->met = true;
    const uint32_t together = lanes | ~sm->warps[warp].live, now = check_epoch(c);
    uint32_t known[32] = {0};
    for (uint32_t left = together; left; left &= left - 1) {
        const uint32_t *its = c->known[warp][bits_lowest(left)];
        for (uint32_t i = 0; i < 32; i++) known[i] = its[i] > known[i] ? its[i] : known[i];
    }
    for (uint32_t i = 0; i < 32; i++) known[i] = together >> i & 1 ? now : known[i];
    for (uint32_t left = together; left; left &= left - 1)
        memcpy(c->known[warp][bits_lowest(left)], known, sizeof known);
}

/* ---- barriers that not all threads reach ------------------------------------------------- */

void check_exit(struct sm *sm, uint32_t warp, uint32_t lanes) {
    struct check *c = sm->check;
    for (uint32_t left = lanes; left; left &= left - 1)
        c->exits[warp].pc[bits_lowest(left)] = (uint16_t)sm->warps[warp].pc;
    if (c->blocks[sm->warps[warp].block].met) c->exits[warp].late |= lanes;
}

/* The lanes of a warp that have exited. */
static uint32_t exited_lanes(const struct sm *sm, const struct block *b, uint32_t warp) {
    const uint32_t *size = sm->m->dims.block;
    const uint32_t left = size[0] * size[1] * size[2] - first_thread(b, warp);
    const uint32_t all = left >= 32 ? ~0u : (1u << left) - 1;
    return sm->warps[warp].state == WARP_EXITED ? all : all & ~sm->warps[warp].live;
}

/* An instruction, and the first thread that waits there. */
struct meeting {
    uint32_t pc, thread;
};

/* Those who wait at the block's barrier. */
static struct meeting meeting_of(const struct sm *sm, const struct block *b) {
    for (uint64_t slots = b->warp_slots; slots; slots &= slots - 1) {
        const uint32_t warp = (uint32_t)__builtin_ctzll(slots);
        const struct warp *w = &sm->warps[warp];
        if (w->state == WARP_BARRIER)
            return (struct meeting){b->barrier_pc, first_thread(b, warp) + bits_lowest(w->live)};
    }
    return (struct meeting){b->barrier_pc, 0};
}

void check_arrival(struct sm *sm, uint32_t warp, uint64_t t) {
    const struct warp *w = &sm->warps[warp];
    const struct block *b = &sm->blocks[w->block];
    if (!b->arrived || b->barrier_pc == w->pc) return;
    const uint32_t thread = first_thread(b, warp) + bits_lowest(w->live);
    check_report(sm, b, t,
                 (struct finding){.kind = FINDING_DIVERGENCE,
                                  .pc = {b->barrier_pc, w->pc},
                                  .thread = {meeting_of(sm, b).thread, thread}});
}

/* The lanes that went round the barrier: their exit stands behind it, and instructions stand in the
 * order of the source. */
static uint32_t gone_round(const struct check *c, uint32_t warp, uint32_t exited, uint32_t pc) {
    uint32_t lanes = 0;
    for (uint32_t left = exited; left; left &= left - 1)
        if (c->exits[warp].pc[bits_lowest(left)] > pc) lanes |= left & (0u - left);
    return lanes;
}

/* Report a thread that a barrier of the block does without, if there is one: that returned in
 * front of it, or diverged. */
static void report_exit(struct sm *sm, const struct block *b, struct meeting at, uint64_t t,
                        bool diverged) {
    const struct check *c = sm->check;
    for (uint64_t slots = b->warp_slots; slots; slots &= slots - 1) {
        const uint32_t warp = (uint32_t)__builtin_ctzll(slots);
        const uint32_t exited = exited_lanes(sm, b, warp);
        const uint32_t astray = exited & (c->exits[warp].late | gone_round(c, warp, exited, at.pc));
        const uint32_t lanes = diverged ? astray : exited & ~astray;
        if (!lanes) continue;
        const uint32_t lane = bits_lowest(lanes);
        check_report(sm, b, t,
                     (struct finding){.kind = diverged ? FINDING_DIVERGENCE : FINDING_EARLY_EXIT,
                                      .pc = {c->exits[warp].pc[lane], at.pc},
                                      .thread = {first_thread(b, warp) + lane, at.thread}});
        return;
    }
}

/* Threads that learn of the end of a phase are ordered behind all accesses before it. All threads
 * of the block are taken to be so, since it is not known which of them have learned of it. */
void check_phase(struct sm *sm, const struct block *b) {
    interval_of(sm, b)->start = check_epoch(sm->check);
    note(sm, b, EVENT_BARRIER, 0);
}

/* What was done before a barrier lies behind those who go on. */
static struct interval *begin_interval(struct sm *sm, const struct block *b) {
    struct interval *i = interval_of(sm, b);
    i->start = check_epoch(sm->check);
    i->met = true;
    return i;
}

static void report_exits(struct sm *sm, const struct block *b, struct meeting at, uint64_t t) {
    report_exit(sm, b, at, t, false);
    report_exit(sm, b, at, t, true);
}

void check_interval(struct sm *sm, const struct block *b, uint64_t t) {
    struct interval *i = begin_interval(sm, b);
    if (b->barrier == BAR_ALLOC) i->fresh[1] = i->start;
    if (b->barrier == BAR_ALLOC || b->barrier == BAR_RELEASE) i->holds = b->barrier == BAR_ALLOC;
    note(sm, b, b->barrier == BAR_GRID ? EVENT_GRID : EVENT_BARRIER, 0);
    report_exits(sm, b, meeting_of(sm, b), t);
}

void check_named(struct sm *sm, const struct block *b, uint64_t waiting, bool whole, uint64_t t) {
    begin_interval(sm, b);
    note(sm, b, EVENT_BARRIER, 0);
    if (!whole || !waiting) return;
    const uint32_t warp = (uint32_t)__builtin_ctzll(waiting);
    const struct warp *w = &sm->warps[warp];
    report_exits(sm, b, (struct meeting){w->pc, first_thread(b, warp) + bits_lowest(w->live)}, t);
}

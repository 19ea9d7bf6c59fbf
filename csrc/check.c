#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "bits.h"

/* A record of an access: clock | pc | several | warp slot | lane. The clock counts checked accesses and barriers,
 * so that all records of an earlier interval, or of an earlier block, are smaller than the interval's first. */
#define REC_LANE    0x1fu
#define REC_WARP    0x7e0u
#define REC_SEVERAL 0x800u /* the second record is of the same interval */
#define REC_PC      12u
#define REC_CLOCK   28u

/* The last accesses to one piece of shared memory. */
struct cell {
    uint64_t write, read;
};

struct interval {
    uint64_t start;    /* records below are ordered by a barrier, or of another block */
    uint64_t fresh[2]; /* records below do not initialise the static and the dynamic part */
};

/* A piece is what the narrowest access of the program covers, so that byte stores by different threads into one word
 * are apart. Of each kind of access two records of different threads (warps, unless strict) are kept: whoever comes
 * next differs from one of them, so that no access that races with an earlier one is missed. */
struct check {
    const struct machine *m;
    bool strict;
    uint32_t shift; /* log2 of the bytes of a piece */
    uint64_t clock;
    struct cell *newest, *other; /* other: records of a second thread */
    struct cell *atomics;        /* first and second record; NULL if the program has none */
    uint8_t *values;             /* what stores have written */
    struct interval blocks[MAX_BLOCKS];
    uint64_t synced[MAX_WARPS]; /* strict: the warp's own records below are ordered by syncwarp */
    uint32_t exit_pc[MAX_WARPS];
    struct findings findings;
};

/* ---- construction ------------------------------------------------------------------------------ */

static bool is_shared(uint32_t op) {
    return op == OP_LD_SHARED || op == OP_ST_SHARED || op == OP_ATOM_SHARED;
}

struct check *check_create(const struct machine *m, enum check_mode mode) {
    struct check *c = calloc(1, sizeof *c);
    uint32_t narrowest = 4;
    bool atomics = false;
    if (!c) return NULL;
    for (uint32_t pc = 0; pc < m->program->count; pc++) {
        const struct uop *u = &m->program->code[pc];
        if (is_shared(u->op) && u->width < narrowest) narrowest = u->width;
        atomics |= u->op == OP_ATOM_SHARED;
    }
    c->m = m;
    c->strict = mode == CHECK_RACES_STRICT;
    c->shift = (uint32_t)__builtin_ctz(narrowest);
    const size_t cells = (m->cfg->smem_bytes >> c->shift) + 1;
    c->newest = calloc(cells, sizeof *c->newest);
    c->other = calloc(cells, sizeof *c->other);
    c->atomics = atomics ? calloc(cells, sizeof *c->atomics) : NULL;
    c->values = calloc(1, m->cfg->smem_bytes + 4);
    if (c->newest && c->other && c->values && (c->atomics || !atomics)) return c;
    check_free(c);
    return NULL;
}

void check_free(struct check *check) {
    if (!check) return;
    free(check->newest);
    free(check->other);
    free(check->atomics);
    free(check->values);
    free(check);
}

const struct findings *check_findings(const struct check *check) { return &check->findings; }

/* ---- findings ------------------------------------------------------------------------------------- */

static uint32_t slot_of(uint64_t record) { return ((uint32_t)record & REC_WARP) >> 5; }
static uint32_t pc_of(uint64_t record) { return (uint32_t)(record >> REC_PC) & 0xffffu; }

/* Number in its block of the first thread of a warp. */
static uint32_t first_thread(const struct block *b, uint32_t warp) {
    return 32 * bits_count64(b->warp_slots & ((1ull << warp) - 1));
}

static void report(struct sm *sm, struct finding found, const struct block *b, uint64_t t) {
    found.block = b->id;
    found.sm = sm->id;
    found.cycle = t;
    findings_add(&sm->check->findings, &found);
}

/* ---- blocks and barriers --------------------------------------------------------------------------- */

static struct interval *interval_of(struct sm *sm, const struct block *b) {
    return &sm->check->blocks[b - sm->blocks];
}

void check_start(struct sm *sm, const struct block *b) {
    const uint64_t now = ++sm->check->clock << REC_CLOCK;
    *interval_of(sm, b) = (struct interval){now, {now, now}};
}

void check_grant(struct sm *sm, const struct block *b) {
    struct interval *i = interval_of(sm, b);
    i->start = i->fresh[1] = ++sm->check->clock << REC_CLOCK;
}

void check_exit(struct sm *sm, uint32_t warp) { sm->check->exit_pc[warp] = sm->warps[warp].pc; }

void check_syncwarp(struct sm *sm, uint32_t warp) {
    sm->check->synced[warp] = ++sm->check->clock << REC_CLOCK;
}

/* Lanes of the warp that have exited. */
static uint32_t exited_lanes(const struct sm *sm, const struct block *b, uint32_t warp) {
    const uint32_t *size = sm->m->dims.block;
    const uint32_t left = size[0] * size[1] * size[2] - first_thread(b, warp);
    const uint32_t all = left >= 32 ? ~0u : (1u << left) - 1;
    return sm->warps[warp].state == WARP_EXITED ? all : all & ~sm->warps[warp].live;
}

void check_arrival(struct sm *sm, uint32_t warp, uint64_t t) {
    const struct warp *w = &sm->warps[warp];
    const struct block *b = &sm->blocks[w->block];
    if (!b->arrived || b->barrier_pc == w->pc) return;
    uint32_t waiting = 0;
    while (!(b->warp_slots >> waiting & 1) || sm->warps[waiting].state != WARP_BARRIER) waiting++;
    report(
        sm,
        (struct finding){.kind = FINDING_DIVERGENCE,
                         .pc = {b->barrier_pc, w->pc},
                         .thread = {first_thread(b, waiting) + bits_lowest(sm->warps[waiting].live),
                                    first_thread(b, warp) + bits_lowest(w->live)}},
        b, t);
}

void check_interval(struct sm *sm, const struct block *b, uint64_t t) {
    struct interval *i = interval_of(sm, b);
    uint32_t waiting = 0;
    i->start = ++sm->check->clock << REC_CLOCK;
    if (b->barrier == BAR_ALLOC) i->fresh[1] = i->start;
    while (!(b->warp_slots >> waiting & 1) || sm->warps[waiting].state != WARP_BARRIER) waiting++;
    for (uint64_t slots = b->warp_slots; slots; slots &= slots - 1) {
        const uint32_t warp = (uint32_t)__builtin_ctzll(slots);
        const uint32_t exited = exited_lanes(sm, b, warp);
        if (!exited) continue;
        report(sm,
               (struct finding){
                   .kind = FINDING_DIVERGENCE,
                   .pc = {sm->check->exit_pc[warp], b->barrier_pc},
                   .thread = {first_thread(b, warp) + bits_lowest(exited),
                              first_thread(b, waiting) + bits_lowest(sm->warps[waiting].live)}},
               b, t);
        return;
    }
}

/* ---- one access to one piece -------------------------------------------------------------------- */

/* One warp instruction under examination. */
struct visit {
    struct check *check;
    const struct memop *op;
    const struct block *b;
    uint64_t start, fresh; /* of the block's interval */
    uint64_t synced;       /* strict: of the warp */
    uint64_t record;       /* of the instruction: lane 0 */
    uint32_t base;         /* of the part in the SM's shared memory */
};

/* Does a barrier, or the warp's own order, stand between the record and this lane's access? */
static bool ordered(const struct visit *v, uint64_t record, uint32_t lane) {
    if (record < v->start) return true;
    if ((record ^ v->record) & REC_WARP) return false;
    if ((record & REC_LANE) == lane) return true;
    if (record >> REC_CLOCK == v->record >> REC_CLOCK) return false; /* the same instruction */
    return !v->check->strict || record < v->synced;
}

static uint64_t unordered(const struct visit *v, uint64_t first, uint64_t second, uint32_t lane) {
    if (!ordered(v, first, lane)) return first;
    return ordered(v, second, lane) ? 0 : second;
}

static bool own(const struct visit *v, uint64_t record, uint32_t lane) {
    return ((record ^ (v->record | lane)) & (v->check->strict ? REC_WARP | REC_LANE : REC_WARP)) ==
           0;
}

/* Not needed any more to find races with this warp; another warp's may be found through this access as well. */
static bool spent(const struct visit *v, uint64_t record) {
    return record < v->start ||
           (v->check->strict && record < v->synced && !((record ^ v->record) & REC_WARP));
}

/* Strict: two threads of a warp make way for one of another, since syncwarp does not order those. */
static void note(const struct visit *v, uint64_t *first, uint64_t *second, uint32_t lane) {
    const uint64_t record = v->record | lane;
    const uint64_t several = *first < v->start ? 0 : *first & REC_SEVERAL;
    if (spent(v, *first) || own(v, *first, lane)) {
        *first = record | several;
    } else if (spent(v, *second) || own(v, *second, lane) ||
               (!((*first ^ *second) & REC_WARP) && ((*first ^ record) & REC_WARP))) {
        *second = record;
        *first |= REC_SEVERAL;
    }
}

static void found(const struct visit *v, enum finding_kind kind, uint64_t earlier, uint32_t lane,
                  uint32_t cell) {
    const uint32_t thread = first_thread(v->b, v->op->warp) + lane;
    const uint32_t other =
        earlier ? first_thread(v->b, slot_of(earlier)) + ((uint32_t)earlier & REC_LANE) : thread;
    report(v->op->sm,
           (struct finding){.kind = kind,
                            .pc = {earlier ? pc_of(earlier) : v->op->pc, v->op->pc},
                            .thread = {other, thread},
                            .address = (cell << v->check->shift) - v->base},
           v->b, v->op->t);
}

static void found_race(const struct visit *v, uint64_t first, uint64_t second, uint32_t lane,
                       uint32_t cell) {
    const uint64_t earlier = unordered(v, first, second, lane);
    if (earlier) found(v, FINDING_RACE, earlier, lane, cell);
}

/* Stores of the value that is there do no harm; of different values one wins, and the source says which only if it
 * is not one instruction that stores them. */
static void found_overwritten(const struct visit *v, uint32_t lane, uint32_t cell,
                              const uint8_t *value) {
    struct check *c = v->check;
    const uint32_t bytes = 1u << c->shift;
    uint8_t *old = c->values + ((size_t)cell << c->shift);
    if (memcmp(old, value, bytes) != 0) {
        const uint64_t earlier = unordered(v, c->newest[cell].write, c->other[cell].write, lane);
        if (earlier)
            found(v, pc_of(earlier) == v->op->pc ? FINDING_CONFLICT : FINDING_RACE, earlier, lane,
                  cell);
        memcpy(old, value, bytes);
    }
}

static void visit_cell(const struct visit *v, uint32_t lane, uint32_t cell, const uint8_t *value) {
    const uint32_t op = v->op->u->op;
    struct check *c = v->check;
    struct cell *newest = &c->newest[cell], *other = &c->other[cell];
    struct cell none = {0, 0}, *atomics = c->atomics ? &c->atomics[cell] : &none;
    if (op != OP_ST_SHARED && newest->write < v->fresh && atomics->write < v->fresh)
        found(v, FINDING_UNINITIALISED, 0, lane, cell);
    if (op == OP_ST_SHARED) found_overwritten(v, lane, cell, value);
    else found_race(v, newest->write, other->write, lane, cell);
    if (op != OP_LD_SHARED) found_race(v, newest->read, other->read, lane, cell);
    if (op == OP_ATOM_SHARED) {
        memcpy(c->values + ((size_t)cell << c->shift),
               v->op->sm->shared + ((size_t)cell << c->shift), 1u << c->shift);
        note(v, &atomics->write, &atomics->read, lane);
        return;
    }
    found_race(v, atomics->write, atomics->read, lane, cell);
    if (op == OP_LD_SHARED) note(v, &newest->read, &other->read, lane);
    else note(v, &newest->write, &other->write, lane);
}

/* ---- one access of a warp --------------------------------------------------------------------------- */

static void visit_lanes(const struct visit *v, uint32_t pieces) {
    const struct memop *op = v->op;
    const uint32_t bytes = 1u << v->check->shift;
    const uint32_t *rows[4] = {NULL};
    if (op->u->op == OP_ST_SHARED) memop_data_rows(op, rows);
    for (uint32_t left = op->active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left), first = op->addr[lane] >> v->check->shift;
        uint32_t value[4] = {0};
        for (uint32_t word = 0; word < 4 && rows[word]; word++) value[word] = rows[word][lane];
        for (uint32_t k = 0; k < pieces; k++)
            visit_cell(v, lane, first + k, (const uint8_t *)value + k * bytes);
    }
}

/* The pieces that an instruction touches: `pieces` from each of these on. */
struct span {
    uint32_t count, pieces;
    uint32_t cell[32], lane[32];
    bool distinct; /* no two lanes touch the same piece, for sure */
};

static void spread(const struct visit *v, struct span *s) {
    const struct memop *op = v->op;
    const uint32_t shift = v->check->shift, width = op->u->width;
    uint32_t descents = 0, differ = 0;
    s->count = 0;
    s->pieces = width >> shift;
    if (op->active == ~0u) {
        for (uint32_t lane = 0; lane < 32; lane++) {
            s->cell[lane] = op->addr[lane] >> shift;
            s->lane[lane] = lane;
        }
        s->count = 32;
    } else {
        for (uint32_t left = op->active; left; left &= left - 1) {
            const uint32_t lane = bits_lowest(left);
            s->cell[s->count] = op->addr[lane] >> shift;
            s->lane[s->count++] = lane;
        }
    }
    for (uint32_t i = 1; i < s->count; i++) {
        descents |= s->cell[i] <= s->cell[i - 1];
        differ |= s->cell[i] ^ s->cell[0];
    }
    s->distinct = !descents;
    /* One lane stands for a warp that loads one value, unless lanes are to be told apart. */
    if (!differ && op->u->op == OP_LD_SHARED && !v->check->strict) s->count = 1;
}

/* Not the thread's (warp's) own, or not its alone, and not ordered by a barrier. */
static uint32_t foreign(const struct visit *v, uint64_t record, uint32_t lane, uint32_t who) {
    return (uint32_t)(record >= v->start) &
           (uint32_t)((((uint32_t)record ^ (uint32_t)(v->record | lane)) & who) != 0);
}

/* Nearly all loads race with nothing and find all they read written. False: look closer. */
static bool quiet_load(const struct visit *v, const struct span *s) {
    struct check *c = v->check;
    const uint32_t who = REC_SEVERAL | REC_WARP | (c->strict ? REC_LANE : 0);
    uint32_t trouble = 0, news = c->strict;
    for (uint32_t k = 0; k < s->pieces; k++)
        for (uint32_t i = 0; i < s->count; i++) {
            const struct cell cell = c->newest[s->cell[i] + k];
            trouble |= (uint32_t)(cell.write < v->fresh) | foreign(v, cell.write, s->lane[i], who);
            news |= (uint32_t)(cell.read < v->start) |
                    (foreign(v, cell.read, s->lane[i], REC_WARP) & !(cell.read & REC_SEVERAL));
        }
    if (trouble) return false;
    for (uint32_t k = 0; news && k < s->pieces; k++)
        for (uint32_t i = 0; i < s->count; i++)
            note(v, &c->newest[s->cell[i] + k].read, &c->other[s->cell[i] + k].read, s->lane[i]);
    return true;
}

static bool quiet_store(const struct visit *v, const struct span *s) {
    struct check *c = v->check;
    const uint32_t who = REC_SEVERAL | REC_WARP | (c->strict ? REC_LANE : 0);
    uint32_t trouble = !s->distinct;
    for (uint32_t k = 0; !trouble && k < s->pieces; k++)
        for (uint32_t i = 0; i < s->count; i++) {
            const struct cell cell = c->newest[s->cell[i] + k];
            trouble |=
                foreign(v, cell.write, s->lane[i], who) | foreign(v, cell.read, s->lane[i], who);
        }
    if (trouble) return false;
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t k = 0; k < s->pieces; k++)
            c->newest[s->cell[i] + k].write = v->record | s->lane[i];
        const uint32_t at = v->op->addr[s->lane[i]];
        for (uint32_t k = 0; k < v->op->u->width; k++)
            c->values[at + k] = v->op->sm->shared[at + k];
    }
    return true;
}

void check_access(const struct memop *op) {
    struct sm *sm = op->sm;
    struct check *c = sm->check;
    const struct block *b = &sm->blocks[op->w->block];
    const struct interval *i = interval_of(sm, b);
    const bool dynamic = op->u->flags & INSN_DYNAMIC;
    const struct visit v = {
        .check = c,
        .op = op,
        .b = b,
        .start = i->start,
        .fresh = i->fresh[dynamic],
        .synced = c->synced[op->warp],
        .record = ++c->clock << REC_CLOCK | (uint64_t)op->pc << REC_PC | (uint64_t)op->warp << 5,
        .base = dynamic ? b->dynamic_base : b->static_base,
    };
    struct span s;
    spread(&v, &s);
    if (!c->atomics) {
        if (op->u->op == OP_LD_SHARED && quiet_load(&v, &s)) return;
        if (op->u->op == OP_ST_SHARED && quiet_store(&v, &s)) return;
    }
    visit_lanes(&v, s.pieces);
}

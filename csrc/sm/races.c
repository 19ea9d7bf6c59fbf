/* Races: every access to shared memory is held against the tags of those before it. */
#include "sm/races.h"

#include <assert.h>
#include <string.h>

#include "sm/barrier_words.h"
#include "sm/lsu.h"

static uint32_t thread_of(const struct visit *v, uint32_t tag) {
    return first_thread(v->b, (tag & TAG_WARP) >> 5) + (tag & TAG_LANE);
}

static void found(const struct visit *v, enum finding_kind kind, uint32_t earlier, uint32_t pc,
                  uint32_t piece, uint32_t lane) {
    check_report(v->op->sm, v->b, v->op->t,
                 (struct finding){.kind = kind,
                                  .pc = {pc, v->op->pc},
                                  .thread = {thread_of(v, earlier), thread_of(v, v->tag | lane)},
                                  .address = address_of(v, piece) - v->base});
}

/* Do two instructions stand in one line of the source? Copies of an unrolled loop do. */
static bool same_line(const struct visit *v, uint32_t pc) {
    const struct program *p = v->op->sm->m->program;
    return pc == v->op->pc || (p->line[pc] && p->line[pc] == p->line[v->op->pc]);
}

/* What two accesses are that nothing orders but, within a warp, its lockstep. One line that stores
 * different values of several threads says that any of them may win. */
static enum finding_kind kind_of(const struct visit *v, enum access_class class, uint32_t tag,
                                 uint32_t pc) {
    if (!v->check->strict && !((tag ^ v->tag) & TAG_WARP)) return FINDING_LOCKSTEP;
    const bool any = class == BY_STORE && v->op->u->op == OP_ST_SHARED && same_line(v, pc);
    return any ? FINDING_CONFLICT : FINDING_RACE;
}

/* The tag of an access of the class that nothing orders before this lane's, rather one of another
 * warp; 0: there is none. */
static uint32_t unordered(const struct visit *v, enum access_class class, uint32_t piece,
                          uint32_t lane, uint32_t *pc) {
    const struct check *c = v->check;
    uint32_t tag = 0;
    for (uint32_t which = 2; which-- > 0;) {
        const uint32_t its = *tag_at(c, class, which, piece);
        if (ordered(v, its, lane) || (tag && !((its ^ v->tag) & TAG_WARP))) continue;
        tag = its, *pc = *pc_at(c, class, which, piece);
    }
    return tag;
}

/* Report this lane's access if nothing orders one of the class before it. */
static void find_race(const struct visit *v, enum access_class class, uint32_t piece,
                      uint32_t lane) {
    if (class == BY_ATOMIC && !v->check->atomics) return;
    uint32_t pc = 0;
    const uint32_t tag = unordered(v, class, piece, lane, &pc);
    if (!tag || flags_between(&v->check->flags, v->op, address_of(v, piece), pc)) return;
    if (class != BY_STORE && barrier_words_polled(v->op, address_of(v, piece), pc)) return;
    found(v, kind_of(v, class, tag, pc), tag, pc, piece, lane);
}

/* Note that this lane stores what another thread has stored. */
static void find_same(const struct visit *v, uint32_t piece, uint32_t lane) {
    uint32_t pc = 0;
    const uint32_t tag = unordered(v, BY_STORE, piece, lane, &pc);
    if (tag) found(v, FINDING_SAME_VALUE, tag, pc, piece, lane);
}

/* Has anybody written the piece since the block got it? */
static bool written(const struct visit *v, uint32_t piece) {
    const struct check *c = v->check;
    return c->first[piece].tag[BY_STORE] >= v->fresh ||
           (c->atomics && c->atomic[0][piece] >= v->fresh);
}

/* Report a lane's load if the piece has not been written. Compiled code may load further words
 * beside those that it needs: of such a wide load one written word is enough. */
static void find_uninitialised(const struct visit *v, uint32_t piece, uint32_t lane) {
    const uint32_t first = piece_of(v, v->op->addr[lane]);
    const bool wide = v->op->u->width > 4 && v->op->sm->m->program->sass;
    if (written(v, piece)) return;
    for (uint32_t k = 0; wide && k < v->pieces; k++)
        if (written(v, first + k)) return;
    found(v, FINDING_UNINITIALISED, v->tag | lane, v->op->pc, piece, lane);
}

/* What the lane stores to a piece. */
static uint32_t stored(const struct visit *v, uint32_t piece, uint32_t lane) {
    const uint32_t at = address_of(v, piece) - v->op->addr[lane], bits = 8u << v->check->shift;
    assert(at < v->op->u->width);
    const uint32_t word = v->data[at / 4][lane] >> at % 4 * 8;
    return bits == 32 ? word : word & ((1u << bits) - 1);
}

/* Report the race with the store whose value this lane's store replaces; only a note if both values
 * are the same. */
static void find_overwritten(const struct visit *v, uint32_t piece, uint32_t lane) {
    const uint32_t shift = v->check->shift, value = stored(v, piece, lane);
    uint32_t there = 0;
    for (uint32_t other = lane; other-- > 0;) {
        if (!(v->op->active >> other & 1)) continue;
        if (piece - piece_of(v, v->op->addr[other]) >= v->pieces) continue;
        const bool same = stored(v, piece, other) == value;
        found(v, same ? FINDING_SAME_VALUE : FINDING_CONFLICT, v->tag | other, v->op->pc, piece,
              lane);
        if (same) return;
        break;
    }
    if (v->recorded) return;
    memcpy(&there, v->op->sm->shared + address_of(v, piece), (size_t)1 << shift);
    if (there != value) find_race(v, BY_STORE, piece, lane);
    else find_same(v, piece, lane);
}

/* Does an atomic read? To exchange without looking at what was there is to store, and to set or
 * clear bits so is to initialise those. */
static bool reads(const struct uop *u) {
    const uint32_t s = u->sub;
    const bool bits = s == ATOM_AND || s == ATOM_OR || s == ATOM_AND64 || s == ATOM_OR64;
    return !bits && (u->dst_count || (s != ATOM_EXCH && s != ATOM_EXCH64));
}

static void examine(const struct visit *v, uint32_t piece, uint32_t lane) {
    switch (v->op->u->op) {
    case OP_LD_SHARED:
        find_uninitialised(v, piece, lane);
        find_race(v, BY_STORE, piece, lane);
        find_race(v, BY_ATOMIC, piece, lane);
        break;
    case OP_ST_SHARED:
        find_overwritten(v, piece, lane);
        find_race(v, BY_LOAD, piece, lane);
        find_race(v, BY_ATOMIC, piece, lane);
        break;
    case OP_LD_GLOBAL: /* of a copy, which stores */
        find_race(v, BY_STORE, piece, lane);
        find_race(v, BY_LOAD, piece, lane);
        find_race(v, BY_ATOMIC, piece, lane);
        break;
    default:
        if (reads(v->op->u)) find_uninitialised(v, piece, lane);
        find_race(v, BY_STORE, piece, lane);
        find_race(v, BY_LOAD, piece, lane);
        break;
    }
}

static void record_piece(const struct visit *v, uint32_t piece, uint32_t lane) {
    const uint32_t op = v->op->u->op;
    const bool stores = op == OP_ST_SHARED || op == OP_LD_GLOBAL;
    leave_tag(v, op == OP_LD_SHARED ? BY_LOAD : stores ? BY_STORE : BY_ATOMIC, piece, lane);
}

typedef void visit_fn(const struct visit *v, uint32_t piece, uint32_t lane);

static void visit_pieces(const struct visit *v, visit_fn *visit) {
    for (uint32_t left = v->op->active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        const uint32_t first = piece_of(v, v->op->addr[lane]);
        for (uint32_t k = 0; k < v->pieces; k++) visit(v, first + k, lane);
    }
}

/* Examine an access lane by lane: all look at what was there before any of them. */
static void visit_lanes(const struct visit *v) {
    visit_pieces(v, examine);
    visit_pieces(v, record_piece);
}

static struct visit visit_of(const struct memop *op) {
    struct check *c = op->sm->check;
    const struct block *b = &op->sm->blocks[op->w->block];
    const struct interval *i = &c->blocks[op->w->block];
    const bool dynamic = op->u->flags & INSN_DYNAMIC;
    const uint32_t base = dynamic ? b->dynamic_base : b->static_base;
    return (struct visit){.check = c,
                          .op = op,
                          .b = b,
                          .start = i->start,
                          .fresh = i->fresh[dynamic],
                          .known = c->known[op->warp],
                          .heard = c->flags.heard[op->warp],
                          .tag = c->epoch << TAG_EPOCH | op->warp << 5,
                          .base = base,
                          .pieces = op->u->width >> c->shift,
                          .skew = base & ((1u << c->shift) - 1)};
}

void check_access(const struct memop *op, const uint8_t shape[2]) {
    struct check *c = op->sm->check;
    assert(op->active && op->u->width >> c->shift);
    if (op->u->flags & INSN_DYNAMIC && !c->blocks[op->w->block].holds) check_away(op);
    struct visit v = visit_of(op);
    if (op->u->op == OP_ST_SHARED) lsu_data_rows(op, v.data);
    if (c->atomics || !races_none(&v, shape)) visit_lanes(&v);
    check_flags(op);
}

void check_copy(const struct memop *op, const uint32_t to[32], uint32_t lanes) {
    struct memop store = *op;
    store.active = lanes;
    memcpy(store.addr, to, sizeof store.addr);
    const struct visit v = visit_of(&store);
    visit_lanes(&v);
}

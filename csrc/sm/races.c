/* Races: every access to shared memory is held against the tags of those before it. */
#include <assert.h>
#include <string.h>

#include "base/clones.h"
#include "sm/barrier_words.h"
#include "sm/lsu.h"
#include "sm/shadow.h"
#include "sm/smem.h"

/* One warp instruction under examination. */
struct visit {
    struct check *check;
    const struct memop *op;
    const struct block *b;
    uint32_t start, fresh;       /* of the block's interval */
    const uint32_t (*known)[32]; /* of the warp */
    uint32_t tag;                /* of the instruction: lane 0 */
    uint32_t base;               /* of the part in the SM's shared memory */
    uint32_t skew;               /* of its pieces: the base's remainder */
    uint32_t pieces;             /* per lane, side by side */
    const uint32_t *data[4];     /* what a store stores */
    bool recorded; /* a store whose tags are there already, since it races with nothing before it */
};

/* ---- one lane, one piece: the definition ------------------------------------------------- */

/* The piece at an address. Pieces count from the start of the block's memory, which a small
 * `smm_unit` puts anywhere. */
static uint32_t piece_of(const struct visit *v, uint32_t address) {
    return (address - v->skew) >> v->check->shift;
}

static uint32_t address_of(const struct visit *v, uint32_t piece) {
    return (piece << v->check->shift) + v->skew;
}

static uint32_t *tag_at(const struct check *c, enum access_class class, uint32_t which,
                        uint32_t piece) {
    if (class == BY_ATOMIC) return &c->atomic[which][piece];
    return &(which ? c->second : c->first)[piece].tag[class];
}

static uint16_t *pc_at(const struct check *c, enum access_class class, uint32_t which,
                       uint32_t piece) {
    if (class == BY_ATOMIC) return &c->atomic_pc[which][piece];
    return &(which ? c->second_pc : c->first_pc)[piece].pc[class];
}

/* Has the lane met, since then, the lane of its warp that left the tag? */
static bool known(const struct visit *v, uint32_t tag, uint32_t lane) {
    return tag < v->known[lane][tag & TAG_LANE];
}

/* Does a barrier or a syncwarp stand between the earlier access and this lane's? */
static bool ordered(const struct visit *v, uint32_t tag, uint32_t lane) {
    if (tag < v->start) return true;
    if ((tag ^ v->tag) & TAG_WARP) return false;
    return (tag & TAG_LANE) == lane || known(v, tag, lane);
}

/* Is a tag not needed to find races any more, given this lane's access? */
static bool replaceable(const struct visit *v, uint32_t tag, uint32_t lane) {
    if (tag < v->start || !((tag ^ (v->tag | lane)) & TAG_THREAD)) return true;
    return !((tag ^ v->tag) & TAG_WARP) && known(v, tag, lane);
}

/* Leave the tag of a lane's access. One of two threads of a warp makes way for a thread of another
 * warp, since neither lockstep nor a syncwarp orders those. */
static void note(const struct visit *v, enum access_class class, uint32_t piece, uint32_t lane) {
    struct check *c = v->check;
    uint32_t *first = tag_at(c, class, 0, piece), *second = tag_at(c, class, 1, piece);
    const uint32_t tag = v->tag | lane;
    if (replaceable(v, *first, lane)) {
        *first = tag | (*first < v->start ? 0 : *first & TAG_SEVERAL);
        *pc_at(c, class, 0, piece) = (uint16_t)v->op->pc;
    } else if (replaceable(v, *second, lane) ||
               (!((*first ^ *second) & TAG_WARP) && ((*first ^ tag) & TAG_WARP))) {
        *second = tag;
        *first |= TAG_SEVERAL;
        *pc_at(c, class, 1, piece) = (uint16_t)v->op->pc;
    }
}

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
    if (!tag || (class != BY_STORE && barrier_words_polled(v->op, address_of(v, piece), pc)))
        return;
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

/* Does an atomic read? To exchange without looking at what was there is to store. */
static bool reads(const struct uop *u) {
    return (u->sub != ATOM_EXCH && u->sub != ATOM_EXCH64) || u->dst_count;
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
    note(v, op == OP_LD_SHARED ? BY_LOAD : stores ? BY_STORE : BY_ATOMIC, piece, lane);
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

/* ---- the same for instructions with nothing to report, nearly all of them ---------------- */

/* A half-warp: consecutive pieces from `first` on, or any (several times, for wide accesses). Lanes
 * that take no part are as the lowest one that does. */
struct half {
    bool row;
    uint32_t first, count; /* of a row */
    uint32_t own, spread;  /* tag of a row's piece i: own + (i >> spread) */
    uint32_t piece[16], tag[16];
};

/* Of another thread, or of several, in this interval? */
static inline uint32_t foreign(uint32_t tag, uint32_t start, uint32_t own) {
    const uint32_t who = TAG_THREAD | TAG_SEVERAL;
    return (tag >= start ? 1u : 0u) & (((tag ^ own) & who) != 0 ? 1u : 0u);
}

/* Does a load need a closer look: may it race, or be of memory that was not written? */
static inline uint32_t look_load(const struct visit *v, struct piece p, uint32_t own) {
    const uint32_t store = p.tag[BY_STORE];
    return (store < v->fresh ? 1u : 0u) | foreign(store, v->start, own);
}

static inline uint32_t look_store(const struct visit *v, struct piece p, uint32_t own) {
    return foreign(p.tag[BY_STORE], v->start, own) | foreign(p.tag[BY_LOAD], v->start, own);
}

CLONES static uint32_t look_at_row(const struct visit *visit, const struct half *h, bool store) {
    const struct visit v = *visit;
    const struct piece *p = v.check->first + h->first;
    const uint32_t own = h->own, spread = h->spread, count = h->count;
    uint32_t seen = 0;
    if (store)
        for (uint32_t i = 0; i < count; i++) seen |= look_store(&v, p[i], own + (i >> spread));
    else
        for (uint32_t i = 0; i < count; i++) seen |= look_load(&v, p[i], own + (i >> spread));
    return seen;
}

CLONES static uint32_t look_at_any(const struct visit *visit, const struct half *h, bool store) {
    const struct visit v = *visit;
    uint32_t seen = 0;
    for (uint32_t k = 0; k < v.pieces; k++) {
        const struct piece *p = v.check->first + k;
        if (store)
            for (uint32_t i = 0; i < 16; i++) seen |= look_store(&v, p[h->piece[i]], h->tag[i]);
        else
            for (uint32_t i = 0; i < 16; i++) seen |= look_load(&v, p[h->piece[i]], h->tag[i]);
    }
    return seen;
}

static uint32_t look(const struct visit *v, const struct half *h, bool store) {
    return h->row ? look_at_row(v, h, store) : look_at_any(v, h, store);
}

/* Leave the tags of stores that replace the first ones there. */
CLONES static void record_stores(const struct visit *v, const struct half *h) {
    const uint32_t own = h->own, spread = h->spread, count = h->count, pieces = v->pieces;
    const uint16_t here = (uint16_t)v->op->pc;
    struct piece *restrict p = v->check->first + (h->row ? h->first : 0);
    struct piece_pc *restrict pc = v->check->first_pc + (h->row ? h->first : 0);
    if (h->row)
        for (uint32_t i = 0; i < count; i++)
            p[i].tag[BY_STORE] = own + (i >> spread), pc[i].pc[BY_STORE] = here;
    else
        for (uint32_t k = 0; k < pieces; k++)
            for (uint32_t i = 0; i < 16; i++) {
                const uint32_t at = h->piece[i] + k;
                p[at].tag[BY_STORE] = h->tag[i], pc[at].pc[BY_STORE] = here;
            }
}

static void note_loads(const struct visit *v, const struct half *h) {
    const uint32_t count = h->row ? h->count : 16, pieces = h->row ? 1 : v->pieces;
    for (uint32_t k = 0; k < pieces; k++)
        for (uint32_t i = 0; i < count; i++)
            note(v, BY_LOAD, h->row ? h->first + i : h->piece[i] + k,
                 (h->row ? h->own + (i >> h->spread) : h->tag[i]) & TAG_LANE);
}

/* Would `note` leave all tags as they are? To be asked as long as no syncwarp has ordered lanes. */
CLONES static bool noted(const struct visit *v, const struct half *h) {
    const struct piece *restrict p = v->check->first + h->first;
    const struct piece *restrict q = v->check->second + h->first;
    const uint32_t own = h->own, spread = h->spread, count = h->count, start = v->start;
    uint32_t news = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t load = p[i].tag[BY_LOAD], other = q[i].tag[BY_LOAD];
        const uint32_t differ = load ^ (own + (i >> spread));
        const uint32_t two = (load & TAG_SEVERAL) != 0 ? 1u : 0u,
                       same = (differ & (TAG_WARP | TAG_LANE)) == 0 ? 1u : 0u,
                       paired = (differ & TAG_WARP) == 0 || ((load ^ other) & TAG_WARP) ? 1u : 0u;
        news |= (load < start ? 1u : 0u) | ((same | (two & paired)) ^ 1u);
    }
    return !news;
}

static void record_loads(const struct visit *v, const struct half *h) {
    if (v->check->met || !h->row || !noted(v, h)) note_loads(v, h);
}

/* Are all tags there that `record_stores` has left? Else another lane has stored to the same piece.
 */
static bool apart(const struct visit *v, const struct half *h) {
    const struct piece *first = v->check->first;
    uint32_t differ = 0;
    if (h->row)
        for (uint32_t i = 0; i < h->count; i++)
            differ |= first[h->first + i].tag[BY_STORE] ^ (h->own + (i >> h->spread));
    else
        for (uint32_t i = 0; i < 16; i++) differ |= first[h->piece[i]].tag[BY_STORE] ^ h->tag[i];
    return !differ;
}

/* Write down pieces and tags of 16 lanes from lane0 on, of which `lanes` take part. */
CLONES static void spell_out(struct half *h, const uint32_t addr[32], uint32_t lane0,
                             uint32_t lanes, uint32_t skew, uint32_t shift, uint32_t tag) {
    const uint32_t lead = bits_lowest(lanes), first = (addr[lead] - skew) >> shift;
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t lane = lane0 + i;
        const bool on = lanes >> lane & 1;
        h->piece[i] = on ? (addr[lane] - skew) >> shift : first;
        h->tag[i] = tag | (on ? lane : lead);
    }
}

/* Make a half of 16 lanes, or two: two lanes stand for all that load one word. Returns how many. */
static uint32_t divide(const struct visit *v, uint32_t lane0, uint32_t lanes, uint8_t shape,
                       struct half *h) {
    const uint32_t shift = v->check->shift, width = v->op->u->width;
    const bool load = !v->data[0];
    h->own = v->tag | lane0;
    h->first = piece_of(v, v->op->addr[lane0]);
    h->spread = 2 - shift;
    h->row = true;
    h->count = 16 * v->pieces;
    if (shape == HALF_LINEAR && width == 4) return 1;
    if (shape == HALF_UNIFORM && width >= 4 && load && !v->check->met) {
        h->spread = 31;
        h->count = v->pieces;
        h[1] = h[0];
        h[1].own++;
        return 2;
    }
    h->row = false;
    spell_out(h, v->op->addr, lane0, lanes, v->skew, shift, v->tag);
    for (uint32_t i = 0; i < 16; i++) {
        __builtin_prefetch(&v->check->first[h->piece[i]], 1);
        __builtin_prefetch(&v->check->first_pc[h->piece[i]], 1);
    }
    return 1;
}

/* Examine the whole access at once. True if there was nothing to report: then it is recorded. */
static bool quiet(struct visit *v, const uint8_t shape[2]) {
    const bool store = v->op->u->op == OP_ST_SHARED;
    const uint32_t lanes[2] = {v->op->active & 0xffffu, v->op->active & 0xffff0000u};
    struct half half[4];
    uint32_t seen = 0, count = 0;
    for (uint32_t i = 0; i < 2; i++)
        if (lanes[i]) count += divide(v, 16 * i, lanes[i], shape[i], &half[count]);
    for (uint32_t i = 0; i < count; i++) seen |= look(v, &half[i], store);
    if (seen) return false;
    for (uint32_t i = 0; i < count; i++)
        if (store) record_stores(v, &half[i]);
        else record_loads(v, &half[i]);
    v->recorded = store;
    for (uint32_t i = 0; i < count; i++)
        if (store && !apart(v, &half[i])) return false;
    return true;
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
    if (c->atomics || !quiet(&v, shape)) visit_lanes(&v);
}

void check_copy(const struct memop *op, const uint32_t to[32], uint32_t lanes) {
    struct memop store = *op;
    store.active = lanes;
    memcpy(store.addr, to, sizeof store.addr);
    const struct visit v = visit_of(&store);
    visit_lanes(&v);
}

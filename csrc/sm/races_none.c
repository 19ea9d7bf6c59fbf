/* Accesses with nothing to report: the tags of 16 lanes are looked at at a time, and compilers make
 * vectors of that. What it means to race is defined in races.c, lane by lane. */
#include "base/clones.h"
#include "sm/races.h"
#include "sm/smem.h"

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
            leave_tag(v, BY_LOAD, h->row ? h->first + i : h->piece[i] + k,
                      (h->row ? h->own + (i >> h->spread) : h->tag[i]) & TAG_LANE);
}

/* Would `leave_tag` leave all tags as they are? To be asked as long as no syncwarp has ordered
 * lanes. */
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

bool races_none(struct visit *v, const uint8_t shape[2]) {
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

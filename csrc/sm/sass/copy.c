#include "sm/sass/copy.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "sm/block.h"
#include "sm/check.h"
#include "sm/global.h"
#include "sm/lsu.h"
#include "sm/sass/mbarrier.h"
#include "sm/sass/memory.h"
#include "sm/sass/sass.h"

/* Where each lane's bytes go; false after a fault. */
static bool targets(struct memop *op, struct copy *copy) {
    const struct lanes lanes = memop_lanes(op);
    const struct uop *u = op->u;
    const struct block *b = &op->sm->blocks[op->w->block];
    const uint32_t *from = operand_row(&lanes, u->b), *plus = operand_row(&lanes, u->c),
                   *more = operand_row(&lanes, u->q);
    const uint32_t bytes = op->sm->m->program->meta.shared_bytes;
    for (uint32_t left = op->active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left), at = from[lane] + plus[lane] + more[lane];
        if (at >= bytes || bytes - at < u->width)
            return lsu_fault(op, lane, ERROR_SHARED_BOUNDS, (int32_t)at);
        if (at & (u->width - 1u)) return lsu_fault(op, lane, ERROR_MISALIGNED, (int32_t)at);
        copy->to[lane] = b->static_base + at;
        copy->keep[lane] = u->width;
    }
    return true;
}

/* The active lanes that copy; others write zeros. */
static uint32_t copying(const struct memop *op) {
    const uint32_t number = sass_done(op->u), lanes = op->w->preds[number];
    return op->active & (op->u->sub & COPY_NEGATED ? ~lanes : lanes);
}

static void write_zeros(const struct memop *op, const struct copy *copy, uint32_t lanes) {
    for (; lanes; lanes &= lanes - 1)
        memset(op->sm->shared + copy->to[bits_lowest(lanes)], 0, op->u->width);
}

/* The lanes that copy less than their width, whose array ends within that. */
static uint32_t cut_short(const struct memop *op, const struct copy *copy) {
    uint32_t found = 0;
    for (uint32_t left = op->active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        if (copy->keep[lane] < op->u->width &&
            !buffers_find(&op->sm->m->all, op->addr[lane], op->u->width))
            found |= 1u << lane;
    }
    return found;
}

/* Serve the lanes of a copy in accesses that are under way at once: those that `cut_short` has
 * found in pieces, the largest first, of which each is a power of two. */
static bool serve_pieces(const struct memop *whole, const struct copy *copy, uint32_t found) {
    uint32_t left = 0; /* sizes of accesses that are to come */
    for (uint32_t lane = 0; lane < 32; lane++) left |= found >> lane & 1 ? copy->keep[lane] : 0;
    if (whole->active & ~found) left |= whole->u->width;
    for (bool more = false; left; more = true) {
        const uint32_t width = 1u << (31 - (uint32_t)__builtin_clz(left));
        const bool all = width == whole->u->width;
        struct memop part = *whole;
        struct copy piece = *copy;
        struct uop load = *whole->u;
        left &= ~width;
        part.active = all ? whole->active & ~found : 0;
        for (uint32_t lane = 0; lane < 32 && !all; lane++) {
            const uint32_t before = copy->keep[lane] & ~(2 * width - 1);
            if (!(found >> lane & 1) || !(copy->keep[lane] & width)) continue;
            part.active |= 1u << lane;
            part.addr[lane] += before;
            piece.to[lane] += before;
            piece.keep[lane] = (uint8_t)width;
        }
        load.width = (uint8_t)width;
        part.u = &load;
        part.copy = &piece;
        part.more = more;
        part.follows = left;
        if (!lsu_serve(&part)) return false;
    }
    return true;
}

bool copy_issue(struct memop *op) {
    struct copy copy;
    struct uop load = *op->u;
    if (!targets(op, &copy)) return false;
    struct memop part = *op; /* the lanes that read */
    part.active = copying(op);
    for (uint32_t left = part.active; left && load.sub & COPY_ZFILL; left &= left - 1) {
        const uint32_t lane = bits_lowest(left), tail = part.addr[lane] & (load.width - 1u);
        copy.keep[lane] = (uint8_t)(load.width - tail);
        part.addr[lane] -= tail;
    }
    load.aux = -1;
    part.u = &load;
    part.copy = &copy;
    const uint32_t found = load.sub & COPY_ZFILL ? cut_short(&part, &copy) : 0;
    if (!(found ? serve_pieces(&part, &copy, found) : lsu_serve(&part))) return false;
    write_zeros(&part, &copy, (op->active & ~part.active) | found);
    if (op->sm->check) check_copy(&part, copy.to, op->active);
    return true;
}

void copy_begin(struct memop *op, struct access *a) {
    struct copies *c = &op->sm->copies[op->warp];
    struct copy *copy = &op->sm->copying[a - op->sm->accesses];
    *copy = *op->copy;
    copy->group = (uint16_t)(c->open % COPY_GROUPS);
    c->pending[copy->group]++;
    copy->arrival = op->sm->arrivals ? mbarrier_awaits(op->sm, op->warp) : 0;
    a->sink = SINK_SHARED;
    a->rows = a->data[0]; /* loaded words wait here until all have come */
    for (uint32_t i = 0; i < memop_words(a->width); i++) a->dst[i] = (uint16_t)i;
}

/* Groups are complete in their order. */
static void advance(struct copies *c) {
    while (c->first != c->open && !c->pending[c->first % COPY_GROUPS]) c->first++;
}

void copy_answered(struct sm *sm, struct access *a, uint64_t t) {
    struct warp *w = &sm->warps[a->warp];
    struct copies *c = &sm->copies[a->warp];
    const struct copy *copy = &sm->copying[a - sm->accesses];
    assert(a->pending && w->accesses_pending);
    if (a->pending == 1) {
        for (uint32_t left = a->mask; left; left &= left - 1) {
            const uint32_t lane = bits_lowest(left);
            uint32_t words[4];
            for (uint32_t i = 0; i < memop_words(a->width); i++) words[i] = a->data[i][lane];
            memset((uint8_t *)words + copy->keep[lane], 0, a->width - copy->keep[lane]);
            memcpy(sm->shared + copy->to[lane], words, a->width);
        }
        c->pending[copy->group]--;
        advance(c);
        if (sm->arrivals) mbarrier_copied(sm, a->warp, copy->arrival, t);
        a->dst[0] = OPERAND_NONE; /* no register waits */
    }
    const bool waits = c->goal && c->first >= c->goal;
    if (waits) {
        c->goal = 0;
        w->state = WARP_RUNNING;
        warp_refresh(sm, a->warp, t, WAIT_GLOBAL);
    }
    global_segment_done(sm, a, t);
}

void copy_commit(struct sm *sm, uint32_t warp) {
    struct copies *c = &sm->copies[warp];
    if (c->open - c->first < COPY_GROUPS - 1) c->open++;
    advance(c);
}

bool copy_wait(struct sm *sm, uint32_t warp, uint32_t left) {
    struct copies *c = &sm->copies[warp];
    if (c->open - c->first <= left) return true;
    c->goal = c->open - left;
    sm->warps[warp].state = WARP_COPIES;
    warp_sleep(sm, warp, WAIT_GLOBAL);
    return false;
}

#include "chip/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/clones.h"

/* ---- construction ------------------------------------------------------------------------ */

/* How many rows there are: two per warp slot, one per place, and one to compute in. */
static size_t row_count(size_t slots) { return 2 * slots + ROWS + 1; }

uint64_t order_bytes(const struct config *cfg, bool looks) {
    const size_t slots = (size_t)cfg->sm_count * cfg->max_warps_sm;
    return looks ? row_count(slots) * (slots + ROWS) * sizeof(uint32_t) : 0;
}

bool order_init(struct order *o, const struct config *cfg, bool looks) {
    const size_t slots = (size_t)cfg->sm_count * cfg->max_warps_sm, width = slots + ROWS;
    *o = (struct order){.now = 1,
                        .grid = 1,
                        .slots = cfg->max_warps_sm,
                        .count = (uint32_t)slots,
                        .width = (uint32_t)width,
                        .looks = looks};
    o->warp = calloc(slots, sizeof *o->warp);
    if (!o->warp || !looks) return o->warp != NULL;
    o->informed = malloc(order_bytes(cfg, looks)); /* each row is cleared when it comes into use */
    o->asked = calloc(slots * (ROWS / 64), sizeof *o->asked);
    o->used = calloc(ROWS, sizeof *o->used);
    if (!o->informed || !o->asked || !o->used) return false;
    o->open = o->informed + slots * width;
    o->places = o->open + slots * width;
    o->joint = o->places + ROWS * width;
    return true;
}

void order_free(struct order *o) {
    free(o->warp);
    free(o->informed);
    free(o->asked);
    free(o->used);
}

/* ---- rows -------------------------------------------------------------------------------- */

CLONES static void join(uint32_t *restrict into, const uint32_t *restrict from, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) into[i] = into[i] > from[i] ? into[i] : from[i];
}

static uint32_t *row(const struct order *o, uint32_t *rows, uint32_t number) {
    return rows + (size_t)number * o->width;
}

/* A row that is to be written, empty if it was not there. */
static uint32_t *made_row(const struct order *o, uint32_t *rows, uint32_t number, bool *there) {
    uint32_t *its = row(o, rows, number);
    if (!*there) memset(its, 0, o->width * sizeof *its);
    *there = true;
    return its;
}

static uint64_t *asked_by(const struct order *o, uint32_t slot) {
    return o->asked + (size_t)slot * (ROWS / 64);
}

/* ---- events ------------------------------------------------------------------------------ */

/* The epochs last for four thousand million accesses; from then on all accesses count as ordered.
 */
uint32_t order_now(struct order *o) {
    if (o->now == UINT32_MAX - 1) o->grid = UINT32_MAX;
    else o->now++;
    return o->now;
}

static void start(struct order *o, const struct event *e, uint32_t first, uint32_t now) {
    for (uint64_t left = e->warps; left; left &= left - 1) {
        const uint32_t slot = first + (uint32_t)__builtin_ctzll(left);
        struct knowledge *k = &o->warp[slot];
        if (k->asks) memset(asked_by(o, slot), 0, ROWS / 8);
        *k = (struct knowledge){.block = e->block, .start = now, .meet = now};
    }
}

/* Let all warps of a block know what one of them knows, or lay open what one has laid open. */
static void share(struct order *o, uint64_t warps, uint32_t first, uint32_t *rows, bool open) {
    uint32_t *all = NULL;
    for (uint64_t left = warps; left; left &= left - 1) {
        const uint32_t slot = first + (uint32_t)__builtin_ctzll(left);
        const struct knowledge *k = &o->warp[slot];
        if (!(open ? k->open : k->informed)) continue;
        if (all) join(all, row(o, rows, slot), o->width);
        else all = memcpy(o->joint, row(o, rows, slot), o->width * sizeof *all);
    }
    for (uint64_t left = all ? warps : 0; left; left &= left - 1) {
        const uint32_t slot = first + (uint32_t)__builtin_ctzll(left);
        *(open ? &o->warp[slot].open : &o->warp[slot].informed) = true;
        memcpy(row(o, rows, slot), all, o->width * sizeof *all);
    }
}

static void meet(struct order *o, const struct event *e, uint32_t first, uint32_t now) {
    for (uint64_t left = e->warps; left; left &= left - 1) {
        const uint32_t slot = first + (uint32_t)__builtin_ctzll(left);
        order_settle(o, slot, false);
        o->warp[slot].start = o->warp[slot].meet = now;
    }
    if (!o->looks || !(e->warps & (e->warps - 1))) return;
    share(o, e->warps, first, o->informed, false);
    share(o, e->warps, first, o->open, true);
}

/* A fence lays open all that a warp knows, also of its block. It orders the warp's lanes as well,
 * which may hand a lock from one to the next. */
static void fence(struct order *o, const struct event *e, uint32_t first, uint32_t now) {
    const uint32_t slot = first + e->warp;
    struct knowledge *k = &o->warp[slot];
    k->fenced = true;
    if (!o->looks) return;
    k->meet = now;
    order_settle(o, slot, false);
    uint32_t *open = made_row(o, o->open, slot, &k->open);
    if (k->informed) join(open, row(o, o->informed, slot), o->width);
    for (uint64_t left = e->warps; left; left &= left - 1) {
        uint32_t *mate = &open[first + (uint32_t)__builtin_ctzll(left)];
        if (*mate < k->start) *mate = k->start;
    }
    open[slot] = now;
}

void order_event(struct order *o, const struct event *e, uint32_t sm) {
    const uint32_t first = sm * o->slots, now = order_now(o);
    switch ((enum event_kind)e->kind) {
    case EVENT_START: start(o, e, first, now); break;
    case EVENT_GRID:
        o->grid = now;
        meet(o, e, first, now);
        break;
    case EVENT_BARRIER: meet(o, e, first, now); break;
    case EVENT_FENCE: fence(o, e, first, now); break;
    case EVENT_SYNCWARP: o->warp[first + e->warp].meet = now; break;
    case EVENT_ACCESS:
    case EVENT_FLAG:
    case EVENT_HEAP_FREE: break;
    }
}

/* ---- what is published ------------------------------------------------------------------- */

/* Add what was published at a place to what a warp knows, and the accesses that have published
 * there. all: it knows what was published anywhere, already. */
static void learn(const struct order *o, uint32_t *known, uint32_t place, bool all) {
    if (o->used[place] && !all) join(known, row(o, o->places, place), o->width);
    known[o->count + place] = o->now;
}

void order_settle(struct order *o, uint32_t slot, bool settled) {
    struct knowledge *k = &o->warp[slot];
    if (!k->asks) return;
    uint64_t *asked = asked_by(o, slot);
    const bool all = asked[ALL / 64] >> ALL % 64 & 1; /* what is known anywhere has the others */
    uint32_t *known = made_row(o, o->informed, slot, &k->informed);
    if (all && o->used[ALL]) join(known, row(o, o->places, ALL), o->width);
    for (uint32_t word = 0; word < ROWS / 64; word++) {
        for (uint64_t left = asked[word]; left; left &= left - 1)
            learn(o, known, 64 * word + (uint32_t)__builtin_ctzll(left), all);
        if (settled) asked[word] = 0;
    }
    if (settled) k->asks = false;
}

/* The places where lanes go; returns how many, FEW + 1 for more. */
static uint32_t places_of(const uint32_t addr[32], uint32_t lanes, uint32_t places[FEW]) {
    uint32_t count = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t place = order_place(addr[bits_lowest(left)]);
        uint32_t i = 0;
        while (i < count && places[i] != place) i++;
        if (i < count) continue;
        if (count == FEW) return FEW + 1;
        places[count++] = place;
    }
    return count;
}

static void publish(struct order *o, uint32_t slot, uint32_t place) {
    join(made_row(o, o->places, place, &o->used[place]), row(o, o->open, slot), o->width);
}

static void ask(struct order *o, uint32_t slot, uint32_t place) {
    asked_by(o, slot)[place / 64] |= 1ull << place % 64;
}

void order_hand_on(struct order *o, uint32_t slot, const uint32_t addr[32], uint32_t lanes,
                   bool publishes, bool asks) {
    uint32_t places[FEW];
    if (!o->looks || !lanes) return;
    const uint32_t count = places_of(addr, lanes, places);
    const bool crowd = count > FEW;
    for (uint32_t left = asks ? lanes : 0; left; left &= left - 1)
        ask(o, slot, order_place(addr[bits_lowest(left)]));
    if (asks) ask(o, slot, crowd ? ALL : CROWD);
    o->warp[slot].asks |= asks;
    if (!publishes || !o->warp[slot].open) return;
    for (uint32_t i = 0; i < count && !crowd; i++) publish(o, slot, places[i]);
    if (crowd) publish(o, slot, CROWD);
    publish(o, slot, ALL);
}

/* The happens-before order of accesses to global memory, on the whole chip.
 *
 * Time is counted in epochs. A new one begins with each access, and where a block starts, a barrier
 * is complete, or a warp fences or synchronises its lanes. An access happens before a warp's next
 * one if the warp "knows" of it. A warp knows
 *   - its own accesses, except those of other lanes since the lanes last met;
 *   - the accesses of its block before the last barrier, and of all blocks before the last barrier
 * of the grid;
 *   - what other warps have published to it. A fence lays open all that a warp knows; an atomic or
 * a store directly behind the fence publishes that at its address; and a warp that looks there, by
 *     an atomic whose value it takes or by a load that polls, knows it from then on;
 *   - the atomics and stores themselves by which something was published at an address where it has
 *     looked.
 * What a warp knows of others is a row of epochs, as in a vector clock: per warp slot of the chip,
 * it knows all accesses of the slot in earlier epochs; and per place, all that was published there
 * in earlier epochs. A place stands for the addresses with the same lowest bits, so that their
 * number is bounded. What an access to more than FEW places publishes is known to every warp that
 * looks anywhere, and a warp that looks at more than FEW places knows what was published anywhere.
 * So a warp may be taken to know too much, and a race be missed, but never too little. The same
 * holds for blocks that follow each other in one warp slot. */
#ifndef SMMUX_ORDER_H
#define SMMUX_ORDER_H

#include "sm/events.h"

#define PLACES 254u /* number of places that stand for addresses */
#define CROWD  254u /* the place of accesses to more than FEW places */
#define ALL    255u /* the place of all that is published anywhere */
#define ROWS   256u
#define FEW    4u

/* What the warp that is in a warp slot now knows. */
struct knowledge {
    uint32_t block;
    uint32_t start; /* epoch: accesses of its block before it are ordered, by a barrier */
    uint32_t meet;  /* epoch: accesses of its own lanes before it are ordered */
    bool fenced;    /* it has stored nothing since its last fence */
    bool informed;  /* there is a row of what others have published to it */
    bool open;      /* there is a row of what it has laid open */
    bool asks;      /* it has looked at places, and may not know the answers yet */
};

struct order {
    uint32_t now;           /* the current epoch, from 1 on */
    uint32_t grid;          /* epoch: a barrier of the grid orders all accesses before it */
    uint32_t slots, count;  /* warp slots of an SM and of the chip */
    uint32_t width;         /* epochs of a row: one per warp slot, and one per place */
    struct knowledge *warp; /* per slot of the chip */
    bool looks; /* some warp looks at what others publish; without that there are no rows */
    uint32_t *informed, *open, *places; /* rows per warp slot, and per place */
    bool *used;                         /* per place: whether it has a row */
    uint64_t *asked;                    /* per warp slot: a bit for each place that it has asked */
    uint32_t *joint;                    /* a row for intermediate results */
};

/* The thread that did an access, and when. place: where the access has published something, or
 * NO_PLACE. */
struct origin {
    uint32_t epoch, block, slot, lane, place; /* epoch 0: there was none */
};

#define NO_PLACE UINT32_MAX

static inline uint32_t order_place(uint32_t address) { return address / 4 % PLACES; }

enum order_of {
    ORDERED,
    LOCKSTEP, /* ordered, but by the lockstep of a warp alone */
    RACING,
};

/* The bytes that order_init allocates. */
uint64_t order_bytes(const struct config *cfg, bool looks);
/* Begin with warps that know nothing; false: there is no memory. */
bool order_init(struct order *o, const struct config *cfg, bool looks);
void order_free(struct order *o);

/* Begin an epoch, that of the next access, and return it. */
uint32_t order_now(struct order *o);
/* Process an event of an SM that is not an access. */
void order_event(struct order *o, const struct event *e, uint32_t sm);
/* Let a warp that has asked places know what is published there by now. */
void order_settle(struct order *o, uint32_t slot, bool settled);
/* At the addresses of an access's lanes, let the warp publish what it has laid open, look, or do
 * both. */
void order_hand_on(struct order *o, uint32_t slot, const uint32_t addr[32], uint32_t lanes,
                   bool publishes, bool asks);

/* How an earlier access is ordered before the next one of a lane of the warp in a slot. */
static inline enum order_of order_between(const struct order *o, const struct origin *before,
                                          uint32_t slot, uint32_t lane) {
    const struct knowledge *k = &o->warp[slot];
    if (before->epoch < o->grid) return ORDERED;
    if (before->block == k->block) {
        if (before->epoch < k->start) return ORDERED;
        if (before->slot == slot)
            return before->lane == lane || before->epoch < k->meet ? ORDERED : LOCKSTEP;
    }
    if (!k->informed) return RACING;
    const uint32_t *known = o->informed + (size_t)slot * o->width;
    if (before->epoch < known[before->slot]) return ORDERED;
    const bool seen = before->place != NO_PLACE && before->epoch < known[o->count + before->place];
    return seen ? ORDERED : RACING;
}

#endif

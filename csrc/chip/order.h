/* Which accesses to global memory are ordered: what happens before what, on the whole chip.
 *
 * Time is counted in epochs: one begins with each access, and where a block starts, a barrier is
 * complete, or a warp fences or synchronises its lanes. A warp knows of
 *   - what it did itself, but for other lanes since they last met;
 *   - what its block did in front of the last barrier, and all blocks in front of that of the grid;
 *   - what others have published to it: a fence lays open what a warp knows, an atomic or a store
 *     directly behind the fence publishes that at its address, and who looks there, by an atomic
 *     whose value it takes or by a load that polls, knows it from then on;
 *   - what was published at an address, and how: the atomics and stores before it looked there.
 * What a warp knows of others is a row of epochs: one per warp slot of the chip, all that was done
 * there in an earlier epoch; and one per place, all that was published there. Addresses share a
 * bounded number of places, by their lowest bits. What an access to more than FEW places publishes
 * is known to whoever looks anywhere, and who looks at more of them knows what was published
 * anywhere. So one may be taken to know too much, never too little; also of a block that follows
 * another one in its warp slot. */
#ifndef SMMUX_ORDER_H
#define SMMUX_ORDER_H

#include "sm/events.h"

#define PLACES 254u /* of addresses */
#define CROWD  254u /* the place of accesses to many */
#define ALL    255u /* what is published anywhere */
#define ROWS   256u
#define FEW    4u

/* What a warp slot's present warp knows. */
struct knowledge {
    uint32_t block;
    uint32_t start; /* epoch: its block has met since, earlier ones are ordered */
    uint32_t meet;  /* the same of its lanes */
    bool fenced;    /* has stored nothing since its last fence */
    bool informed;  /* there is a row of what others have published to it */
    bool open;      /* there is a row of what it has laid open */
    bool asks;      /* it has looked at places, and may not know the answers yet */
};

struct order {
    uint32_t now;           /* epoch, from 1 on */
    uint32_t grid;          /* all blocks have met since that epoch began */
    uint32_t slots, count;  /* warp slots of an SM and of the chip */
    uint32_t width;         /* of a row: an epoch per warp slot, and one per place */
    struct knowledge *warp; /* per slot of the chip */
    bool looks;             /* threads look at what others publish; else there are no rows */
    uint32_t *informed, *open, *places; /* rows */
    bool *used;                         /* which of the places have rows so far */
    uint64_t *asked;                    /* per slot a bit per place */
    uint32_t *joint;                    /* a row to work with */
};

/* Who did an access, and when. place: where it has published something, NO_PLACE if it has not. */
struct origin {
    uint32_t epoch, block, slot, lane, place; /* epoch 0: nobody */
};

#define NO_PLACE UINT32_MAX

static inline uint32_t order_place(uint32_t address) { return address / 4 % PLACES; }

enum order_of {
    ORDERED,
    LOCKSTEP, /* alone by the lockstep of a warp */
    RACING,
};

/* Bytes that order_init allocates. */
uint64_t order_bytes(const struct config *cfg, bool looks);
/* Nobody knows anything; false: there is no memory. */
bool order_init(struct order *o, const struct config *cfg, bool looks);
void order_free(struct order *o);

/* The epoch of the next access: each begins one. */
uint32_t order_now(struct order *o);
/* An event of an SM, other than an access. */
void order_event(struct order *o, const struct event *e, uint32_t sm);
/* Let a warp that has asked know what its places say by now. */
void order_settle(struct order *o, uint32_t slot, bool settled);
/* A warp publishes what it has laid open where lanes of its access go, looks there, or both. */
void order_hand_on(struct order *o, uint32_t slot, const uint32_t addr[32], uint32_t lanes,
                   bool publishes, bool asks);

/* How an earlier access is ordered before one of the warp in a slot. */
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

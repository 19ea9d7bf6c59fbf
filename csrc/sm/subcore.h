/* A sub-core of an SM: a warp scheduler, the state of its warps as masks, and its units. */
#ifndef SMMUX_SUBCORE_H
#define SMMUX_SUBCORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "base/hints.h"
#include "kernel/decode.h"

#define MAX_SUBCORES 4u
#define NO_WARP      255u /* none has issued yet */
#define MAX_UNITS    8u   /* of one kind, on an SM */

struct sm;

/* What a scheduler would issue next, and when. */
struct choice {
    uint64_t t;
    uint32_t warp;
    uint32_t shared; /* the bit of the unit that it takes, if other sub-cores take that unit, too */
};

/* A warp is a bit of a mask. Warps in `ready` lack only an issue slot and their unit, those in
 * `waiting` become ready at the SM's ready_at, and all others sleep until an event wakes them. */
struct subcore {
    _Alignas(64) uint64_t slot; /* earliest next issue */
    uint64_t ready, waiting;
    uint64_t wake;        /* no warp in `waiting` becomes ready before */
    struct choice choice; /* valid unless the SM's stale bit says otherwise */
    uint32_t last;        /* warp slot that issued last */
    uint32_t queued;      /* the unit that takes turns (see `turned`), as instructions number it */
    uint64_t
        turned; /* warps that have had their turn since that unit's queue was full; 0: no turns */
    uint64_t jumped, jumps; /* warps that have jumped since they began; how many jumps there were */
    uint32_t last_pc;       /* the instruction that issued last, where control bits are obeyed */
    uint64_t reading[2];    /* and when each bank of registers can be read again */
    uint8_t unit[UNIT_COUNT];    /* by `unit` of an instruction: index into units.free */
    uint32_t shared[UNIT_COUNT]; /* by the same: its bit in choice.shared, 0 if no other sub-core
                                    takes that unit */
};

/* The units of an SM. Instructions number the kinds of units that their program takes (decode.h).
 */
struct units {
    uint64_t free[UNIT_KINDS * MAX_SUBCORES]; /* cycle at which a unit, or the first of several, is
                                                 free */
    uint32_t kinds, sfu; /* how many kinds there are; the number of the SFU's kind */
    uint32_t several;    /* bits of the kinds with more units than sub-cores */
    uint64_t each[UNIT_KINDS][MAX_UNITS]; /* cycle at which each unit of those kinds is free */
};

/* Give the sub-cores of an SM their warps and units. */
void subcores_start(struct sm *sm);
/* Under warp_turns: assign the warps of a new block to sub-cores, round robin from the lowest slot
 * on. On a card of CC 9.0 a block begins at the sub-core behind the last block's last warp, or one
 * further if the last block gave every sub-core equally many (warp_turns.csv). */
void subcores_deal_warps(struct sm *sm, uint64_t slots);
/* Under warp_turns: give the warps of a block that starts the lowest free %warpid of their
 * sub-cores. */
void subcores_place_warps(struct sm *sm, uint64_t slots);
/* Has each sub-core room for its warps of a block that is about to start? */
bool subcores_have_room(const struct sm *sm, uint64_t slots);
/* Let a sub-core take one of its several units of a kind, until that cycle. */
void subcore_take_one(struct sm *sm, const struct subcore *s, uint32_t unit, uint64_t until);
/* Let a sub-core take all its units of a kind, until that cycle or later. */
void subcore_hold(struct sm *sm, const struct subcore *s, uint32_t unit, uint64_t until);

#endif

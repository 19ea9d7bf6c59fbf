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
    uint32_t shared; /* bits of units that it may take, and other sub-cores too */
};

/* Warps are bits of masks: ready ones want an issue slot and their unit, waiting ones are ready at
 * ready_at, all others sleep until something happens. */
struct subcore {
    _Alignas(64) uint64_t slot; /* earliest next issue */
    uint64_t ready, waiting;
    uint64_t wake;               /* no waiting warp is ready before */
    struct choice choice;        /* valid unless the SM's stale bit says otherwise */
    uint32_t last;               /* warp slot that issued last */
    uint32_t queued;             /* the `unit` of instructions whose queue is full, */
    uint64_t turned;             /* and warps that have had their turn since then */
    uint32_t last_pc;            /* under dependence control, what it issued, */
    uint64_t reading[2];         /* and when each bank of registers has its next free read */
    uint8_t unit[UNIT_COUNT];    /* per `unit` of an instruction: where units.free has its own */
    uint32_t shared[UNIT_COUNT]; /* a bit for it, if other sub-cores take the same one */
};

/* The units of an SM. Instructions number the kinds of units that their program takes (decode.h).
 */
struct units {
    uint64_t free[UNIT_KINDS * MAX_SUBCORES]; /* when it is: a unit, or the first of several */
    uint32_t kinds, sfu; /* how many kinds there are, and which of them the SFU is */
    uint32_t several;    /* bits of kinds of which there are more than sub-cores */
    uint64_t each[UNIT_KINDS][MAX_UNITS]; /* when each unit of those kinds is free */
};

/* Give the sub-cores of an SM their warps and units. */
void subcores_start(struct sm *sm);
/* Give a block's warps, the lowest slot first, the sub-cores whose turn it is, under warp_turns: on
 * a card of CC 9.0 the next block begins behind the last one, or a sub-core further if that gave
 * each as many (warp_turns.csv). */
void subcores_deal_warps(struct sm *sm, uint64_t slots);
/* Give those of a block that starts the lowest free places there. */
void subcores_place_warps(struct sm *sm, uint64_t slots);
/* Have the sub-cores room for those of a block that is about to start? */
bool subcores_have_room(const struct sm *sm, uint64_t slots);
/* A sub-core takes a unit of a kind of which it has several until that cycle. */
void subcore_take_one(struct sm *sm, const struct subcore *s, uint32_t unit, uint64_t until);
/* A sub-core takes all its units of a kind until that cycle at least. */
void subcore_hold(struct sm *sm, const struct subcore *s, uint32_t unit, uint64_t until);

#endif

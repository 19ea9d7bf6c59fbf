/* Flags in shared memory: locks, latches, and barriers that code makes of atomics. What a warp has
 * done before a fence is published where it does an atomic or a strong store behind it, or a store
 * directly behind it; who looks there, by an atomic whose value is taken, a strong load or one that
 * polls, comes after that. The same as order.h says of global memory, of which the warps of one SM
 * are told here, too: a place stands for words, so that a race may be missed, and none made up. */
#ifndef SMMUX_FLAGS_H
#define SMMUX_FLAGS_H

#include "sm/memop.h"

#define FLAG_PLACES 64u

/* Rows of tags, one per warp slot: tags below are meant. */
struct flags {
    uint32_t heard[MAX_WARPS][MAX_WARPS];    /* what comes before all that the warp does now */
    uint32_t open[MAX_WARPS][MAX_WARPS];     /* what the warp has laid open by its last fence */
    uint32_t places[FLAG_PLACES][MAX_WARPS]; /* what is published there */
    bool used[FLAG_PLACES];
    bool opened[MAX_WARPS]; /* the warp has fenced */
    bool fenced[MAX_WARPS]; /* and stored nothing to shared memory since */
};

struct check;

/* A warp slot has another warp, which knows nothing. */
void flags_start(struct flags *f, uint32_t warp);
/* A warp of these of a block fences. now: the first tag behind it; start: that of the interval. */
void flags_fence(struct flags *f, uint32_t warp, uint64_t mates, uint32_t start, uint32_t now);
/* Let a warp's access to shared memory publish or look; false if it does neither. */
bool flags_access(struct flags *f, const struct memop *op, bool *publishes, bool *looks);

/* Does an access look at what others publish where it goes, and does it publish? */
bool flags_looks(const struct machine *m, const struct uop *u, uint32_t pc);
bool flags_publishes(const struct flags *f, const struct memop *op);
/* Do an access and an earlier one by that instruction of the same address wait for each other,
 * rather than race? */
bool flags_between(const struct flags *f, const struct memop *op, uint32_t address, uint32_t pc);

#endif

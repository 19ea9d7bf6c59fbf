/* What lanes tell each other: shuffles, votes, matches, reductions. Only lanes that take part are
 * asked; those are `mask`. */
#include "base/bits.h"
#include "sm/sass/sass.h"

static void put(uint32_t *d, uint32_t value, uint32_t mask) {
    EACH_LANE d[lane] = SASS_KEEP(d[lane], value);
}

/* PTX shfl: c has the last lane, or of an upward one the first, and in bits 8 to 12 which bits of
 * the lane's number name its segment. A lane whose source lies outside keeps its own value; one
 * that does not take part gives 0. */
SASS_FN(SHFL) {
    SASS_ROWS
    const uint32_t mode = sass_mod(u, 9, 3);
    uint32_t source[32], holds[32], value[32];
    EACH_LANE {
        const uint32_t own = (uint32_t)lane, by = rb[lane] & 31, clamp = rc[lane] & 31,
                       segment = rc[lane] >> 8 & 31, end = (own & segment) | (clamp & ~segment);
        const uint32_t from = mode == 0   ? (own & segment) | (by & ~segment)
                              : mode == 1 ? own - by
                              : mode == 2 ? own + by
                                          : own ^ by;
        holds[lane] = mode == 1 ? (int32_t)from >= (int32_t)end : from <= end;
        source[lane] = holds[lane] ? from & 31 : own;
    }
    for (uint32_t lane = 0; lane < 32; lane++) value[lane] = ra[source[lane]];
    EACH_LANE value[lane] = mask >> source[lane] & 1 ? value[lane] : 0;
    EACH_LANE d[lane] = SASS_KEEP(d[lane], value[lane]);
    sass_write(u, w, SHIFT_PD0, sass_lanes(holds), mask);
}

/* The lanes of mask in which the predicate holds; *all is what any, all or none differing says. */
static uint32_t vote(const struct uop *u, const struct lanes *w, uint32_t mask, uint32_t *all) {
    const uint32_t mode = sass_mod(u, 9, 3), ballot = sass_read(u, w, SHIFT_PS0) & mask;
    const bool every = ballot == mask, some = ballot != 0;
    *all = (mode == 0 ? some : mode == 1 ? every : every | !some) ? ~0u : 0;
    return ballot;
}

SASS_FN(VOTE) {
    SASS_ROWS
    uint32_t all;
    put(d, vote(u, w, mask, &all), mask);
    sass_write(u, w, SHIFT_PD0, all, mask);
}

SASS_FN(VOTEU) {
    SASS_ROWS
    uint32_t all;
    put(d, vote(u, w, mask, &all), ~0u);
    sass_write(u, w, SHIFT_PD0, all, ~0u);
}

/* Of each lane the lanes with the same value; or all lanes and true if all have that, else 0. */
static void match(const struct uop *u, const struct lanes *w, uint32_t mask, const uint32_t *low,
                  const uint32_t *high) {
    uint32_t *const d = destination_row(w, u->d), same[32] = {0};
    for (uint32_t left = mask; left;) {
        const uint32_t equal = sass_alike(low, high, bits_lowest(left)) & mask;
        EACH_LANE same[lane] = equal >> lane & 1 ? equal : same[lane];
        left &= ~equal;
    }
    const bool all = sass_mod(u, 9, 1), every = same[bits_lowest(mask)] == mask;
    for (uint32_t lane = 0; lane < 32; lane++)
        if (mask >> lane & 1) d[lane] = all && !every ? 0 : same[lane];
    sass_write(u, w, SHIFT_PD0, every ? ~0u : 0, mask);
}

SASS_FN(MATCH) {
    const uint32_t *const ra = operand_row(w, u->a);
    match(u, w, mask, ra, ra);
}

SASS_FN(MATCH_64) {
    const uint32_t *const ra = operand_row(w, u->a);
    match(u, w, mask, ra, ra + 32);
}

/* A uniform register has what the lanes have together. */
SASS_FN(REDUX) {
    SASS_ROWS
    const uint32_t what = sass_mod(u, 9, 7), bias = sass_mod(u, 12, 1) ? 0x80000000u : 0;
    uint32_t sum = 0, all = ~0u, any = 0, odd = 0, most = 0, least = ~0u;
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!(mask >> lane & 1)) continue;
        const uint32_t value = ra[lane], biased = value ^ bias;
        sum += value, all &= value, any |= value, odd ^= value;
        if (biased > most) most = biased;
        if (biased < least) least = biased;
    }
    const uint32_t results[8] = {all, sum, least ^ bias, most ^ bias, any, odd, all, all};
    put(d, results[what], ~0u);
}

/* The lowest of the lanes in which a predicate holds is elected; if there is none, all ones. */
SASS_FN(ELECT) {
    SASS_ROWS
    const uint32_t there = sass_read(u, w, SHIFT_PS0) & mask, chosen = there & (0 - there);
    put(d, there ? bits_lowest(there) : ~0u, ~0u);
    sass_write(u, w, SHIFT_PD0, chosen, mask);
}

/* The value of the lowest lane. The predicate says which lanes have another, or had it set. */
SASS_FN(R2UR) {
    SASS_ROWS
    const uint32_t value = ra[bits_lowest(mask)];
    uint32_t others[32];
    EACH_LANE others[lane] = ra[lane] != value;
    const uint32_t old = sass_mod(u, 9, 1) ? w->preds[sass_pred(u, SHIFT_PD0)] : 0;
    put(d, value, ~0u);
    sass_write(u, w, SHIFT_PD0, sass_lanes(others) | old, mask);
}

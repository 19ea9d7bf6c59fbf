/* Functions of predicates, and predicates as the bits of a register. */
#include "base/bits.h"
#include "sm/sass/sass.h"

/* A source of PLOP3: a predicate, or the sign of a register. */
static uint32_t source(const struct uop *u, const struct lanes *w, uint32_t row, uint32_t bit,
                       enum sass_predicates shift) {
    if (!sass_mod(u, bit, 1)) return sass_read(u, w, shift);
    const uint32_t *const values = operand_row(w, row);
    uint32_t signs[32];
    EACH_LANE signs[lane] = values[lane] >> 31;
    return sass_lanes(signs);
}

/* Two functions of three predicates, each bit a << 2 | b << 1 | c of its table. */
SASS_FN(PLOP3) {
    const uint32_t a = source(u, w, u->a, 9, SHIFT_PS0), b = source(u, w, u->b, 10, SHIFT_PS1),
                   c = source(u, w, u->c, 11, SHIFT_PS2);
    sass_write(u, w, SHIFT_PD0, sass_lut3(a, b, c, sass_terms(u->q & 0xffu)), mask);
    sass_write(u, w, SHIFT_PD1, sass_lut3(a, b, c, sass_terms(u->q >> 8 & 0xffu)), mask);
}

/* The predicates, or the uniform ones: of a warp's 16 the first or the second half. */
static uint32_t *predicates(const struct uop *u, const struct lanes *w) {
    return w->preds + (u->aux >> SHIFT_UNIFORM & MASK_UNIFORM ? SASS_PREDS / 2 : 0);
}

SASS_FN(R2P) {
    SASS_ROWS
    const uint32_t shift = sass_mod(u, 9, 3) * 8;
    uint32_t *const preds = predicates(u, w);
    for (uint32_t left = u->q & 0x7fu; left; left &= left - 1) {
        const uint32_t i = bits_lowest(left);
        uint32_t bits[32];
        EACH_LANE bits[lane] = ra[lane] >> (shift + i);
        preds[i] = (preds[i] & ~mask) | (sass_lanes(bits) & mask);
    }
}

/* The eighth bit is that of no predicate, and 0. */
SASS_FN(P2R) {
    SASS_ROWS
    const uint32_t shift = sass_mod(u, 9, 3) * 8, which = u->q & 0xffu;
    const uint32_t *const preds = predicates(u, w);
    EACH_LANE {
        uint32_t bits = 0;
        for (uint32_t i = 0; i < 7; i++) bits |= (preds[i] >> lane & 1) << i;
        d[lane] = SASS_KEEP(d[lane], (ra[lane] & ~(which << shift)) | (bits & which) << shift);
    }
}

#include "sm/sass/rounding.h"
#include "sm/sass/take.h"

#define FLOAT_MODS                                                                                 \
    const uint32_t ftz = sass_mod(u, 9, 1), sat = sass_mod(u, 10, 1);                              \
    const enum rounding mode = (enum rounding)sass_mod(u, 11, 3);

/* An operand of the lane: as it is, and with subnormals as zeros if the modifiers say so. */
#define PLAIN(row, take)   bits_to_f32(taken(row[lane], take))
#define FLUSHED(row, take) bits_to_f32(flushed(taken(row[lane], take), 1))
#define FLOAT(row, take)   bits_to_f32(flushed(taken(row[lane], take), ftz))

/* The result of a loop's operations. `near`, of what takes an operand, rounds to the nearest;
 * nearly all instructions say no more than that, and .FTZ at most: loops of their own, without a
 * choice in them, are what compilers vectorise. `exact` is in double precision, rounded to odd if
 * need be, for the other directions. */
#define FLOAT_LANES(near, exact)                                                                   \
    if (mode == TO_NEAREST && !sat && !ftz) {                                                      \
        EACH_LANE d[lane] = SASS_KEEP(d[lane], f32_result(near(PLAIN)));                           \
    } else if (mode == TO_NEAREST && !sat) {                                                       \
        EACH_LANE d[lane] = SASS_KEEP(d[lane], flushed(f32_result(near(FLUSHED)), 1));             \
    } else if (mode == TO_NEAREST) {                                                               \
        EACH_LANE d[lane] = SASS_KEEP(d[lane], finished(near(FLOAT), ftz, sat));                   \
    } else {                                                                                       \
        EACH_LANE {                                                                                \
            const double value = (exact);                                                          \
            const float result =                                                                   \
                value == value ? (float)rounded(value, SINGLE, mode) : __builtin_nanf("");         \
            d[lane] = SASS_KEEP(d[lane], finished(result, ftz, sat));                              \
        }                                                                                          \
    }

#define SUM(operand)         operand(ra, a) + operand(rb, b)
#define PRODUCT(operand)     operand(ra, a) * operand(rb, b)
#define SCALED(operand)      (float)((double)operand(ra, a) * operand(rb, b) * factor)
#define PRODUCT_SUM(operand) fma32(operand(ra, a), operand(rb, b), operand(rc, c))

SASS_FN(FADD) {
    SASS_ROWS
    if (sass_plain(u, mask)) {
        EACH_LANE d[lane] = f32_result(bits_to_f32(ra[lane]) + bits_to_f32(rb[lane]));
        return;
    }
    FLOAT_MODS
    const struct take a = TAKE(A), b = TAKE(B);
    FLOAT_LANES(SUM, signed_sum(FLOAT(ra, a), FLOAT(rb, b), mode))
}

/* With a scale the exact product is scaled, and rounded once. */
SASS_FN(FMUL) {
    SASS_ROWS
    if (sass_plain(u, mask)) {
        EACH_LANE d[lane] = f32_result(bits_to_f32(ra[lane]) * bits_to_f32(rb[lane]));
        return;
    }
    FLOAT_MODS
    const struct take a = TAKE(A), b = TAKE(B);
    const uint32_t scale = sass_mod(u, 13, 7);
    if (scale) {
        const double factor = power_of_two(scale & 4 ? -(int)(scale & 3) : (int)scale);
        FLOAT_LANES(SCALED, (double)FLOAT(ra, a) * FLOAT(rb, b) * factor)
        return;
    }
    FLOAT_LANES(PRODUCT, (double)FLOAT(ra, a) * FLOAT(rb, b))
}

SASS_FN(FFMA) {
    SASS_ROWS
    if (sass_plain(u, mask)) {
        EACH_LANE d[lane] =
            f32_result(fma32(bits_to_f32(ra[lane]), bits_to_f32(rb[lane]), bits_to_f32(rc[lane])));
        return;
    }
    FLOAT_MODS
    const struct take a = TAKE(A), b = TAKE(B), c = TAKE(C);
    FLOAT_LANES(PRODUCT_SUM, signed_sum((double)FLOAT(ra, a) * FLOAT(rb, b), FLOAT(rc, c), mode))
}

/* The smaller one if the predicate holds, else the larger; -0 is below +0, and a number goes before
 * NaN unless asked. With .XORSIGN the sign is that of the product. */
SASS_FN(FMNMX) {
    SASS_ROWS
    const uint32_t ftz = sass_mod(u, 9, 1), nan = sass_mask(u, 1 << 10),
                   least = sass_read(u, w, SHIFT_PS0),
                   signs = sass_mod(u, 11, 1) << 31; /* that are made anew */
    const struct take a = TAKE(A), b = TAKE(B);
    uint32_t below[32], above[32], a_nan[32], b_nan[32];
    EACH_LANE {
        const float x = FLOAT(ra, a), y = FLOAT(rb, b);
        below[lane] = x < y ? ~0u : 0;
        above[lane] = x > y ? ~0u : 0;
        a_nan[lane] = x != x ? ~0u : 0;
        b_nan[lane] = y != y ? ~0u : 0;
    }
    EACH_LANE {
        const uint32_t x = flushed(taken(ra[lane], a), ftz), y = flushed(taken(rb[lane], b), ftz),
                       smaller = 0 - (least >> lane & 1), neither = a_nan[lane] & b_nan[lane],
                       refused = neither | (nan & (a_nan[lane] | b_nan[lane])),
                       first = b_nan[lane] | (smaller & below[lane]) | (~smaller & above[lane]),
                       apart = below[lane] | above[lane] | a_nan[lane] | b_nan[lane],
                       same = (x & y) | (smaller & (x | y)),
                       chosen = (~apart & same) | (apart & ((first & x) | (~first & y))),
                       found = (chosen & ~signs) | ((ra[lane] ^ rb[lane]) & signs);
        d[lane] = SASS_KEEP(d[lane], (refused & 0x7fffffffu) | (~refused & found));
    }
}

/* The lanes in which an order holds: below, equal, above, not comparable as bits 1, 2, 4, 8. */
static uint32_t ordered(const struct uop *u, const uint32_t *ra, const uint32_t *rb,
                        uint32_t order) {
    const uint32_t ftz = sass_mod(u, 15, 1);
    const struct take a = TAKE(A), b = TAKE(B);
    uint32_t below[32], equal[32], above[32];
    EACH_LANE {
        const float x = FLOAT(ra, a), y = FLOAT(rb, b);
        below[lane] = x < y;
        equal[lane] = x == y;
        above[lane] = x > y;
    }
    const uint32_t lt = sass_lanes(below), eq = sass_lanes(equal), gt = sass_lanes(above);
    return (order & 1 ? lt : 0) | (order & 2 ? eq : 0) | (order & 4 ? gt : 0) |
           (order & 8 ? ~(lt | eq | gt) : 0);
}

SASS_FN(FSETP) {
    SASS_ROWS
    sass_compare(u, w, ordered(u, ra, rb, sass_mod(u, 9, 15)), sass_mod(u, 13, 3), mask);
}

/* All ones where the order holds with the predicate; .BF 1.0. */
SASS_FN(FSET) {
    SASS_ROWS
    const uint32_t one = sass_mod(u, 16, 1) ? 0x3f800000u : ~0u, op = sass_mod(u, 13, 3),
                   holds = ordered(u, ra, rb, sass_mod(u, 9, 15)), c = sass_read(u, w, SHIFT_PS0),
                   p = op == 0   ? holds & c
                       : op == 1 ? holds | c
                                 : holds ^ c;
    EACH_LANE d[lane] = SASS_KEEP(d[lane], p >> lane & 1 ? one : 0);
}

/* Bits pass; only signs are made. */
SASS_FN(FSEL) {
    SASS_ROWS
    const uint32_t first = sass_read(u, w, SHIFT_PS0), ftz = sass_mod(u, 9, 1);
    const struct take a = TAKE(A), b = TAKE(B);
    EACH_LANE {
        const uint32_t x = taken(ra[lane], a), y = taken(rb[lane], b);
        d[lane] = SASS_KEEP(d[lane], flushed(first >> lane & 1 ? x : y, ftz));
    }
}

/* Where a quick division of a by b would not be exact: exponents of an operand or of the quotient
 * are near an end. The bounds are those that a card's vectors show (experiments/hardware/hopper);
 * an exponent of 24 of a is not among them, and counts. */
SASS_FN(FCHK) {
    SASS_ROWS
    uint32_t slow[32];
    EACH_LANE {
        const int32_t a = (int32_t)(ra[lane] >> 23 & 0xff), b = (int32_t)(rb[lane] >> 23 & 0xff);
        slow[lane] = a < 25 || a > 254 || b < 2 || b > 251 || a - b < -124 || a - b > 126;
    }
    sass_write(u, w, SHIFT_PD0, sass_lanes(slow), mask);
}

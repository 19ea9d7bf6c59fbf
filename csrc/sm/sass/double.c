#include "sm/sass/fused.h"
#include "sm/sass/rounding.h"
#include "sm/sass/take.h"

/* The high word's sign belongs to a pair. A NaN keeps its own (as a card's vectors say). */
static inline double taken64(const uint32_t *row, int lane, struct take t) {
    const double plain = bits_to_f64(pair(row, lane));
    return plain != plain ? plain
                          : bits_to_f64((uint64_t)taken(row[lane + 32], t) << 32 | row[lane]);
}

/* The bits of a result. NaN is an operand's, made quiet: of a multiply-add that of b before c
 * before a, of a sum the second one (as a card's vectors say). */
static inline uint64_t result64(double value, double a, double b, double c) {
    const uint64_t first = f64_to_bits(a), second = f64_to_bits(b), third = f64_to_bits(c);
    const uint64_t last = c != c ? third : a != a ? first : 0xfff8000000000000ull;
    const uint64_t nan = (b != b ? second : last) | 1ull << 51, bits = f64_to_bits(value);
    return value == value ? bits : nan;
}

#define TAKE_DOUBLES                                                                               \
    const enum rounding mode = (enum rounding)sass_mod(u, 9, 3);                                   \
    const struct take a = TAKE(A), b = TAKE(B), c = TAKE(C);                                       \
    (void)a, (void)b, (void)c;

SASS_FN(DADD) {
    SASS_ROWS
    TAKE_DOUBLES
    if (mode == TO_NEAREST) {
        EACH_LANE {
            const double x = taken64(ra, lane, a), y = taken64(rb, lane, b);
            KEEP_PAIR(result64(x + y, x, y, 0));
        }
        return;
    }
    EACH_LANE {
        const double x = taken64(ra, lane, a), y = taken64(rb, lane, b);
        KEEP_PAIR(result64(fma64_rounded(x, 1, y, (int)mode), x, y, 0));
    }
}

SASS_FN(DMUL) {
    SASS_ROWS
    TAKE_DOUBLES
    if (mode == TO_NEAREST) {
        EACH_LANE {
            const double x = taken64(ra, lane, a), y = taken64(rb, lane, b);
            KEEP_PAIR(result64(x * y, x, y, 0));
        }
        return;
    }
    EACH_LANE {
        const double x = taken64(ra, lane, a), y = taken64(rb, lane, b);
        const double zero = with_sign_of64(0, with_sign_of64(1, x) * with_sign_of64(1, y));
        KEEP_PAIR(result64(fma64_rounded(x, y, zero, (int)mode), x, y, 0));
    }
}

/* To the nearest. Without the instruction it would be a call of libm, and is never called. */
FUSED static void fuse(const struct lanes *w, const struct uop *u, uint32_t mask, struct take a,
                       struct take b, struct take c) {
    SASS_ROWS
    EACH_LANE {
        const double x = taken64(ra, lane, a), y = taken64(rb, lane, b), z = taken64(rc, lane, c);
        KEEP_PAIR(result64(__builtin_fma(x, y, z), x, y, z));
    }
}

SASS_FN(DFMA) {
    SASS_ROWS
    TAKE_DOUBLES
    if (mode == TO_NEAREST && fuses()) {
        fuse(w, u, mask, a, b, c);
        return;
    }
    EACH_LANE {
        const double x = taken64(ra, lane, a), y = taken64(rb, lane, b), z = taken64(rc, lane, c);
        const double sum = fma64_rounded(x, y, z, (int)mode);
        KEEP_PAIR(result64(sum, x, y, z));
    }
}

static uint32_t equal_to_itself(const uint32_t *row, struct take t) {
    uint32_t same[32];
    EACH_LANE same[lane] = taken64(row, lane, t) == taken64(row, lane, t);
    return sass_lanes(same);
}

/* The lanes in which a is the smaller one (or larger): a number goes before NaN, and -0 is below
 * +0.
 */
static uint32_t first_wins(const uint32_t *ra, const uint32_t *rb, struct take a, struct take b,
                           bool larger) {
    uint32_t wins[32];
    EACH_LANE {
        const double x = taken64(ra, lane, a), y = taken64(rb, lane, b);
        const bool negative = f64_to_bits(x) >> 63;
        const bool ordered =
            larger ? x > y || (x == y && !negative) : x < y || (x == y && negative);
        wins[lane] = ordered || (x == x && y != y);
    }
    return sass_lanes(wins);
}

/* Orders as of FSETP. MIN and MAX (16, 17): p is whether a is the result, q whether both are NaN
 * (after which compilers select by p and make NaN quiet under q). */
SASS_FN(DSETP) {
    SASS_ROWS
    const uint32_t order = sass_mod(u, 9, 31);
    const struct take a = TAKE(A), b = TAKE(B);
    uint32_t below[32], equal[32], above[32];
    EACH_LANE {
        const double x = taken64(ra, lane, a), y = taken64(rb, lane, b);
        below[lane] = x < y;
        equal[lane] = x == y;
        above[lane] = x > y;
    }
    const uint32_t lt = sass_lanes(below), eq = sass_lanes(equal), gt = sass_lanes(above),
                   holds = (order & 1 ? lt : 0) | (order & 2 ? eq : 0) | (order & 4 ? gt : 0) |
                           (order & 8 ? ~(lt | eq | gt) : 0);
    if (order & 16) {
        const uint32_t nan_a = ~equal_to_itself(ra, a), nan_b = ~equal_to_itself(rb, b),
                       c = sass_read(u, w, SHIFT_PS0);
        sass_write(u, w, SHIFT_PD0, first_wins(ra, rb, a, b, order & 1) & c, mask);
        sass_write(u, w, SHIFT_PD1, nan_a & nan_b & c, mask);
        return;
    }
    sass_compare(u, w, holds, sass_mod(u, 14, 3), mask);
}

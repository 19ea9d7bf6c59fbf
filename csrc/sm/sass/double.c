#include "sm/sass/rounding.h"
#include "sm/sass/take.h"

/* The high word's sign belongs to a pair. */
static inline double taken64(const uint32_t *row, int lane, struct take t) {
    return bits_to_f64((uint64_t)taken(row[lane + 32], t) << 32 | row[lane]);
}

/* The bits of a result. NaN is an operand's, made quiet: of a multiply-add that of b before c
 * before a, of a sum the second one (as a card's vectors say). */
static inline uint64_t result64(double value, double a, double b, double c) {
    const double from = b != b ? b : c != c ? c : a;
    if (value == value) return f64_to_bits(value);
    return from != from ? f64_to_bits(from) | 1ull << 51 : 0xfff8000000000000ull;
}

SASS_FN(DADD) {
    SASS_ROWS
    const struct take a = TAKE(A), b = TAKE(B);
    EACH_LANE {
        const double x = taken64(ra, lane, a), y = taken64(rb, lane, b);
        KEEP_PAIR(result64(x + y, x, y, 0));
    }
}

SASS_FN(DMUL) {
    SASS_ROWS
    const struct take a = TAKE(A), b = TAKE(B);
    EACH_LANE {
        const double x = taken64(ra, lane, a), y = taken64(rb, lane, b);
        KEEP_PAIR(result64(x * y, x, y, 0));
    }
}

SASS_FN(DFMA) {
    SASS_ROWS
    const struct take a = TAKE(A), b = TAKE(B), c = TAKE(C);
    EACH_LANE {
        const double x = taken64(ra, lane, a), y = taken64(rb, lane, b), z = taken64(rc, lane, c);
        KEEP_PAIR(result64(__builtin_fma(x, y, z), x, y, z));
    }
}

/* Orders as of FSETP. MIN and MAX (16, 17): p is whether the result is a, and q whether it is NaN.
 */
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
    sass_compare(u, w, holds, sass_mod(u, 14, 3), mask);
}

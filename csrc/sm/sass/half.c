#include "sm/sass/halves.h"
#include "sm/sass/rounding.h"
#include "sm/sass/take.h"

#define TAKE_HALVES(slot) take_of(u, SASS_ABS_##slot, SASS_NEG_##slot, 0x80008000u)

/* Bits of the modifiers that all of them have. */
#define HALF_MODS                                                                                  \
    const bool ftz = sass_mod(u, 10, 1), sat = sass_mod(u, 11, 1), relu = sass_mod(u, 12, 1);      \
    (void)ftz, (void)sat, (void)relu;

/* Which halves of an operand are meant: 0 both, 1 the low one twice, 2 the high one, 3 the low one
 * in front of the high one negated (a complex number times i). */
static inline uint32_t halves(uint32_t bits, uint32_t select) {
    if (select == 3) return bits << 16 | (bits >> 16 ^ 0x8000u);
    return select == 1 ? (bits & 0xffff) * 0x10001u : select == 2 ? (bits >> 16) * 0x10001u : bits;
}

#define HALF_FORMAT const struct format format = sass_mod(u, 9, 1) ? BFLOAT : HALF;

#define SELECT_A sass_mod(u, 26, 3)
#define SELECT_B sass_mod(u, 28, 3)
#define SELECT_C sass_mod(u, 30, 3)

/* One half of an operand as a number. */
static ALWAYS_INLINE float half_of(uint32_t both, int high, struct format format, bool ftz) {
    const uint32_t bits = both >> 16 * high & 0xffff;
    const bool tiny = !(bits & (format.fraction == 10 ? 0x7c00u : 0x7f80u));
    return half_value(ftz && tiny ? bits & 0x8000u : bits, format);
}

/* The bits of a result, which is exact or rounded to odd. */
static ALWAYS_INLINE uint32_t half_result(double value, struct format format, bool ftz, bool sat,
                                          bool relu) {
    const double least = power_of_two(1 - format.bias);
    double result = rounded(value, format, TO_NEAREST);
    const bool tiny = ftz && result < least && result > -least;
    result = tiny ? with_sign_of64(0, result) : result;
    result = sat ? result > 0 ? result < 1 ? result : 1 : 0 : result;
    result = relu && !(result > 0) ? 0 : result;
    const uint32_t bits = half_bits(result, format);
    return value == value ? bits : sat ? 0 : 0x7fff;
}

#define HALF_LOOP(value)                                                                           \
    for (int lane = 0; lane < lanes; lane++)                                                       \
        for (int high = 0; high < 2; high++)                                                       \
            result[high][lane] = half_result(value, format, ftz, sat, relu);

/* d of both halves, of an expression of `high`; a loop for each format, whose constants it knows.
 * Of constants alone, which compilers move so, one lane is enough. */
#define HALF_LANES(value)                                                                          \
    const bool same = u->a & u->b & u->c & ROW_UNIFORM;                                            \
    const int lanes = same ? 1 : 32;                                                               \
    uint32_t result[2][32];                                                                        \
    if (sass_mod(u, 9, 1)) {                                                                       \
        const struct format format = BFLOAT;                                                       \
        HALF_LOOP(value)                                                                           \
    } else {                                                                                       \
        const struct format format = HALF;                                                         \
        HALF_LOOP(value)                                                                           \
    }                                                                                              \
    EACH_LANE {                                                                                    \
        const int from = same ? 0 : lane;                                                          \
        d[lane] = SASS_KEEP(d[lane], result[0][from] | result[1][from] << 16);                     \
    }

#define HALF_NUMBER(slot, row)                                                                     \
    half_of(taken(halves(row[lane], select_##slot), slot), high, format, ftz)

/* A half, or of .F32 the float in the row, cut off to a half, for both: compilers narrow floats
 * towards zero so. */
static ALWAYS_INLINE double widened(uint32_t bits, struct take halves_taken,
                                    struct take float_taken, uint32_t select, int high,
                                    struct format format, bool ftz) {
    if (select == 3) {
        const double value = (double)bits_to_f32(taken(bits, float_taken));
        const double cut = value == value ? rounded(value, format, TO_ZERO) : value;
        const double least = power_of_two(1 - format.bias);
        return ftz && cut < least && cut > -least ? with_sign_of64(0, cut) : cut;
    }
    return half_of(taken(halves(bits, select), halves_taken), high, format, ftz);
}

SASS_FN(HADD2) {
    SASS_ROWS
    HALF_MODS
    const struct take a = TAKE_HALVES(A), b = TAKE_HALVES(B), fa = TAKE(A), fb = TAKE(B);
    const uint32_t select_a = SELECT_A, select_b = SELECT_B;
    HALF_LANES(odd_sum(widened(ra[lane], a, fa, select_a, high, format, ftz),
                       widened(rb[lane], b, fb, select_b, high, format, ftz)))
}

/* Of the low halves, in single precision. */
SASS_FN(HADD2_F32) {
    SASS_ROWS
    HALF_MODS
    HALF_FORMAT
    const struct take a = TAKE_HALVES(A), b = TAKE_HALVES(B);
    const uint32_t select_a = SELECT_A, select_b = SELECT_B;
    const int high = 0;
    EACH_LANE {
        const float value = HALF_NUMBER(a, ra) + HALF_NUMBER(b, rb);
        d[lane] = SASS_KEEP(d[lane], saturated(f32_result(value), sat));
    }
}

SASS_FN(HMUL2) {
    SASS_ROWS
    HALF_MODS
    const struct take a = TAKE_HALVES(A), b = TAKE_HALVES(B);
    const uint32_t select_a = SELECT_A, select_b = SELECT_B;
    HALF_LANES((double)HALF_NUMBER(a, ra) * HALF_NUMBER(b, rb))
}

/* -0 times 0 plus a constant is the constant, so compilers move constants with it. */
SASS_FN(HFMA2) {
    SASS_ROWS
    HALF_MODS
    const struct take a = TAKE_HALVES(A), b = TAKE_HALVES(B), c = TAKE_HALVES(C);
    const uint32_t select_a = SELECT_A, select_b = SELECT_B, select_c = SELECT_C;
    HALF_LANES(odd_sum((double)HALF_NUMBER(a, ra) * HALF_NUMBER(b, rb), HALF_NUMBER(c, rc)))
}

/* The smaller or the larger number; a NaN is passed over, or is the result. */
static ALWAYS_INLINE float bound(float x, float y, bool least, bool nan) {
    if (nan && (x != x || y != y)) return __builtin_nanf("");
    return least ? fmin32(x, y) : fmax32(x, y);
}

SASS_FN(HMNMX2) {
    SASS_ROWS
    HALF_MODS
    HALF_FORMAT
    const struct take a = TAKE_HALVES(A), b = TAKE_HALVES(B);
    const uint32_t select_a = SELECT_A, select_b = SELECT_B, nan = sass_mod(u, 13, 1),
                   xor_sign = sass_mod(u, 14, 1), least = sass_read(u, w, SHIFT_PS0);
    EACH_LANE {
        uint32_t result = 0;
        for (int high = 0; high < 2; high++) {
            const float x = HALF_NUMBER(a, ra), y = HALF_NUMBER(b, rb);
            const float found = bound(x, y, least >> lane & 1, nan);
            result |= half_result((double)found, format, ftz, sat, relu) << 16 * high;
        }
        const uint32_t sign =
            (halves(ra[lane], select_a) ^ halves(rb[lane], select_b)) & 0x80008000u;
        d[lane] = SASS_KEEP(d[lane], xor_sign ? (result & 0x7fff7fffu) | sign : result);
    }
}

/* Of three. */
SASS_FN(VHMNMX) {
    SASS_ROWS
    HALF_MODS
    HALF_FORMAT
    const struct take a = TAKE_HALVES(A), b = TAKE_HALVES(B), c = TAKE_HALVES(C);
    const uint32_t select_a = SELECT_A, select_b = SELECT_B, select_c = SELECT_C,
                   nan = sass_mod(u, 13, 1), least = sass_read(u, w, SHIFT_PS0);
    EACH_LANE {
        uint32_t result = 0;
        for (int high = 0; high < 2; high++) {
            const bool min = least >> lane & 1;
            const float two = bound(HALF_NUMBER(a, ra), HALF_NUMBER(b, rb), min, nan);
            const float found = bound(two, HALF_NUMBER(c, rc), min, nan);
            result |= half_result((double)found, format, ftz, sat, relu) << 16 * high;
        }
        d[lane] = SASS_KEEP(d[lane], result);
    }
}

/* The lanes in which an order of a half of a and one of b holds, numbered as of FSETP. */
static uint32_t half_ordered(const struct uop *u, const uint32_t *ra, const uint32_t *rb,
                             int high) {
    HALF_MODS
    HALF_FORMAT
    const struct take a = TAKE_HALVES(A), b = TAKE_HALVES(B), fa = TAKE(A), fb = TAKE(B);
    const uint32_t select_a = SELECT_A, select_b = SELECT_B, order = sass_mod(u, 13, 15);
    uint32_t holds[32];
    EACH_LANE {
        const double x = widened(ra[lane], a, fa, select_a, high, format, ftz),
                     y = widened(rb[lane], b, fb, select_b, high, format, ftz);
        const uint32_t is = x < y ? 1 : x == y ? 2 : x > y ? 4 : 8;
        holds[lane] = (order & is) != 0;
    }
    return sass_lanes(holds);
}

static uint32_t combined(const struct uop *u, uint32_t holds, uint32_t c) {
    const uint32_t op = sass_mod(u, 17, 3);
    return op == 0 ? holds & c : op == 1 ? holds | c : holds ^ c;
}

/* A predicate for each half; .H_AND: one that both hold, and its opposite. */
SASS_FN(HSETP2) {
    SASS_ROWS
    const uint32_t low = half_ordered(u, ra, rb, 0), high = half_ordered(u, ra, rb, 1),
                   c = sass_read(u, w, SHIFT_PS0);
    if (sass_mod(u, 19, 1)) {
        sass_compare(u, w, low & high, sass_mod(u, 17, 3), mask);
        return;
    }
    sass_write(u, w, SHIFT_PD0, combined(u, low, c), mask);
    sass_write(u, w, SHIFT_PD1, combined(u, high, c), mask);
}

/* All ones in a half where the order holds; .BF 1.0. */
SASS_FN(HSET2) {
    SASS_ROWS
    HALF_MODS
    HALF_FORMAT
    const uint32_t c = sass_read(u, w, SHIFT_PS0), low = combined(u, half_ordered(u, ra, rb, 0), c),
                   high = combined(u, half_ordered(u, ra, rb, 1), c),
                   one = sass_mod(u, 19, 1) ? half_bits(1, format) : 0xffffu;
    EACH_LANE {
        const uint32_t bits = (low >> lane & 1 ? one : 0) | (high >> lane & 1 ? one : 0) << 16;
        d[lane] = SASS_KEEP(d[lane], bits);
    }
}

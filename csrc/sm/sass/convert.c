#include "sm/sass/halves.h"
#include "sm/sass/rounding.h"
#include "sm/sass/take.h"

/* Numbers of the modifiers that name a format of 16 bits, at `shift`: none, .F16, .BF16. */
static inline struct format format_of(const struct uop *u, uint32_t shift) {
    return sass_mod(u, shift, 3) == 2 ? BFLOAT : HALF;
}

/* ---- to integral numbers ------------------------------------------------------------------ */

/* A source of up to 32 bits: a half where the modifiers say so, the upper one with `.H1`. */
static inline double narrow_source(const struct uop *u, const uint32_t *row, int lane,
                                   struct take t, uint32_t ftz) {
    const uint32_t is_half = sass_mod(u, 13, 3), bits = row[lane];
    if (!is_half) return (double)bits_to_f32(flushed(taken(bits, t), ftz));
    const uint32_t part = (sass_mod(u, 15, 1) ? bits >> 16 : bits) & 0xffff;
    const uint32_t widened = f32_to_bits(half_value(part, format_of(u, 13)));
    return (double)bits_to_f32(taken(widened, t));
}

static inline double wide_source(const uint32_t *row, int lane, struct take t) {
    return bits_to_f64((uint64_t)taken(row[lane + 32], t) << 32 | row[lane]);
}

/* A result narrower than 64 bits, clamped to what the type holds; of NaN the highest bit of the
 * type alone, or nothing with .NTZ. */
static uint32_t clamped(const struct uop *u, double value) {
    const uint32_t is_unsigned = sass_mod(u, 16, 1), width = sass_mod(u, 17, 3);
    const int bits = width == 1 ? 16 : width == 2 ? 8 : 32;
    if (value != value) return sass_mod(u, 12, 1) ? 0 : 1u << (bits - 1);
    const double most = power_of_two(is_unsigned ? bits : bits - 1) - 1,
                 least = is_unsigned ? 0 : -power_of_two(bits - 1);
    const double kept = value > most ? most : value < least ? least : value;
    return (uint32_t)(int64_t)kept;
}

static uint64_t clamped64(const struct uop *u, double value) {
    if (value != value) return 1ull << 63;
    if (sass_mod(u, 16, 1)) return value >= 0x1p64 ? UINT64_MAX : value > 0 ? (uint64_t)value : 0;
    return value >= 0x1p63    ? (uint64_t)INT64_MAX
           : value <= -0x1p63 ? 1ull << 63
                              : (uint64_t)(int64_t)value;
}

#define ROUNDING const enum rounding mode = (enum rounding)sass_mod(u, 10, 3);

SASS_FN(F2I) {
    SASS_ROWS
    ROUNDING
    const struct take a = TAKE(A);
    const uint32_t ftz = sass_mod(u, 9, 1);
    for (int lane = 0; lane < 32; lane++) {
        const double value = integral(narrow_source(u, ra, lane, a, ftz), mode);
        d[lane] = SASS_KEEP(d[lane], clamped(u, value));
    }
}

SASS_FN(F2I_32_64) {
    SASS_ROWS
    ROUNDING
    const struct take a = TAKE(A);
    for (int lane = 0; lane < 32; lane++) {
        const double value = integral(wide_source(ra, lane, a), mode);
        d[lane] = SASS_KEEP(d[lane], clamped(u, value));
    }
}

SASS_FN(F2I_64_32) {
    SASS_ROWS
    ROUNDING
    const struct take a = TAKE(A);
    const uint32_t ftz = sass_mod(u, 9, 1);
    for (int lane = 0; lane < 32; lane++)
        KEEP_PAIR(clamped64(u, integral(narrow_source(u, ra, lane, a, ftz), mode)));
}

SASS_FN(F2I_64_64) {
    SASS_ROWS
    ROUNDING
    const struct take a = TAKE(A);
    for (int lane = 0; lane < 32; lane++)
        KEEP_PAIR(clamped64(u, integral(wide_source(ra, lane, a), mode)));
}

/* The bits of a result of 32 or 16 bits, from an exact number or one that is rounded to odd. */
static inline uint32_t narrow_result(const struct uop *u, double value, enum rounding mode,
                                     uint32_t ftz) {
    const struct format format = format_of(u, 13);
    if (!sass_mod(u, 13, 3)) {
        if (value != value) return 0x7fffffffu;
        return flushed(f32_to_bits((float)rounded(value, SINGLE, mode)), ftz);
    }
    return value != value ? 0x7fffu : half_bits(rounded(value, format, mode), format);
}

SASS_FN(FRND) {
    SASS_ROWS
    ROUNDING
    const struct take a = TAKE(A);
    const uint32_t ftz = sass_mod(u, 9, 1);
    for (int lane = 0; lane < 32; lane++) {
        const double value = integral(narrow_source(u, ra, lane, a, ftz), mode);
        d[lane] = SASS_KEEP(d[lane], narrow_result(u, value, TO_NEAREST, ftz));
    }
}

/* NaN keeps its bits but is quiet. */
SASS_FN(FRND_64) {
    SASS_ROWS
    ROUNDING
    const struct take a = TAKE(A);
    for (int lane = 0; lane < 32; lane++) {
        const double value = wide_source(ra, lane, a);
        KEEP_PAIR(value == value ? f64_to_bits(integral(value, mode))
                                 : pair(ra, lane) | 1ull << 51);
    }
}

/* ---- from integers ------------------------------------------------------------------------ */

/* The integer of a source of up to 32 bits; q: which byte or half of it. */
static inline double integer_source(const struct uop *u, uint32_t bits) {
    const uint32_t width = sass_mod(u, 17, 3), part = sass_mod(u, 19, 3);
    const uint32_t shifted = bits >> (width == 2 ? 8 * part : width == 1 ? 16 * (part & 1) : 0);
    const uint32_t unused = width == 2 ? 24 : width == 1 ? 16 : 0, top = shifted << unused;
    return sass_mod(u, 16, 1) ? (double)(top >> unused) : (double)((int32_t)top >> unused);
}

SASS_FN(I2F) {
    SASS_ROWS
    ROUNDING
    const uint32_t negate = sass_mask(u, SASS_NEG_A) & 1, absolute = sass_mask(u, SASS_ABS_A) & 1;
    for (int lane = 0; lane < 32; lane++) {
        double value = integer_source(u, ra[lane]);
        value = absolute && value < 0 ? -value : value;
        value = negate && value != 0 ? -value : value;
        d[lane] = SASS_KEEP(d[lane], narrow_result(u, value, mode, 0));
    }
}

SASS_FN(I2FP) { sass_I2F(u, w, mask); }

SASS_FN(I2F_64_32) {
    SASS_ROWS
    for (int lane = 0; lane < 32; lane++) KEEP_PAIR(f64_to_bits(integer_source(u, ra[lane])));
}

/* The two words of an integer of 64 bits as numbers, whose sum it is. */
static inline double upper(const struct uop *u, const uint32_t *row, int lane) {
    const uint32_t bits = row[lane + 32];
    return 0x1p32 * (sass_mod(u, 16, 1) ? (double)bits : (double)(int32_t)bits);
}

SASS_FN(I2F_32_64) {
    SASS_ROWS
    ROUNDING
    for (int lane = 0; lane < 32; lane++) {
        const double value = odd_sum(upper(u, ra, lane), (double)ra[lane]);
        d[lane] = SASS_KEEP(d[lane], narrow_result(u, value, mode, 0));
    }
}

SASS_FN(I2F_64_64) {
    SASS_ROWS
    ROUNDING
    for (int lane = 0; lane < 32; lane++)
        KEEP_PAIR(f64_to_bits(directed_sum(upper(u, ra, lane), (double)ra[lane], mode)));
}

/* ---- between floats ----------------------------------------------------------------------- */

/* NaN keeps the upper bits of its payload, quiet; of 32 and 16 bits it is all ones. */
SASS_FN(F2F) {
    SASS_ROWS
    ROUNDING
    const struct take a = TAKE(A);
    const uint32_t ftz = sass_mod(u, 9, 1);
    for (int lane = 0; lane < 32; lane++) {
        const double value = (double)bits_to_f32(flushed(taken(ra[lane], a), ftz));
        d[lane] = SASS_KEEP(d[lane], narrow_result(u, value, mode, ftz));
    }
}

SASS_FN(F2F_HALF) {
    SASS_ROWS
    const struct take a = TAKE(A);
    for (int lane = 0; lane < 32; lane++) {
        const float value = (float)narrow_source(u, ra, lane, a, 0);
        d[lane] = SASS_KEEP(d[lane], f32_result(value));
    }
}

SASS_FN(F2F_32_64) {
    SASS_ROWS
    ROUNDING
    const struct take a = TAKE(A);
    const uint32_t ftz = sass_mod(u, 9, 1);
    for (int lane = 0; lane < 32; lane++) {
        const double value = wide_source(ra, lane, a);
        const uint64_t bits = pair(ra, lane); /* a NaN keeps its sign */
        const uint32_t nan = (uint32_t)(bits >> 32 & 0x80000000u) | 0x7fc00000u |
                             ((uint32_t)(bits >> 29) & 0x3fffffu);
        const uint32_t number = narrow_result(u, value, mode, ftz);
        d[lane] = SASS_KEEP(d[lane], value == value || sass_mod(u, 13, 3) ? number : nan);
    }
}

SASS_FN(F2F_64_32) {
    SASS_ROWS
    const struct take a = TAKE(A);
    const uint32_t ftz = sass_mod(u, 9, 1);
    for (int lane = 0; lane < 32; lane++) {
        const double value = narrow_source(u, ra, lane, a, ftz);
        const uint32_t bits = ra[lane]; /* a NaN keeps its sign */
        const uint64_t nan = (uint64_t)(bits & 0x80000000u) << 32 | 0x7ff8000000000000ull |
                             (uint64_t)(bits & 0x3fffffu) << 29;
        KEEP_PAIR(value == value ? f64_to_bits(value) : nan);
    }
}

/* ---- two floats to a pair of halves ------------------------------------------------------- */

SASS_FN(F2FP) {
    SASS_ROWS
    ROUNDING
    const struct take a = TAKE(A), b = TAKE(B);
    const struct format format = format_of(u, 13);
    const bool relu = sass_mod(u, 15, 1);
    for (int lane = 0; lane < 32; lane++) {
        const double values[2] = {(double)bits_to_f32(taken(rb[lane], b)),
                                  (double)bits_to_f32(taken(ra[lane], a))};
        uint32_t result = 0;
        for (int high = 0; high < 2; high++) {
            const double value = relu && values[high] <= 0 ? 0 : values[high];
            const uint32_t bits =
                value != value ? 0x7fffu : half_bits(rounded(value, format, mode), format);
            result |= bits << 16 * high;
        }
        d[lane] = SASS_KEEP(d[lane], result);
    }
}

/* A float cut or rounded to the ten bits of fraction that tensor units read. */
SASS_FN(F2FP_TF32) {
    SASS_ROWS
    ROUNDING
    const struct take a = TAKE(A);
    const bool relu = sass_mod(u, 15, 1);
    EACH_LANE {
        const uint32_t bits = taken(ra[lane], a),
                       half = mode == TO_NEAREST ? 0xfffu + (bits >> 13 & 1) : 0;
        const bool nan = (bits & 0x7fffffffu) > 0x7f800000u, below = relu && bits >> 31;
        const uint32_t result = nan ? 0x7fffffffu : below ? 0 : (bits + half) & ~0x1fffu;
        d[lane] = SASS_KEEP(d[lane], result);
    }
}

/* ---- floats of 8 bits --------------------------------------------------------------------- */

/* Of E4M3 and E5M2; the largest numbers, at which they stay (SATFINITE). */
static const struct format E4M3 = {3, 4, 7}, E5M2 = {2, 5, 15};

/* The nearest byte. E4M3 has neither infinities nor the exponent kept for them, so that its largest
 * number is that of fraction 6. NaN is all ones. */
static uint32_t byte_of(double value, bool is_e5m2, bool relu) {
    const struct format format = is_e5m2 ? E5M2 : E4M3;
    const struct format wide = {format.fraction, format.exponent + 1, is_e5m2 ? 15 : 8};
    const double largest = is_e5m2 ? 57344 : 448, unit = power_of_two(1 - format.bias);
    const uint32_t sign = (uint32_t)(f64_to_bits(value) >> 56) & 0x80u;
    if (value != value) return 0x7f;
    if (relu && value <= 0) return 0;
    double near = value < 0 ? -value : value;
    near = near > largest ? largest : near;
    if (near < unit) {
        const double steps = near * power_of_two(format.fraction) / unit;
        return sign | (uint32_t)__builtin_rint(steps);
    }
    near = rounded(near, wide, TO_NEAREST);
    near = near > largest ? largest : near;
    const uint64_t bits = f64_to_bits(near) >> (52 - format.fraction);
    return sign | (uint32_t)(bits - ((uint64_t)(1023 - format.bias) << format.fraction));
}

/* The half that such a byte is. */
static uint32_t half_of_byte(uint32_t byte, bool is_e5m2) {
    if (is_e5m2) return (byte & 0x7f) > 0x7c ? 0x7fff : byte << 8;
    const uint32_t sign = (byte & 0x80) << 8, rest = byte & 0x7f;
    if (rest == 0x7f) return 0x7fff;
    return sign | half_bits((double)half_value(rest << 7, HALF) * 256, HALF);
}

/* Two bytes below the lower half of c. */
SASS_FN(F2FP_BYTES) {
    SASS_ROWS
    const struct take a = TAKE(A), b = TAKE(B);
    const bool is_e5m2 = sass_mod(u, 13, 1), relu = sass_mod(u, 15, 1);
    for (int lane = 0; lane < 32; lane++) {
        const uint32_t high = byte_of((double)bits_to_f32(taken(ra[lane], a)), is_e5m2, relu),
                       low = byte_of((double)bits_to_f32(taken(rb[lane], b)), is_e5m2, relu);
        d[lane] = SASS_KEEP(d[lane], rc[lane] << 16 | high << 8 | low);
    }
}

SASS_FN(F2FP_BYTES_F16) {
    SASS_ROWS
    const bool is_e5m2 = sass_mod(u, 13, 1), relu = sass_mod(u, 15, 1);
    for (int lane = 0; lane < 32; lane++) {
        const double low = (double)half_value(ra[lane] & 0xffff, HALF),
                     high = (double)half_value(ra[lane] >> 16, HALF);
        const uint32_t bytes = byte_of(high, is_e5m2, relu) << 8 | byte_of(low, is_e5m2, relu);
        d[lane] = SASS_KEEP(d[lane], rc[lane] << 16 | bytes);
    }
}

SASS_FN(F2FP_UNPACK) {
    SASS_ROWS
    const bool is_e5m2 = sass_mod(u, 13, 1), relu = sass_mod(u, 15, 1);
    const uint32_t shift = sass_mod(u, 16, 1) * 16;
    for (int lane = 0; lane < 32; lane++) {
        const uint32_t bytes = ra[lane] >> shift;
        uint32_t low = half_of_byte(bytes & 0xff, is_e5m2),
                 high = half_of_byte(bytes >> 8 & 0xff, is_e5m2);
        if (relu) low = low >> 15 ? 0 : low, high = high >> 15 ? 0 : high;
        d[lane] = SASS_KEEP(d[lane], high << 16 | low);
    }
}

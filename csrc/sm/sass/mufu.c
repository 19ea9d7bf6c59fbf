/* The special function unit: quadratic interpolation in tables, with the roundings of a card. */
#include "sm/sass/halves.h"
#include "sm/sass/take.h"

/* A part of a function's range. */
struct segment {
    int32_t constant, linear, quadratic;
};

#define SEGMENTS(name, number, doc, ...)                                                           \
    static const struct segment name##_table[number] = {__VA_ARGS__};
#include "tables/mufu.def"

enum { ONE = 1 << 23, FRACTION = ONE - 1 };
enum { NOT_A_NUMBER = 0x7fffffff, INFINITE = 0x7f800000 };

enum { PLACE_BITS = 17, PLACE = (1 << PLACE_BITS) - 1 };

/* The upper bits of x * x, of a squarer that drops the lowest bits of each partial product. It is
 * half the work of a function: straight code, which compilers make one of for several lanes. */
static ALWAYS_INLINE uint32_t square(uint32_t x) {
    uint32_t sum = 0;
    UNROLL(17)
    for (uint32_t i = 0; i < 17; i++) sum += (0 - (x >> i & 1)) & x >> (18 - i);
    return sum >> 1;
}

/* Segment and place in it of a fraction; `bits` of it are the place, whose square is known. */
static int64_t interpolated(const struct segment *table, uint32_t fraction, uint32_t bits,
                            uint32_t constant_shift, uint32_t quadratic_shift, uint32_t squared) {
    const struct segment s = table[fraction >> bits];
    const uint32_t x = fraction & ((1u << bits) - 1);
    return (int64_t)s.constant * (1 << constant_shift) + (int64_t)s.linear * x +
           (int64_t)s.quadratic * squared * (1 << quadratic_shift);
}

/* A float from its exponent and 24 bits of a number from 1 to 2, both ends included; it is 0 below
 * the normal numbers. */
static uint32_t assembled(int32_t exponent, int64_t mantissa) {
    const int32_t bits = exponent * ONE + ((int32_t)mantissa - ONE);
    return bits < ONE ? 0 : (uint32_t)bits;
}

/* The leading 24 bits of a fixed-point number below 2^63, whose 1 is bit `one`. */
static uint32_t leading(uint64_t number, int32_t one) {
    if (!number) return 0;
    const int32_t top = 63 - (int32_t)__builtin_clzll(number);
    return assembled(127 + top - one, (int64_t)(number << (63 - top) >> 40));
}

/* Arguments below are floats' bits, of which `field` is the exponent; subnormals count as zeros.
 * `squared` is the square of their place. */
static ALWAYS_INLINE uint32_t reciprocal(uint32_t bits, uint32_t squared) {
    const uint32_t sign = bits & 0x80000000u, field = bits >> 23 & 0xff, f = bits & FRACTION;
    if (field == 0) return sign | INFINITE;
    if (field == 255) return f ? NOT_A_NUMBER : sign;
    const int64_t sum = interpolated(rcp_table, f, 16, 13, 0, squared) + 0x47e7;
    return sign | assembled(253 - (int32_t)field, sum >> 15);
}

static ALWAYS_INLINE uint32_t reciprocal_root(uint32_t bits, uint32_t squared) {
    const uint32_t sign = bits & 0x80000000u, field = bits >> 23 & 0xff, f = bits & FRACTION;
    if (field == 0) return sign | INFINITE;
    if (sign || (field == 255 && f)) return NOT_A_NUMBER;
    if (field == 255) return 0;
    const uint32_t odd = ~field & 1, half = (field - 127 - odd + 256) / 2; /* of 128 + power */
    const int32_t exponent = 127 + 128 - (int32_t)half - 1;
    if (!f && !odd) return assembled(exponent + 1, ONE);
    const int64_t sum = interpolated(rsq_table, odd << 23 | f, 17, 14, 2, squared) + 0x7fff;
    return assembled(exponent, sum >> 16);
}

static ALWAYS_INLINE uint32_t root(uint32_t bits, uint32_t squared) {
    const uint32_t sign = bits & 0x80000000u, field = bits >> 23 & 0xff, f = bits & FRACTION;
    if (field == 0) return sign;
    if (sign || (field == 255 && f)) return NOT_A_NUMBER;
    if (field == 255) return INFINITE;
    const uint32_t odd = ~field & 1, shift = 17 - odd;
    const int64_t sum = interpolated(sqrt_table, odd << 23 | f, 17, shift - 2, 0, squared);
    const int32_t exponent = 127 + ((int32_t)field - 127 - (int32_t)odd) / 2;
    return assembled(exponent, (sum + (1 << (shift - 2)) - 1) >> shift);
}

static ALWAYS_INLINE uint32_t logarithm(uint32_t bits, uint32_t squared) {
    const uint32_t sign = bits & 0x80000000u, field = bits >> 23 & 0xff, f = bits & FRACTION;
    if (field == 0) return 0x80000000u | INFINITE;
    if (sign || (field == 255 && f)) return NOT_A_NUMBER;
    if (field == 255) return INFINITE;
    if (bits == 0x3f800000u) return 0;
    const int64_t part = (interpolated(lg2_table, f, 17, 12, 1, squared) + 0x3345) >> 2;
    const int64_t sum = part + ((int64_t)field - 127) * (1ll << 36);
    return sum < 0 ? 0x80000000u | leading((uint64_t)~sum, 36) : leading((uint64_t)sum, 36);
}

/* An argument below 128 in magnitude as a whole number and a fraction, of 23 bits, above it. */
struct split {
    int32_t whole;
    uint32_t fraction;
};

static ALWAYS_INLINE struct split split(uint32_t bits) {
    const uint32_t field = bits >> 23 & 0xff, f = bits & FRACTION, mantissa = field ? ONE | f : 0,
                   value = field > 126   ? mantissa << ((field - 127) & 31)
                           : field > 103 ? mantissa >> (127 - field)
                                         : 0;
    const int32_t whole = (int32_t)(value >> 23);
    const uint32_t fraction = value & FRACTION;
    if (!(bits >> 31)) return (struct split){whole, fraction};
    return fraction ? (struct split){-whole - 1, ~fraction & FRACTION} : (struct split){-whole, 0};
}

static ALWAYS_INLINE uint32_t power(uint32_t bits, uint32_t squared) {
    const uint32_t sign = bits & 0x80000000u, field = bits >> 23 & 0xff, f = bits & FRACTION;
    if (field == 255 && f) return NOT_A_NUMBER;
    if (field >= 134) return sign ? 0 : INFINITE; /* from 128 on */
    const struct split s = split(bits);
    const int64_t sum = interpolated(ex2_table, s.fraction, 17, 13, 0, squared) + 0x77e2;
    return assembled(127 + s.whole, sum >> 15);
}

/* The argument in turns (FMUL by 1 / (2 pi) has made them), of which 25 bits behind the point
 * count; the two upper ones are the quadrant. */
static ALWAYS_INLINE uint32_t turns_of(uint32_t bits) {
    const uint32_t field = bits >> 23 & 0xff, f = bits & FRACTION, mantissa = field ? ONE | f : 0;
    return field > 149   ? 0
           : field > 124 ? mantissa << (field - 125)
           : field > 93  ? mantissa >> (125 - field)
                         : 0;
}

/* Where in its quadrant a wave is. */
static ALWAYS_INLINE uint32_t place_in(uint32_t turns, uint32_t cosine) {
    return (((turns >> 23) + cosine) & 1 ? ~turns : turns) & FRACTION;
}

static ALWAYS_INLINE uint32_t wave(uint32_t bits, uint32_t cosine, uint32_t squared) {
    if ((bits >> 23 & 0xff) == 255) return NOT_A_NUMBER;
    const uint32_t turns = turns_of(bits), quadrant = (turns >> 23) + cosine;
    const uint32_t sign = ((cosine ? 0 : bits >> 31) ^ quadrant >> 1) << 31;
    const uint32_t place = place_in(turns, cosine);
    return sign | leading((uint64_t)interpolated(sin_table, place, 17, 11, 0, squared), 37);
}

/* Not the card's bits, whose tables are not known: within its documented error (2^-11). */
static uint32_t tangent(uint32_t bits) {
    const float x = bits_to_f32(bits), magnitude = bits_to_f32(bits & 0x7fffffffu);
    const double z = (double)x * x;
    if (x != x) return NOT_A_NUMBER;
    if (magnitude > 9.1f) return (bits & 0x80000000u) | 0x3f800000u;
    if (magnitude < 0x1p-9f) return bits;
    if (magnitude < 0.25f)
        return f32_to_bits((float)(x * (1 - z * (1.0 / 3 - z * (2.0 / 15 - z * (17.0 / 315))))));
    const double e = exp2_32(2.88539008177792681472f * magnitude);
    return (bits & 0x80000000u) | f32_to_bits((float)((e - 1) / (e + 1)));
}

/* Numbers of the modifiers. */
enum { RCP, RSQ, SQRT, LG2, EX2, SIN, COS };

/* The place of an argument in its segment, which is squared: 17 bits. */
static ALWAYS_INLINE uint32_t place_of(uint32_t function, uint32_t bits) {
    switch (function) {
    case RCP: return bits << 1 & PLACE; /* of 16 bits */
    case EX2: return split(bits).fraction & PLACE;
    case SIN: return place_in(turns_of(bits), 0) & PLACE;
    case COS: return place_in(turns_of(bits), 1) & PLACE;
    default: return bits & PLACE;
    }
}

static ALWAYS_INLINE uint32_t with_square(uint32_t function, uint32_t bits, uint32_t squared) {
    switch (function) {
    case RCP: return reciprocal(bits, squared);
    case RSQ: return reciprocal_root(bits, squared);
    case SQRT: return root(bits, squared);
    case LG2: return logarithm(bits, squared);
    case EX2: return power(bits, squared);
    case SIN: return wave(bits, 0, squared);
    case COS: return wave(bits, 1, squared);
    default: return tangent(bits);
    }
}

static uint32_t special(uint32_t function, uint32_t bits) {
    return with_square(function, bits, square(place_of(function, bits)));
}

/* Of halves (the upper one with .H1) in single precision, cut off. */
static uint32_t special_half(uint32_t function, uint32_t bits, struct format format) {
    const double result =
        (double)bits_to_f32(special(function, f32_to_bits(half_value(bits, format))));
    if (result != result) return 0x7fff;
    const double most = power_of_two(format.bias + 1);
    const bool finite = result < most && result > -most;
    return half_bits(finite ? rounded(result, format, TO_ZERO) : result, format);
}

/* One function of all lanes: all squares first, several lanes at a time. */
#define ALL_LANES(function)                                                                        \
    case function:                                                                                 \
        EACH_LANE place[lane] = place_of(function, bits[lane]);                                    \
        EACH_LANE squared[lane] = square(place[lane]);                                             \
        for (int lane = 0; lane < 32; lane++)                                                      \
            result[lane] = with_square(function, bits[lane], squared[lane]);                       \
        break;

static ALWAYS_INLINE void special_lanes(uint32_t function, const uint32_t bits[32],
                                        uint32_t result[32]) {
    uint32_t place[32], squared[32];
    switch (function) {
        ALL_LANES(RCP)
        ALL_LANES(RSQ)
        ALL_LANES(SQRT)
        ALL_LANES(LG2)
        ALL_LANES(EX2)
        ALL_LANES(SIN)
        ALL_LANES(COS)
    default:
        for (int lane = 0; lane < 32; lane++) result[lane] = tangent(bits[lane]);
        break;
    }
}

SASS_FN(MUFU) {
    SASS_ROWS
    const uint32_t function = sass_mod(u, 9, 7), type = sass_mod(u, 13, 3),
                   part = sass_mod(u, 15, 1) * 16;
    const struct take a = type ? take_of(u, SASS_ABS_A, SASS_NEG_A, 0x80008000u) : TAKE(A);
    uint32_t bits[32], result[32];
    EACH_LANE bits[lane] = taken(ra[lane], a);
    if (type)
        for (int lane = 0; lane < 32; lane++)
            result[lane] =
                special_half(function, bits[lane] >> part & 0xffff, type == 2 ? BFLOAT : HALF);
    else special_lanes(function, bits, result);
    EACH_LANE d[lane] = SASS_KEEP(d[lane], result[lane]);
}

/* The high word of an approximation from that of a double: its fraction has 20 bits. */
static uint32_t special_high(uint32_t bits, bool is_root) {
    const uint32_t sign = bits & 0x80000000u, field = bits >> 20 & 0x7ff, f = bits & 0xfffff;
    if (field == 0) return sign | 0x7ff00000u;
    if ((field == 0x7ff && f) || (is_root && sign)) return NOT_A_NUMBER;
    if (field == 0x7ff) return sign;
    const uint32_t odd = is_root ? ~field & 1 : 0;
    const uint32_t single = (127 + odd) << 23 | f << 3;
    const uint32_t result = special(is_root ? RSQ : RCP, single);
    const int32_t power_of = (int32_t)field - 1023 - (int32_t)odd;
    const int32_t exponent =
        (int32_t)(result >> 23) - 127 + 1023 - (is_root ? power_of / 2 : power_of);
    return sign | (exponent > 0 ? (uint32_t)exponent << 20 | (result & FRACTION) >> 3 : 0);
}

SASS_FN(MUFU_64H) {
    SASS_ROWS
    const struct take a = TAKE(A);
    const bool is_root = sass_mod(u, 9, 1);
    for (int lane = 0; lane < 32; lane++) {
        const uint32_t result = special_high(taken(ra[lane], a), is_root);
        d[lane] = SASS_KEEP(d[lane], result);
    }
}

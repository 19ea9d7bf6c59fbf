/* The functions of 64 bits, and of 16, that the expressions of ops.def call: exact, and none from
 * libm. */
#ifndef SMMUX_WIDE_H
#define SMMUX_WIDE_H

#include "kernel/special.h"

__extension__ typedef unsigned __int128 uint128;

static inline uint64_t f64_to_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The bits of a result: NaN is one value, as for floats (f32_result). */
static inline uint64_t f64_result(double value) {
    return value != value ? 0x7fffffffffffffffull : f64_to_bits(value);
}

static inline double sqrt64(double a) { return __builtin_sqrt(a); }

/* PTX min and max: of a number and a NaN the number; -0 is below +0. */
static inline double fmin64(double a, double b) {
    if (a == b) return bits_to_f64(f64_to_bits(a) | f64_to_bits(b));
    return (a < b || b != b) ? a : b;
}

static inline double fmax64(double a, double b) {
    if (a == b) return bits_to_f64(f64_to_bits(a) & f64_to_bits(b));
    return (a > b || b != b) ? a : b;
}

/* PTX cvt.rzi: it saturates, and gives 0 for NaN. */
static inline int32_t f64_to_s32(double a) {
    const double in_range = a > -2147483649.0 && a < 2147483648.0 ? a : 0.0;
    int32_t value = (int32_t)in_range;
    value = a >= 2147483648.0 ? INT32_MAX : value;
    return a <= -2147483649.0 ? INT32_MIN : value;
}

static inline uint32_t f64_to_u32(double a) {
    const double in_range = a > 0.0 && a < 4294967296.0 ? a : 0.0;
    const uint32_t value = (uint32_t)in_range;
    return a >= 4294967296.0 ? UINT32_MAX : value;
}

static inline int64_t f64_to_s64(double a) {
    const double in_range = a >= -0x1p63 && a < 0x1p63 ? a : 0.0;
    int64_t value = (int64_t)in_range;
    value = a >= 0x1p63 ? INT64_MAX : value;
    return a < -0x1p63 ? INT64_MIN : value;
}

static inline uint64_t f64_to_u64(double a) {
    const double in_range = a > 0.0 && a < 0x1p64 ? a : 0.0;
    const uint64_t value = (uint64_t)in_range;
    return a >= 0x1p64 ? UINT64_MAX : value;
}

static inline double with_sign_of64(double magnitude, double sign) {
    const uint64_t top = 0x8000000000000000ull;
    return bits_to_f64((f64_to_bits(magnitude) & ~top) | (f64_to_bits(sign) & top));
}

/* The integer towards zero. Every double of magnitude 2^52 and more is an integer already. */
static inline double trunc64(double a) {
    const double small = a > -0x1p52 && a < 0x1p52 ? a : 0.0;
    const double whole = (double)(int64_t)small;
    return a > -0x1p52 && a < 0x1p52 ? with_sign_of64(whole, a) : a;
}

static inline double floor64(double a) {
    const double t = trunc64(a);
    return t > a ? t - 1.0 : t;
}

static inline double ceil64(double a) {
    const double t = trunc64(a);
    return t < a ? with_sign_of64(t + 1.0, a) : t;
}

/* The nearest integer, even of two: adding and subtracting 2^52 rounds so. */
static inline double nearest64(double a) {
    const double magic = with_sign_of64(0x1p52, a);
    const double rounded = with_sign_of64((a + magic) - magic, a);
    return a > -0x1p52 && a < 0x1p52 ? rounded : a;
}

/* Shift to the right; bits that fall out leave a 1 in the last place. */
static inline uint128 shift_jam(uint128 x, int by) {
    if (by > 127) return x != 0;
    return x >> by | (x & (((uint128)1 << by) - 1) ? 1 : 0);
}

/* A finite number that is not 0 as magnitude times 2^exponent, the magnitude's top bit in
 * position 125: a sum of two has room, and a bit below the last one of both. */
struct scaled {
    uint128 magnitude;
    int exponent;
};

static inline struct scaled scale(uint128 magnitude, int exponent) {
    const uint64_t high = (uint64_t)(magnitude >> 64);
    const int zeros = high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)magnitude);
    return (struct scaled){shift_jam(magnitude << zeros, 2), exponent - zeros + 2};
}

static inline uint64_t significand(uint64_t bits) {
    const uint64_t fraction = bits & 0xfffffffffffffull;
    return bits << 1 >> 53 ? fraction | 1ull << 52 : fraction;
}

static inline int exponent64(uint64_t bits) {
    const int field = (int)(bits << 1 >> 53);
    return (field ? field : 1) - 1075;
}

/* The double nearest to a number below 2^127 times 2^exponent, even of two; with `up` the next one
 * from it outwards, with `down` the next one inwards. */
static inline uint64_t round64(uint128 magnitude, int exponent, int up, int down) {
    const struct scaled s = scale(magnitude, exponent);
    const int top = s.exponent + 125; /* the number is from 2^top up, below 2^(top + 1) */
    const uint64_t infinite = 0x7ffull << 52;
    if (top > 1023) return down ? infinite - 1 : infinite;
    const int bits = top >= -1022 ? 53 : 53 - (-1022 - top);
    if (bits < 0) return (uint64_t)up;
    const int drop = 126 - bits;
    const uint128 rest = s.magnitude & (((uint128)1 << drop) - 1), half = (uint128)1 << (drop - 1);
    uint64_t kept = (uint64_t)(s.magnitude >> drop);
    if (up) kept += rest != 0;
    else if (!down) kept += rest > half || (rest == half && kept & 1);
    const uint64_t result = top >= -1022 ? ((uint64_t)(top + 1022) << 52) + kept : kept;
    return result >= infinite && down ? infinite - 1 : result;
}

/* a * b + c rounded once, by integers: hosts without the instruction would call libm. mode: 0 to
 * the nearest, 1 down, 2 up, 3 towards zero. */
static inline double fma64_rounded(double a, double b, double c, int mode) {
    const uint64_t x = f64_to_bits(a), y = f64_to_bits(b), z = f64_to_bits(c);
    const uint64_t sign = (x ^ y) >> 63, same = sign == z >> 63;
    if (a - a != 0.0 || b - b != 0.0 || c - c != 0.0) {
        if (a - a != 0.0 || b - b != 0.0 || c != c) return a * b + c;
        return c;
    }
    if (a == 0.0 || b == 0.0) {
        if (c != 0.0) return c;
        return same ? c : mode == 1 ? -0.0 : 0.0;
    }
    const struct scaled p =
        scale((uint128)significand(x) * significand(y), exponent64(x) + exponent64(y));
    if (c == 0.0) {
        const int outwards = mode == (sign ? 1 : 2);
        return bits_to_f64(sign << 63 |
                           round64(p.magnitude, p.exponent, outwards, mode && !outwards));
    }
    const struct scaled q = scale(significand(z), exponent64(z));
    const int exponent = p.exponent > q.exponent ? p.exponent : q.exponent;
    const uint128 product = shift_jam(p.magnitude, exponent - p.exponent),
                  addend = shift_jam(q.magnitude, exponent - q.exponent);
    if (!same && product == addend) return mode == 1 ? -0.0 : 0.0;
    const uint64_t of = same || product > addend ? sign : sign ^ 1;
    const uint128 magnitude = same               ? product + addend
                              : product > addend ? product - addend
                                                 : addend - product;
    const int outwards = mode == (of ? 1 : 2);
    return bits_to_f64(of << 63 | round64(magnitude, exponent, outwards, mode && !outwards));
}

static inline double fma64(double a, double b, double c) { return fma64_rounded(a, b, c, 0); }

/* The nearest float16, even of two; its bits. */
static inline uint32_t f64_to_f16(double a) {
    const uint64_t bits = f64_to_bits(a), magnitude = bits & 0x7fffffffffffffffull;
    const uint32_t sign = (uint32_t)(bits >> 48) & 0x8000u;
    const double x = bits_to_f64(magnitude);
    if (a != a) return 0x7fffu;
    if (x >= 65520.0) return sign | 0x7c00u;
    if (x < 0x1p-14) return sign | (uint32_t)nearest64(x * 0x1p24);
    const uint64_t rounded = magnitude + ((1ull << 41) - 1) + (magnitude >> 42 & 1);
    return sign | (uint32_t)((rounded >> 42) - ((1023ull - 15) << 10));
}

static inline float f16_to_f32(uint32_t bits) {
    const uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31,
                   fraction = bits & 1023;
    const uint32_t small = f32_to_bits((float)fraction * 0x1p-24f);
    const uint32_t normal = ((exponent == 31 ? 255 : exponent + 112) << 23) | fraction << 13;
    return bits_to_f32(sign | (exponent ? normal : small));
}

#endif

/* The functions that the expressions of ops.def call. None comes from libm, whose bits differ
 * between hosts: these do not. Transcendentals evaluate polynomials in double precision (plain IEEE
 * operations) and round once to float, which leaves them within 1 ulp of the exact result; the SFU
 * of the modelled machines is less exact. */
#ifndef SMMUX_SPECIAL_H
#define SMMUX_SPECIAL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"

static inline float bits_to_f32(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t f32_to_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The bits of a result: NaN is the machine's canonical one (PTX), since which operand's payload
 * the host would hand on depends on how its compiler orders them. */
static inline uint32_t f32_result(float value) {
    return value != value ? 0x7fffffffu : f32_to_bits(value);
}

static inline double bits_to_f64(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t clz32(uint32_t x) {
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    x |= x >> 16;
    return 32 - bits_count(x);
}

static inline uint32_t brev32(uint32_t x) {
    x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
    x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
    x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
    x = ((x >> 8) & 0x00ff00ffu) | ((x & 0x00ff00ffu) << 8);
    return (x >> 16) | (x << 16);
}

static inline float fma32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline float sqrt32(float a) { return __builtin_sqrtf(a); }
static inline float rsqrt32(float a) { return (float)(1.0 / __builtin_sqrt((double)a)); }

/* PTX min and max: of a number and a NaN the number; -0 is below +0. */
static inline float fmin32(float a, float b) {
    if (a == b) return bits_to_f32(f32_to_bits(a) | f32_to_bits(b));
    return (a < b || b != b) ? a : b;
}

static inline float fmax32(float a, float b) {
    if (a == b) return bits_to_f32(f32_to_bits(a) & f32_to_bits(b));
    return (a > b || b != b) ? a : b;
}

/* PTX add.sat: it stays at the end that it would pass. */
static inline int32_t add_sat32(int32_t a, int32_t b) {
    const int64_t sum = (int64_t)a + b;
    return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
}

/* PTX cvt.rzi: it saturates, and gives 0 for NaN. */
static inline int32_t f32_to_s32(float a) {
    float in_range = a > -2147483648.0f && a < 2147483648.0f ? a : 0.0f;
    int32_t value = (int32_t)in_range;
    value = a >= 2147483648.0f ? INT32_MAX : value;
    return a <= -2147483648.0f ? INT32_MIN : value;
}

static inline uint32_t f32_to_u32(float a) {
    float in_range = a > 0.0f && a < 4294967296.0f ? a : 0.0f;
    uint32_t value = (uint32_t)in_range;
    return a >= 4294967296.0f ? UINT32_MAX : value;
}

static inline float with_sign_of(float magnitude, float sign) {
    return bits_to_f32((f32_to_bits(magnitude) & 0x7fffffffu) | (f32_to_bits(sign) & 0x80000000u));
}

/* The integer towards zero. Every float of magnitude 2^23 and more is an integer already. */
static inline float trunc32(float a) {
    float small = a > -8388608.0f && a < 8388608.0f ? a : 0.0f;
    float whole = (float)(int32_t)small;
    return a > -8388608.0f && a < 8388608.0f ? with_sign_of(whole, a) : a;
}

static inline float floor32(float a) {
    float t = trunc32(a);
    return t > a ? t - 1.0f : t;
}

static inline float ceil32(float a) {
    float t = trunc32(a);
    return t < a ? with_sign_of(t + 1.0f, a) : t;
}

/* The nearest integer, even of two: adding and subtracting 2^23 rounds so. */
static inline float rint32(float a) {
    float magic = with_sign_of(8388608.0f, a);
    float rounded = with_sign_of((a + magic) - magic, a);
    return a > -8388608.0f && a < 8388608.0f ? rounded : a;
}

static inline double rint64(double a) { return (a + 0x1.8p52) - 0x1.8p52; }

/* a - k pi/2 with k = rint(a 2/pi): pi/2 in three parts of 25 bits keeps k times a part exact
 * up to |a| = 2^27, beyond which the remainder is clamped. */
static inline double reduce_pi_2(float a, double *k) {
    double x = (double)a;
    *k = rint64(x * 0.63661977236758134308);
    double r =
        ((x - *k * 0x1.921fb50000000p+0) - *k * 0x1.110b460000000p-26) - *k * 0x1.1a62633145c07p-54;
    r = r > 0.7854 ? 0.7854 : r;
    return r < -0.7854 ? -0.7854 : r;
}

/* The sine or the cosine of r, |r| <= pi/4, as series of which only the one that is asked for is
 * evaluated: both have as many terms. */
static inline double sin_or_cos(double r, bool cosine) {
    const double z = r * r;
    double p = cosine ? 1.0 / 20922789888000.0 : -1.0 / 1307674368000.0;
    p = p * z + (cosine ? -1.0 / 87178291200.0 : 1.0 / 6227020800.0);
    p = p * z + (cosine ? 1.0 / 479001600.0 : -1.0 / 39916800.0);
    p = p * z + (cosine ? -1.0 / 3628800.0 : 1.0 / 362880.0);
    p = p * z + (cosine ? 1.0 / 40320.0 : -1.0 / 5040.0);
    p = p * z + (cosine ? -1.0 / 720.0 : 1.0 / 120.0);
    p = p * z + (cosine ? 1.0 / 24.0 : -1.0 / 6.0);
    return (cosine ? 1.0 - 0.5 * z : r) + z * (cosine ? z : r) * p;
}

/* sin(a + quarter pi/2), for sine and cosine. */
static inline float sincos32(float a, double quarter) {
    double k, r = reduce_pi_2(a, &k);
    double turns = k + quarter;
    double n = turns - 4.0 * rint64(turns * 0.25 - 0.375); /* turns mod 4, in 0..3 */
    double value = sin_or_cos(r, n == 1.0 || n == 3.0);
    value = n >= 2.0 ? -value : value;
    return a - a == 0.0f ? (float)value : a - a;
}

static inline float sin32(float a) { return sincos32(a, 0.0); }
static inline float cos32(float a) { return sincos32(a, 1.0); }

static inline float exp2_32(float a) {
    double x = (double)a;
    x = x < -160.0 ? -160.0 : x;
    x = x > 140.0 ? 140.0 : x;
    x = a == a ? x : 0.0;
    double k = rint64(x);
    double f = (x - k) * 0.69314718055994530942;
    double p = 1.0 / 39916800.0;
    p = p * f + 1.0 / 3628800.0;
    p = p * f + 1.0 / 362880.0;
    p = p * f + 1.0 / 40320.0;
    p = p * f + 1.0 / 5040.0;
    p = p * f + 1.0 / 720.0;
    p = p * f + 1.0 / 120.0;
    p = p * f + 1.0 / 24.0;
    p = p * f + 1.0 / 6.0;
    p = p * f + 0.5;
    p = p * f + 1.0;
    p = p * f + 1.0;
    double scale = bits_to_f64((uint64_t)((int64_t)k + 1023) << 52);
    return a == a ? (float)(p * scale) : a;
}

static inline float log2_32(float a) {
    double x = (double)a; /* denormal floats are normal doubles */
    x = a > 0.0f && a - a == 0.0f ? x : 1.0;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int64_t e = (int64_t)(bits >> 52) - 1023;
    double m = bits_to_f64((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
    int high = m > 1.41421356237309504880;
    m = high ? m * 0.5 : m;
    e += high;
    double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z + 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z + 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z + 1.0 / 3.0;
    p = p * z + 1.0;
    double value = (double)e + 2.88539008177792681472 * s * p;
    if (a > 0.0f) return a - a == 0.0f ? (float)value : a;
    if (a == 0.0f) return -1.0f / 0.0f;
    return a != a ? a : (a - a) / (a - a);
}

#endif

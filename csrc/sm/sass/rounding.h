/* Rounding of exact results to floats of any format, in any direction, by operations of double
 * precision alone: no mode of the host is touched, and loops over lanes vectorise. */
#ifndef SMMUX_SM_SASS_ROUNDING_H
#define SMMUX_SM_SASS_ROUNDING_H

#include <stdbool.h>

#include "base/hints.h"
#include "kernel/wide.h"

/* Numbers of the modifiers .RM .RP .RZ. */
enum rounding { TO_NEAREST, DOWN, UP, TO_ZERO };

/* The integer that a number is rounded to. */
static ALWAYS_INLINE double integral(double value, enum rounding mode) {
    switch (mode) {
    case DOWN: return __builtin_floor(value);
    case UP: return __builtin_ceil(value);
    case TO_ZERO: return __builtin_trunc(value);
    default: return __builtin_rint(value);
    }
}

/* Bits of a fraction, of an exponent, and its bias. */
struct format {
    int fraction, exponent, bias;
};

static const struct format SINGLE = {23, 8, 127}, HALF = {10, 5, 15}, BFLOAT = {7, 8, 127};

static ALWAYS_INLINE double power_of_two(int exponent) {
    return bits_to_f64((uint64_t)(exponent + 1023) << 52);
}

/* x + y, whose last bit is set if it is not exact: so it can be rounded to a shorter format, in any
 * direction, as if it were. */
static ALWAYS_INLINE double odd_sum(double x, double y) {
    const double sum = x + y, other = sum - x;
    const double error = (x - (sum - other)) + (y - other);
    const uint64_t bits = f64_to_bits(sum);
    const uint64_t away = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
    const bool inexact = error != 0 && sum - sum == 0 && !(bits & 1);
    return bits_to_f64(inexact ? away : bits);
}

/* x + y, of doubles, rounded as asked: the nearest sum is moved where its error says so. */
static ALWAYS_INLINE double directed_sum(double x, double y, enum rounding mode) {
    const double sum = x + y, other = sum - x;
    const double error = (x - (sum - other)) + (y - other);
    const bool less = error < 0 && (mode == DOWN || (mode == TO_ZERO && sum > 0)),
               more = error > 0 && (mode == UP || (mode == TO_ZERO && sum < 0));
    const uint64_t bits = f64_to_bits(sum);
    return less || more ? bits_to_f64((sum > 0) == more ? bits + 1 : bits - 1) : sum;
}

/* The sign of an exact sum that is zero: of zeros of both signs, or x - x, only DOWN makes -0. */
static ALWAYS_INLINE double signed_sum(double x, double y, enum rounding mode) {
    const double sum = odd_sum(x, y);
    return sum == 0 && mode == DOWN && (f64_to_bits(x) | f64_to_bits(y)) >> 63 ? -0.0 : sum;
}

/* A number, which is not NaN, in a format's precision. Infinite beyond its range, or its largest
 * number where the mode says so. */
static ALWAYS_INLINE double rounded(double x, struct format f, enum rounding mode) {
    const int least = 1 - f.bias, most = f.bias;
    const double largest = (2 - power_of_two(-f.fraction)) * power_of_two(most);
    const uint64_t bits = f64_to_bits(x);
    const bool negative = bits >> 63;
    const int own = (int)(bits >> 52 & 0x7ff) - 1023, exponent = own < least  ? least
                                                                 : own > most ? most
                                                                              : own;
    const double magnitude = bits_to_f64(bits & ~(1ull << 63));
    const double unit = power_of_two(exponent - f.fraction), magic = 0x1.8p52 * unit;
    const double small = own > most ? 0 : magnitude;
    double result = (small + magic) - magic;
    const bool outwards = negative ? mode == DOWN : mode == UP;
    result = mode != TO_NEAREST && !outwards && result > small ? result - unit : result;
    result = outwards && result < small ? result + unit : result;
    const bool finite = own < 0x400, capped = mode != TO_NEAREST && !outwards && finite;
    result = own > most || result > largest ? (capped ? largest : __builtin_inf()) : result;
    return negative ? -result : result;
}

#endif

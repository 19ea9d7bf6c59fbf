/* Floats of 16 bits and their bits. */
#ifndef SMMUX_SM_SASS_HALVES_H
#define SMMUX_SM_SASS_HALVES_H

#include "sm/sass/rounding.h"

/* The number of such bits, which float holds exactly: its exponent counts from 112 less, which a
 * multiplication makes good for subnormals, too. */
static ALWAYS_INLINE float half_value(uint32_t bits, struct format format) {
    const uint32_t sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;
    if (format.fraction == 7) return bits_to_f32(bits << 16);
    const float finite = bits_to_f32(rest << 13) * 0x1p112f;
    const uint32_t beyond = rest >= 0x7c00 ? 0x7f800000u : 0;
    return bits_to_f32(f32_to_bits(finite) | beyond | sign);
}

/* The bits of a number that the format holds exactly, or of an infinity. */
static ALWAYS_INLINE uint32_t half_bits(double value, struct format format) {
    if (format.fraction == 7) return f32_to_bits((float)value) >> 16;
    const uint32_t bits = f32_to_bits((float)value), magnitude = bits & 0x7fffffffu;
    const bool subnormal = magnitude < 113u << 23;
    const float small = subnormal ? bits_to_f32(magnitude) : 0;
    const uint32_t normal = (magnitude >> 13) - (112u << 10),
                   finite = subnormal ? (uint32_t)(int32_t)(small * 0x1p24f) : normal;
    return (bits >> 16 & 0x8000u) | (magnitude >= 0x47800000u ? 0x7c00u : finite);
}

#endif

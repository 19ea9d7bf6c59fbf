/* How operands of floats are taken: signs, subnormals, and the ends of a result. */
#ifndef SMMUX_SM_SASS_TAKE_H
#define SMMUX_SM_SASS_TAKE_H

#include "kernel/special.h"
#include "sm/sass/sass.h"

/* The bits that are kept, then those that are flipped. */
struct take {
    uint32_t keep, flip;
};

/* Of an operand whose sign is this bit (or these bits, of halves). */
static inline struct take take_of(const struct uop *u, uint32_t absolute, uint32_t negate,
                                  uint32_t sign) {
    return (struct take){sass_mask(u, absolute) ? ~sign : ~0u, sass_mask(u, negate) & sign};
}

#define TAKE(slot) take_of(u, SASS_ABS_##slot, SASS_NEG_##slot, 0x80000000u)

static inline uint32_t taken(uint32_t bits, struct take t) { return (bits & t.keep) ^ t.flip; }

/* A subnormal becomes a zero of its sign. */
static inline uint32_t flushed(uint32_t bits, uint32_t ftz) {
    return ftz && !(bits & 0x7f800000u) ? bits & 0x80000000u : bits;
}

/* Clamp to 0 and 1; NaN becomes 0. */
static inline uint32_t saturated(uint32_t bits, uint32_t sat) {
    const float value = bits_to_f32(bits);
    if (!sat) return bits;
    return value > 0 ? (value < 1 ? bits : 0x3f800000u) : 0;
}

static inline uint32_t finished(float value, uint32_t ftz, uint32_t sat) {
    return saturated(flushed(f32_result(value), ftz), sat);
}

/* A pair of registers as one number, and back. */
static inline uint64_t pair(const uint32_t *row, int lane) {
    return (uint64_t)row[lane + 32] << 32 | row[lane];
}

#define KEEP_PAIR(value)                                                                           \
    do {                                                                                           \
        const uint64_t pair_ = (value);                                                            \
        d[lane] = SASS_KEEP(d[lane], (uint32_t)pair_);                                             \
        d[lane + 32] = SASS_KEEP(d[lane + 32], (uint32_t)(pair_ >> 32));                           \
    } while (0)

#endif

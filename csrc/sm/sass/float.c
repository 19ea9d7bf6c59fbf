#include "kernel/special.h"
#include "sm/sass/sass.h"

/* How float operands are taken: the bits that are kept, then those that are flipped. */
struct take {
    uint32_t keep, flip;
};

static struct take take_of(const struct uop *u, uint32_t absolute, uint32_t negate) {
    return (struct take){sass_mask(u, absolute) ? 0x7fffffffu : ~0u,
                         sass_mask(u, negate) & 0x80000000u};
}

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

#define FLOAT_MODS const uint32_t ftz = sass_mod(u, 9, 1), sat = sass_mod(u, 10, 1);

/* The exact value in double precision, of a sum or a product of floats, rounded to float as asked:
 * 0 nearest, 1 down, 2 up, 3 towards zero. */
SASS_FN(FADD) {
    SASS_ROWS
    FLOAT_MODS
    const struct take a = take_of(u, SASS_ABS_A, SASS_NEG_A),
                      b = take_of(u, SASS_ABS_B, SASS_NEG_B);
    EACH_LANE {
        const float x = bits_to_f32(flushed(taken(ra[lane], a), ftz)),
                    y = bits_to_f32(flushed(taken(rb[lane], b), ftz));
        d[lane] = SASS_KEEP(d[lane], finished(x + y, ftz, sat));
    }
}

SASS_FN(FMUL) {
    SASS_ROWS
    FLOAT_MODS
    const struct take a = take_of(u, SASS_ABS_A, SASS_NEG_A),
                      b = take_of(u, SASS_ABS_B, SASS_NEG_B);
    EACH_LANE {
        const float x = bits_to_f32(flushed(taken(ra[lane], a), ftz)),
                    y = bits_to_f32(flushed(taken(rb[lane], b), ftz));
        d[lane] = SASS_KEEP(d[lane], finished(x * y, ftz, sat));
    }
}

SASS_FN(FFMA) {
    SASS_ROWS
    FLOAT_MODS
    const struct take a = take_of(u, 0, SASS_NEG_A), b = take_of(u, 0, SASS_NEG_B),
                      c = take_of(u, 0, SASS_NEG_C);
    EACH_LANE {
        const float x = bits_to_f32(flushed(taken(ra[lane], a), ftz)),
                    y = bits_to_f32(flushed(taken(rb[lane], b), ftz)),
                    z = bits_to_f32(flushed(taken(rc[lane], c), ftz));
        d[lane] = SASS_KEEP(d[lane], finished(fma32(x, y, z), ftz, sat));
    }
}

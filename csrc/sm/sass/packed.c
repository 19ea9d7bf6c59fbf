/* Minima and maxima of integers, and operations on the bytes or halves of a word. */
#include "sm/sass/rounding.h"
#include "sm/sass/sass.h"

enum { OF_UNSIGNED = 1 << 9, OF_HALVES = 1 << 10, WITH_RELU = 1 << 11 };

/* One half of a sum of halves, which carries nothing into the other. */
static inline uint32_t add_halves(uint32_t a, uint32_t b) {
    return ((a & 0x7fff7fffu) + (b & 0x7fff7fffu)) ^ ((a ^ b) & 0x80008000u);
}

static inline uint32_t choose(uint32_t a, uint32_t b, uint32_t bias, bool least) {
    return ((a ^ bias) < (b ^ bias)) == least ? a : b;
}

/* The lesser or the greater of two words, or of their halves. */
static inline uint32_t bound(uint32_t a, uint32_t b, uint32_t modifiers, bool least) {
    const uint32_t signs = modifiers & OF_UNSIGNED ? 0 : 0x80008000u;
    if (!(modifiers & OF_HALVES)) return choose(a, b, signs & 0x80000000u, least);
    const uint32_t x = a ^ signs, y = b ^ signs;
    const uint32_t high = choose(x & 0xffff0000u, y & 0xffff0000u, 0, least),
                   low = choose(x & 0xffffu, y & 0xffffu, 0, least);
    return (high | low) ^ signs;
}

/* What is negative becomes zero. */
static inline uint32_t relu(uint32_t a, uint32_t modifiers) {
    if (!(modifiers & WITH_RELU)) return a;
    return bound(a, 0, modifiers & OF_HALVES, false);
}

/* Of halves a predicate each, the low one's first: the result is the first operand's. */
SASS_FN(IMNMX) {
    SASS_ROWS
    const uint32_t least = sass_read(u, w, SHIFT_PS0), modifiers = (uint32_t)u->imm;
    uint32_t high[32], low[32];
    EACH_LANE {
        const uint32_t a = ra[lane],
                       value = relu(bound(a, rb[lane], modifiers, least >> lane & 1), modifiers);
        high[lane] = ((value ^ a) & 0xffff0000u) == 0;
        low[lane] = ((value ^ a) & 0xffffu) == 0;
        d[lane] = SASS_KEEP(d[lane], value);
    }
    if (!(u->needs & NEED_PREDS)) return;
    sass_write(u, w, SHIFT_PD0, sass_lanes(low), mask);
    sass_write(u, w, SHIFT_PD1, sass_lanes(high), mask);
}

SASS_FN(VIMNMX3) {
    SASS_ROWS
    const uint32_t least = sass_read(u, w, SHIFT_PS0), modifiers = (uint32_t)u->imm;
    EACH_LANE {
        const bool min = least >> lane & 1;
        const uint32_t two = bound(ra[lane], rb[lane], modifiers, min);
        d[lane] = SASS_KEEP(d[lane], relu(bound(two, rc[lane], modifiers, min), modifiers));
    }
}

/* The sum wraps. */
SASS_FN(VIADDMNMX) {
    SASS_ROWS
    const uint32_t least = sass_read(u, w, SHIFT_PS0), modifiers = (uint32_t)u->imm;
    const bool halves = modifiers & OF_HALVES;
    const uint32_t flip = sass_mask(u, SASS_NEG_B), plus = flip & (halves ? 0x00010001u : 1);
    EACH_LANE {
        const uint32_t a = ra[lane], b = rb[lane] ^ flip;
        const uint32_t sum = halves ? add_halves(a, add_halves(b, plus)) : a + b + plus;
        const uint32_t value = bound(sum, rc[lane], modifiers, least >> lane & 1);
        d[lane] = SASS_KEEP(d[lane], relu(value, modifiers));
    }
}

SASS_FN(VIADD_16) {
    SASS_ROWS
    const uint32_t flip = sass_mask(u, SASS_NEG_B), plus = flip & 0x00010001u;
    EACH_LANE {
        const uint32_t b = add_halves(rb[lane] ^ flip, plus);
        d[lane] = SASS_KEEP(d[lane], add_halves(ra[lane], b));
    }
}

/* |a - b| + c */
SASS_FN(VABSDIFF) {
    SASS_ROWS
    const uint32_t bias = sass_mod(u, 9, 1) ? 0 : 0x80000000u;
    EACH_LANE {
        const uint32_t a = ra[lane], b = rb[lane];
        d[lane] = SASS_KEEP(d[lane], ((a ^ bias) < (b ^ bias) ? b - a : a - b) + rc[lane]);
    }
}

/* |a - b| of each byte; or the sum of the four, and c. */
SASS_FN(VABSDIFF4) {
    SASS_ROWS
    const bool adds = sass_mod(u, 9, 1);
    const uint32_t bias = sass_mod(u, 10, 1) ? 0 : 0x80808080u;
    EACH_LANE {
        uint32_t bytes = 0, sum = rc[lane];
        for (uint32_t i = 0; i < 32; i += 8) {
            const uint32_t a = (ra[lane] ^ bias) >> i & 0xff, b = (rb[lane] ^ bias) >> i & 0xff;
            const uint32_t difference = a < b ? b - a : a - b;
            bytes |= difference << i;
            sum += difference;
        }
        d[lane] = SASS_KEEP(d[lane], adds ? sum : bytes);
    }
}

/* A field of a word, with its sign where `sign` is its highest bit and not 0. */
static inline uint32_t part(uint32_t word, uint32_t shift, uint32_t bits, uint32_t sign) {
    const uint32_t value = word >> shift & bits;
    return (value ^ sign) - sign;
}

/* The products of four bytes each, summed, and c. */
SASS_FN(IDP_4A) {
    SASS_ROWS
    const uint32_t sign_a = sass_mod(u, 9, 1) << 7, sign_b = sass_mod(u, 10, 1) << 7;
    const uint32_t flip = sass_mask(u, SASS_NEG_C), plus = flip & 1;
    EACH_LANE {
        uint32_t sum = (rc[lane] ^ flip) + plus;
        for (uint32_t i = 0; i < 32; i += 8)
            sum += part(ra[lane], i, 0xff, sign_a) * part(rb[lane], i, 0xff, sign_b);
        d[lane] = SASS_KEEP(d[lane], sum);
    }
}

/* The products of two halves and of two bytes, the low or the high ones, summed, and c. */
SASS_FN(IDP_2A) {
    SASS_ROWS
    const uint32_t sign_a = sass_mod(u, 9, 1) << 15, sign_b = sass_mod(u, 10, 1) << 7,
                   first = sass_mod(u, 11, 1) * 16;
    const uint32_t flip = sass_mask(u, SASS_NEG_C), plus = flip & 1;
    EACH_LANE {
        uint32_t sum = (rc[lane] ^ flip) + plus;
        for (uint32_t i = 0; i < 2; i++)
            sum += part(ra[lane], 16 * i, 0xffff, sign_a) *
                   part(rb[lane], first + 8 * i, 0xff, sign_b);
        d[lane] = SASS_KEEP(d[lane], sum);
    }
}

/* The nearest number of so many bits. */
static inline uint32_t saturate(int32_t value, uint32_t bits, bool is_signed) {
    const int32_t most = (int32_t)(~0u >> (33 - bits - !is_signed)),
                  least = is_signed ? -most - 1 : 0;
    return (uint32_t)(value < least ? least : value > most ? most : value);
}

SASS_FN(I2I) {
    SASS_ROWS
    const uint32_t bits = sass_mod(u, 10, 1) ? 16 : 8;
    const bool is_signed = sass_mod(u, 9, 1);
    EACH_LANE d[lane] = SASS_KEEP(d[lane], saturate((int32_t)ra[lane], bits, is_signed));
}

/* b, then a, then what fits of c, from bit 0 on. */
static inline uint32_t pack(uint32_t a, uint32_t b, uint32_t c, uint32_t bits) {
    const uint32_t ones = (1u << bits) - 1, rest = bits < 16 ? c << 2 * (bits & 15) : 0;
    return rest | (a & ones) << bits | (b & ones);
}

/* How many bits the modifiers of I2IP and F2IP say: 2, 4, 8 or 16. */
static inline uint32_t width(const struct uop *u) {
    const uint32_t bits = sass_mod(u, 10, 31);
    return bits > 16 || bits < 2 ? 16 : bits;
}

SASS_FN(I2IP) {
    SASS_ROWS
    const uint32_t bits = width(u), shift = sass_mod(u, 15, 1) * 16;
    const bool is_signed = sass_mod(u, 9, 1), saturates = sass_mod(u, 16, 1);
    EACH_LANE {
        const int32_t x = (int32_t)ra[lane], y = (int32_t)rb[lane];
        const uint32_t a = saturates ? saturate(x, bits, is_signed) : ra[lane],
                       b = saturates ? saturate(y, bits, is_signed) : rb[lane];
        d[lane] = SASS_KEEP(d[lane], pack(a, b, rc[lane] >> shift, bits));
    }
}

/* A float as a number of so many bits, the nearest that there is; what is none is 0. */
static uint32_t cut(uint32_t word, uint32_t bits, bool is_signed, enum rounding mode) {
    const double value = integral((double)bits_to_f32(word), mode);
    const int32_t whole = value != value      ? 0
                          : value >= 65536.0  ? 65536
                          : value <= -65536.0 ? -65536
                                              : (int32_t)value;
    return saturate(whole, bits, is_signed);
}

SASS_FN(F2IP) {
    SASS_ROWS
    const uint32_t bits = width(u), shift = sass_mod(u, 15, 1) * 16;
    const bool is_signed = sass_mod(u, 9, 1);
    const enum rounding mode = (enum rounding)sass_mod(u, 17, 3);
    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t a = cut(ra[lane], bits, is_signed, mode),
                       b = cut(rb[lane], bits, is_signed, mode);
        d[lane] = SASS_KEEP(d[lane], pack(a, b, rc[lane] >> shift, bits));
    }
}

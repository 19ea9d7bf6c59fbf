/* Selections, and operations on the bits and bytes of a word. */
#include "base/bits.h"
#include "sm/sass/sass.h"

SASS_FN(SEL) {
    SASS_ROWS
    const uint32_t first = sass_read(u, w, SHIFT_PS0);
    EACH_LANE d[lane] = SASS_KEEP(d[lane], first >> lane & 1 ? ra[lane] : rb[lane]);
}

SASS_FN(IABS) {
    SASS_ROWS
    EACH_LANE d[lane] = SASS_KEEP(d[lane], ra[lane] >> 31 ? 0 - ra[lane] : ra[lane]);
}

/* The selector of a mode of PRMT other than that of four numbers, by what b says. */
static inline uint32_t selector(uint32_t mode, uint32_t b) {
    static const uint16_t table[7][4] = {
        {0},
        {0x3210, 0x4321, 0x5432, 0x6543}, /* F4E */
        {0x5670, 0x6701, 0x7012, 0x0123}, /* B4E */
        {0x0000, 0x1111, 0x2222, 0x3333}, /* RC8 */
        {0x3210, 0x3211, 0x3222, 0x3333}, /* ECL */
        {0x0000, 0x1110, 0x2210, 0x3210}, /* ECR */
        {0x1010, 0x3232, 0x1010, 0x3232}, /* RC16 */
    };
    return table[mode % 7][b & 3];
}

/* Four of the eight bytes of c:a, whose numbers are the digits of b; with 8 only its sign. */
SASS_FN(PRMT) {
    SASS_ROWS
    const uint32_t mode = sass_mod(u, 9, 7);
    uint32_t digits[32];
    EACH_LANE digits[lane] = rb[lane];
    for (uint32_t lane = 0; mode && lane < 32; lane++) digits[lane] = selector(mode, rb[lane]);
    EACH_LANE {
        uint32_t value = 0;
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t digit = digits[lane] >> 4 * i & 15;
            const uint32_t word = digit & 4 ? rc[lane] : ra[lane];
            const uint32_t byte = word >> 8 * (digit & 3) & 0xff;
            value |= (digit & 8 ? (0 - (byte >> 7)) & 0xff : byte) << 8 * i;
        }
        d[lane] = SASS_KEEP(d[lane], value);
    }
}

/* The lowest b bits, and their sign or zeros before them. */
SASS_FN(SGXT) {
    SASS_ROWS
    const bool is_unsigned = sass_mod(u, 9, 1), wraps = sass_mod(u, 10, 1);
    EACH_LANE {
        const uint32_t asked = wraps ? rb[lane] & 31 : rb[lane], a = ra[lane];
        const uint32_t above = asked > 31 ? 0 : ~0u << (asked & 31);
        const uint32_t sign = asked == 0 || asked > 31 ? 0 : a >> ((asked - 1) & 31) & 1;
        d[lane] = SASS_KEEP(d[lane], !is_unsigned && sign ? a | above : a & ~above);
    }
}

/* b ones from bit a on. */
SASS_FN(BMSK) {
    SASS_ROWS
    const bool wraps = sass_mod(u, 9, 1);
    EACH_LANE {
        const uint32_t a = wraps ? ra[lane] & 31 : ra[lane], b = wraps ? rb[lane] & 31 : rb[lane];
        const uint32_t ones = b > 31 ? ~0u : ~(~0u << (b & 31));
        d[lane] = SASS_KEEP(d[lane], a > 31 ? 0 : ones << (a & 31));
    }
}

SASS_FN(POPC) {
    SASS_ROWS
    const uint32_t flip = sass_mask(u, SASS_INV_A);
    EACH_LANE d[lane] = SASS_KEEP(d[lane], bits_count(ra[lane] ^ flip));
}

SASS_FN(BREV) {
    SASS_ROWS
    const uint32_t flip = sass_mask(u, SASS_INV_A);
    EACH_LANE {
        uint32_t x = ra[lane] ^ flip;
        x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
        x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
        x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
        x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
        d[lane] = SASS_KEEP(d[lane], x >> 16 | x << 16);
    }
}

/* The number of the highest bit that is set, or differs from the sign; from above with SH; all ones
 * if there is none, which the predicate says. */
SASS_FN(FLO) {
    SASS_ROWS
    const uint32_t flip = sass_mask(u, SASS_INV_A), from_above = sass_mod(u, 10, 1) ? 31 : 0;
    const bool is_unsigned = sass_mod(u, 9, 1);
    uint32_t some[32];
    EACH_LANE {
        uint32_t x = ra[lane] ^ flip;
        if (!is_unsigned && x >> 31) x = ~x;
        x |= x >> 1, x |= x >> 2, x |= x >> 4, x |= x >> 8, x |= x >> 16;
        const uint32_t highest = bits_count(x) - 1;
        some[lane] = x != 0;
        d[lane] = SASS_KEEP(d[lane], x ? highest ^ from_above : ~0u);
    }
    if (u->needs & NEED_PREDS) sass_write(u, w, SHIFT_PD0, sass_lanes(some), mask);
}

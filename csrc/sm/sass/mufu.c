#include "sm/sass/take.h"

/* Numbers of the modifiers. */
enum { RCP, RSQ, SQRT, LG2, EX2, SIN, COS, TANH };

/* Angles are in turns, as FMUL by 1/(2 pi) has made them. */
static float special(uint32_t function, float x) {
    const float turn = 6.28318530717958647692f;
    switch (function) {
    case RCP: return 1.0f / x;
    case RSQ: return rsqrt32(x);
    case SQRT: return sqrt32(x);
    case LG2: return log2_32(x);
    case EX2: return exp2_32(x);
    case SIN: return sin32((x - rint32(x)) * turn);
    case COS: return cos32((x - rint32(x)) * turn);
    default: {
        const float e = exp2_32(x * 2.88539008177792681472f);
        return x > 9 ? 1 : x < -9 ? -1 : (e - 1) / (e + 1);
    }
    }
}

SASS_FN(MUFU) {
    SASS_ROWS
    const struct take a = TAKE(A);
    const uint32_t function = sass_mod(u, 9, 7);
    for (int lane = 0; lane < 32; lane++) {
        const float x = bits_to_f32(flushed(taken(ra[lane], a), 1));
        d[lane] = SASS_KEEP(d[lane], flushed(f32_result(special(function, x)), 1));
    }
}

/* The high word of an approximation, from that of the double, whose low word counts as 0. */
SASS_FN(MUFU_64H) {
    SASS_ROWS
    const struct take a = TAKE(A);
    const bool root = sass_mod(u, 9, 1);
    for (int lane = 0; lane < 32; lane++) {
        const double x = bits_to_f64((uint64_t)taken(ra[lane], a) << 32);
        const double y = 1 / (root ? __builtin_sqrt(x) : x);
        uint64_t bits;
        memcpy(&bits, &y, sizeof bits);
        d[lane] = SASS_KEEP(d[lane], y == y ? (uint32_t)(bits >> 32) : 0x7fffffffu);
    }
}

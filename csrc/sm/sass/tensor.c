/* Products of matrices that a warp holds in parts: D = A B + C.
 *
 * With g = lane / 4 and t = lane % 4, and `each` elements in a register: register r of A has row
 * g + 8 (r % 2) and columns each (t + 4 (r / 2)) on, register r of B column g and rows
 * each (t + 4 r) on, element r of C and D row g + 8 (r / 2) and column 2 t + r % 2. */
#include "sm/sass/fused.h"
#include "sm/sass/halves.h"
#include "sm/sass/take.h"

enum { ROWS = 16, COLUMNS = 8, DEPTH = 16 };

/* ---- floats: HMMA -------------------------------------------------------------------------- */

/* Elements as numbers, and exponents: of 1.f that of 2, of subnormals the least. A zero has none.
 */
struct element {
    double value;
    int32_t exponent;
};

enum { NO_EXPONENT = -2000, KEPT_BITS = 25 };

static ALWAYS_INLINE struct element element_of(float value, int least) {
    const int32_t field = (int32_t)(f32_to_bits(value) >> 23 & 0xff) - 127;
    return (struct element){(double)value, value == 0      ? NO_EXPONENT
                                           : field < least ? least
                                                           : field};
}

struct operands {
    double a[ROWS][DEPTH], b[DEPTH][COLUMNS], c[ROWS][COLUMNS];
    int32_t ea[ROWS][DEPTH], eb[DEPTH][COLUMNS], ec[ROWS][COLUMNS];
    bool special; /* there is an infinity or NaN */
};

/* Numbers of the formats of A and B: f16, bf16, tf32. */
enum { HALVES, BFLOATS, TF32 };

/* The elements of a register: two halves, or the upper 19 bits of a word. */
static ALWAYS_INLINE float part_of(uint32_t word, int i, uint32_t type) {
    if (type == TF32) return bits_to_f32(word & 0xffffe000u);
    return half_value(word >> 16 * i & 0xffff, type ? BFLOAT : HALF);
}

/* Element i of a register in all lanes. */
struct elements {
    double value[32];
    int32_t exponent[32];
};

/* Loops that do one thing each become vectors. */
static ALWAYS_INLINE bool take_elements(struct elements *to, const uint32_t *reg, int i,
                                        uint32_t type) {
    const int least = type ? -126 : -14;
    float value[32];
    uint32_t special = 0;
    EACH_LANE value[lane] = part_of(reg[lane], i, type);
    EACH_LANE to->value[lane] = (double)value[lane];
    EACH_LANE {
        const uint32_t magnitude = f32_to_bits(value[lane]) & 0x7fffffffu;
        const int32_t field = (int32_t)(magnitude >> 23) - 127,
                      kept = field < least ? least : field;
        to->exponent[lane] = magnitude ? kept : NO_EXPONENT;
        special |= magnitude >= 0x7f800000u ? 1 : 0;
    }
    return special;
}

static ALWAYS_INLINE void load_factors(struct operands *o, const uint32_t *ra, const uint32_t *rb,
                                       int registers, uint32_t type) {
    const int each = type == TF32 ? 1 : 2;
    struct elements e;
    for (int r = 0; r < 2 * registers; r++)
        for (int i = 0; i < each; i++) {
            o->special |= take_elements(&e, ra + 32 * r, i, type);
            for (int lane = 0; lane < 32; lane++) {
                const int row = lane / 4 + 8 * (r % 2), k = each * (lane % 4 + 4 * (r / 2)) + i;
                o->a[row][k] = e.value[lane];
                o->ea[row][k] = e.exponent[lane];
            }
        }
    for (int r = 0; r < registers; r++)
        for (int i = 0; i < each; i++) {
            o->special |= take_elements(&e, rb + 32 * r, i, type);
            for (int lane = 0; lane < 32; lane++) {
                const int k = each * (lane % 4 + 4 * r) + i;
                o->b[k][lane / 4] = e.value[lane];
                o->eb[k][lane / 4] = e.exponent[lane];
            }
        }
}

/* The register and the part of it in which a lane has element r of C or D. */
static ALWAYS_INLINE float addend(const uint32_t *rc, int lane, int r, bool in_halves) {
    if (!in_halves) return bits_to_f32(rc[32 * r + lane]);
    return half_value(rc[32 * (r / 2) + lane] >> 16 * (r % 2) & 0xffff, HALF);
}

static ALWAYS_INLINE void load_addends(struct operands *o, const uint32_t *rc, bool in_halves) {
    for (int lane = 0; lane < 32; lane++)
        for (int r = 0; r < 4; r++) {
            const struct element e = element_of(addend(rc, lane, r, in_halves), -126);
            o->c[lane / 4 + 8 * (r / 2)][lane % 4 * 2 + r % 2] = e.value;
            o->ec[lane / 4 + 8 * (r / 2)][lane % 4 * 2 + r % 2] = e.exponent;
            o->special |= e.value - e.value != 0;
        }
}

/* One row of D. Products are exact; each term is cut off 25 bits below the largest exponent of all
 * of them, of which that of a product is the sum of its factors'. This is what an H100 does, bit
 * for bit (experiments/hardware/hopper); other cards add fewer terms at a time. */
static ALWAYS_INLINE void sum_row(const struct operands *o, int row, int depth, double *sums) {
    int32_t most[COLUMNS];
    double scale[COLUMNS], total[COLUMNS]; /* of whole numbers */
    for (int n = 0; n < COLUMNS; n++) most[n] = o->ec[row][n];
    for (int k = 0; k < depth; k++)
        for (int n = 0; n < COLUMNS; n++) {
            const int32_t e = o->ea[row][k] + o->eb[k][n];
            most[n] = most[n] > e ? most[n] : e;
        }
    for (int n = 0; n < COLUMNS; n++) {
        most[n] = most[n] < -600 ? -600 : most[n];
        scale[n] = power_of_two(KEPT_BITS - most[n]);
        total[n] = (double)(int32_t)(o->c[row][n] * scale[n]);
    }
    for (int k = 0; k < depth; k++)
        for (int n = 0; n < COLUMNS; n++)
            total[n] += (double)(int32_t)(o->a[row][k] * o->b[k][n] * scale[n]);
    for (int n = 0; n < COLUMNS; n++) sums[n] = total[n] * power_of_two(most[n] - KEPT_BITS);
}

/* The same where there are infinities or NaN, of which one in a sum makes it one. */
NOINLINE static void sum_special(const struct operands *o, int row, int depth, double *sums) {
    struct operands finite = *o;
    double plain[COLUMNS];
    for (int n = 0; n < COLUMNS; n++) {
        plain[n] = o->c[row][n];
        for (int k = 0; k < depth; k++) plain[n] += o->a[row][k] * o->b[k][n];
        if (plain[n] - plain[n] != 0) finite.c[row][n] = 0;
    }
    for (int k = 0; k < depth; k++) {
        if (o->a[row][k] - o->a[row][k] != 0) finite.a[row][k] = 0, finite.ea[row][k] = NO_EXPONENT;
        for (int n = 0; n < COLUMNS; n++)
            if (o->b[k][n] - o->b[k][n] != 0) finite.b[k][n] = 0, finite.eb[k][n] = NO_EXPONENT;
    }
    sum_row(&finite, row, depth, sums);
    for (int n = 0; n < COLUMNS; n++) sums[n] = plain[n] - plain[n] != 0 ? plain[n] : sums[n];
}

static ALWAYS_INLINE uint32_t single_of(double sum) {
    if (sum != sum) return 0x7fffffffu;
    const double magnitude = sum < 0 ? -sum : sum;
    return f32_to_bits(magnitude >= 0x1p128 ? (float)sum : (float)rounded(sum, SINGLE, TO_ZERO));
}

static ALWAYS_INLINE uint32_t half_of_sum(double sum) {
    return sum != sum ? 0x7fffu : half_bits(rounded(sum, HALF, TO_NEAREST), HALF);
}

/* registers: of B; A has twice as many. */
static ALWAYS_INLINE void multiply_as(const struct uop *u, const struct lanes *w, uint32_t mask,
                                      int registers, bool in_halves, uint32_t type) {
    SASS_ROWS
    const int depth = registers * (type == TF32 ? 4 : 8);
    struct operands o;
    double sums[ROWS][COLUMNS];
    o.special = false;
    load_factors(&o, ra, rb, registers, type);
    load_addends(&o, rc, in_halves);
    for (int row = 0; row < ROWS; row++)
        if (o.special) sum_special(&o, row, depth, sums[row]);
        else sum_row(&o, row, depth, sums[row]);
    for (int lane = 0; lane < 32; lane++)
        for (int r = 0; r < (in_halves ? 2 : 4); r++) {
            const int row = lane / 4 + 8 * (in_halves ? r : r / 2), column = lane % 4 * 2;
            const uint32_t value = in_halves ? half_of_sum(sums[row][column]) |
                                                   half_of_sum(sums[row][column + 1]) << 16
                                             : single_of(sums[row][column + r % 2]);
            d[32 * r + lane] = SASS_KEEP(d[32 * r + lane], value);
        }
}

static ALWAYS_INLINE void multiply(const struct uop *u, const struct lanes *w, uint32_t mask,
                                   int registers, bool in_halves) {
    switch (sass_mod(u, 9, 3)) {
    case HALVES: multiply_as(u, w, mask, registers, in_halves, HALVES); break;
    case BFLOATS: multiply_as(u, w, mask, registers, in_halves, BFLOATS); break;
    default: multiply_as(u, w, mask, registers, in_halves, TF32);
    }
}

SASS_FN(HMMA_1688_F32) { multiply(u, w, mask, 1, false); }
SASS_FN(HMMA_1688_F16) { multiply(u, w, mask, 1, true); }
SASS_FN(HMMA_16816_F32) { multiply(u, w, mask, 2, false); }
SASS_FN(HMMA_16816_F16) { multiply(u, w, mask, 2, true); }

/* ---- doubles: DMMA, one multiply-add after the other ----------------------------------------- */

/* rows: 8 or 16; registers: pairs of B; fused: by the host's instruction. */
static ALWAYS_INLINE void double_sums(const struct uop *u, const struct lanes *w, uint32_t mask,
                                      int rows, int registers, bool fused) {
    SASS_ROWS
    double a[ROWS][DEPTH], b[DEPTH][COLUMNS], sum[ROWS][COLUMNS];
    const int per_row = rows / 8;
    for (int lane = 0; lane < 32; lane++) {
        for (int r = 0; r < per_row * registers; r++)
            a[lane / 4 + 8 * (r % per_row)][lane % 4 + 4 * (r / per_row)] =
                bits_to_f64(pair(ra + 64 * r, lane));
        for (int r = 0; r < registers; r++)
            b[lane % 4 + 4 * r][lane / 4] = bits_to_f64(pair(rb + 64 * r, lane));
        for (int r = 0; r < 2 * per_row; r++)
            sum[lane / 4 + 8 * (r / 2)][lane % 4 * 2 + r % 2] =
                bits_to_f64(pair(rc + 64 * r, lane));
    }
    for (int row = 0; row < rows; row++)
        for (int k = 0; k < 4 * registers; k++)
            for (int n = 0; n < COLUMNS; n++)
                sum[row][n] = fused ? __builtin_fma(a[row][k], b[k][n], sum[row][n])
                                    : fma64(a[row][k], b[k][n], sum[row][n]);
    for (int lane = 0; lane < 32; lane++)
        for (int r = 0; r < 2 * per_row; r++) {
            const double result = sum[lane / 4 + 8 * (r / 2)][lane % 4 * 2 + r % 2];
            const uint64_t bits = result == result ? f64_to_bits(result) : 0xfff8000000000000ull;
            uint32_t *low = &d[64 * r + lane], *high = low + 32;
            *low = SASS_KEEP(*low, (uint32_t)bits);
            *high = SASS_KEEP(*high, (uint32_t)(bits >> 32));
        }
}

FUSED static void fuse_doubles(const struct uop *u, const struct lanes *w, uint32_t mask, int rows,
                               int registers) {
    double_sums(u, w, mask, rows, registers, true);
}

static void multiply_doubles(const struct uop *u, const struct lanes *w, uint32_t mask, int rows,
                             int registers) {
    if (fuses()) fuse_doubles(u, w, mask, rows, registers);
    else double_sums(u, w, mask, rows, registers, false);
}

SASS_FN(DMMA_8X8X4) { multiply_doubles(u, w, mask, 8, 1); }
SASS_FN(DMMA_16X8X4) { multiply_doubles(u, w, mask, 16, 1); }
SASS_FN(DMMA_16X8X8) { multiply_doubles(u, w, mask, 16, 2); }
SASS_FN(DMMA_16X8X16) { multiply_doubles(u, w, mask, 16, 4); }

/* ---- integers and bits: IMMA, BMMA ------------------------------------------------------------
 */

/* Bits of an element: 8, 4 or 1. */
enum { BYTES, NIBBLES, ANDS, XORS };

static ALWAYS_INLINE int64_t dot(uint32_t a, uint32_t b, uint32_t type, bool unsigned_a,
                                 bool unsigned_b) {
    if (type >= ANDS) return (int64_t)bits_count(type == ANDS ? a & b : a ^ b);
    const uint32_t bits = type == BYTES ? 8 : 4;
    int64_t sum = 0;
    for (uint32_t i = 0; i < 32; i += bits) {
        const uint32_t x = a << (32 - bits - i), y = b << (32 - bits - i);
        const int64_t p = unsigned_a ? (int64_t)(x >> (32 - bits)) : (int32_t)x >> (32 - bits),
                      q = unsigned_b ? (int64_t)(y >> (32 - bits)) : (int32_t)y >> (32 - bits);
        sum += p * q;
    }
    return sum;
}

/* Sums wrap, or stay at the ends with .SAT. rows: 8 or 16; registers: of B. */
static void multiply_integers(const struct uop *u, const struct lanes *w, uint32_t mask, int rows,
                              int registers) {
    SASS_ROWS
    const uint32_t type = sass_mod(u, 9, 3);
    const bool unsigned_a = sass_mod(u, 11, 1), unsigned_b = sass_mod(u, 12, 1),
               sat = sass_mod(u, 13, 1);
    uint32_t result[4][32];
    const int per_row = rows / 8, count = 2 * per_row;
    for (int lane = 0; lane < 32; lane++)
        for (int r = 0; r < count; r++) {
            int64_t sum = (int32_t)rc[32 * r + lane];
            for (int s = 0; s < registers; s++)
                for (int t = 0; t < 4; t++)
                    sum += dot(ra[32 * (per_row * s + r / 2) + lane / 4 * 4 + t],
                               rb[32 * s + (lane % 4 * 2 + r % 2) * 4 + t], type, unsigned_a,
                               unsigned_b);
            const int64_t kept = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            result[r][lane] = (uint32_t)(sat ? kept : sum);
        }
    for (int r = 0; r < count; r++)
        EACH_LANE d[32 * r + lane] = SASS_KEEP(d[32 * r + lane], result[r][lane]);
}

SASS_FN(IMMA_8816) { multiply_integers(u, w, mask, 8, 1); }
SASS_FN(IMMA_16816) { multiply_integers(u, w, mask, 16, 1); }
SASS_FN(IMMA_16832) { multiply_integers(u, w, mask, 16, 2); }

/* ---- a matrix of 8 x 8 halves, of which a lane has two of row lane / 4, transposed ------------
 */

SASS_FN(MOVM) {
    SASS_ROWS
    uint32_t result[32];
    for (int lane = 0; lane < 32; lane++) {
        const int from = lane % 4 * 8 + lane / 8, shift = 16 * (lane / 4 % 2);
        result[lane] = (ra[from] >> shift & 0xffff) | (ra[from + 4] >> shift & 0xffff) << 16;
    }
    EACH_LANE d[lane] = SASS_KEEP(d[lane], result[lane]);
}

/* Products of matrices that a warp holds in parts: D = A B + C.
 *
 * With g = lane / 4 and t = lane % 4, and `each` elements in a register: register r of A has row
 * g + 8 (r % 2) and columns each (t + 4 (r / 2)) on, register r of B column g and rows
 * each (t + 4 r) on, element r of C and D row g + 8 (r / 2) and column 2 t + r % 2. */
#include <string.h>

#include "sm/sass/fused.h"
#include "sm/sass/halves.h"
#include "sm/sass/take.h"

enum { ROWS = 16, COLUMNS = 8, DEPTH = 16 };

/* ---- floats: HMMA -------------------------------------------------------------------------- */

enum { NO_EXPONENT = -2000, KEPT_BITS = 25, LEAST_SUM = -600 };

/* Numbers of the formats of A and B: f16, bf16, tf32. */
enum { HALVES, BFLOATS, TF32 };

/* Elements as numbers, and exponents: of 1.f that of 2, of subnormals the least. A zero has none.
 */
struct elements {
    float value[32];
    int32_t exponent[32];
};

/* The elements of a register: two halves, or the upper 19 bits of a word. */
static ALWAYS_INLINE float part_of(uint32_t word, int i, uint32_t type) {
    if (type == TF32) return bits_to_f32(word & 0xffffe000u);
    return half_value(word >> 16 * i & 0xffff, type ? BFLOAT : HALF);
}

/* Find the exponents of elements; true: there is an infinity or NaN. */
static ALWAYS_INLINE bool find_exponents(struct elements *e, int least) {
    uint32_t special = 0;
    EACH_LANE {
        const uint32_t magnitude = f32_to_bits(e->value[lane]) & 0x7fffffffu;
        const int32_t field = (int32_t)(magnitude >> 23) - 127,
                      kept = field < least ? least : field;
        e->exponent[lane] = magnitude ? kept : NO_EXPONENT;
        special |= magnitude >= 0x7f800000u ? 1 : 0;
    }
    return special;
}

/* Element i of a register in all lanes. Loops that do one thing each become vectors. */
static ALWAYS_INLINE bool take_elements(struct elements *to, const uint32_t *reg, int i,
                                        uint32_t type) {
    EACH_LANE to->value[lane] = part_of(reg[lane], i, type);
    return find_exponents(to, type == HALVES ? -14 : -126);
}

/* Columns of A and rows of B are in the order in which registers have them, which needs little
 * moving and changes no sum. */
struct operands {
    struct elements a[4][2]; /* by register and element */
    struct elements b[4];    /* four rows in each */
    struct elements c[4];    /* four rows in each */
};

/* registers: of B; A has twice as many. True: there is an infinity or NaN. */
static ALWAYS_INLINE bool load_operands(struct operands *o, const uint32_t *ra, const uint32_t *rb,
                                        const uint32_t *rc, int registers, bool in_halves,
                                        uint32_t type) {
    const int each = type == TF32 ? 1 : 2;
    uint32_t rows[32];
    float c[ROWS * COLUMNS];
    bool special = false;
    for (int r = 0; r < 2 * registers; r++)
        for (int i = 0; i < each; i++) special |= take_elements(&o->a[r][i], ra + 32 * r, i, type);
    for (int r = 0; r < registers; r++) {
        for (int t = 0; t < 4; t++)
            for (int n = 0; n < COLUMNS; n++) rows[COLUMNS * t + n] = rb[32 * r + 4 * n + t];
        for (int i = 0; i < each; i++) special |= take_elements(&o->b[each * r + i], rows, i, type);
    }
    for (int half = 0; half < 2; half++) {
        const uint32_t *even = rc + (in_halves ? 32 : 64) * half, *odd = even + 32;
        EACH_LANE {
            float *to = c + 64 * half + 2 * lane;
            to[0] = in_halves ? part_of(even[lane], 0, HALVES) : bits_to_f32(even[lane]);
            to[1] = in_halves ? part_of(even[lane], 1, HALVES) : bits_to_f32(odd[lane]);
        }
    }
    for (int i = 0; i < 4; i++) {
        memcpy(o->c[i].value, c + 32 * i, sizeof o->c[i].value);
        special |= find_exponents(&o->c[i], -126);
    }
    return special;
}

/* A term as a multiple of the last bit that is kept. The product of two halves is exact as a float,
 * others as a double. */
static ALWAYS_INLINE int32_t term(float a, float b, double scale, uint32_t type) {
    return type == HALVES ? (int32_t)(a * b * (float)scale)
                          : (int32_t)((double)a * (double)b * scale);
}

/* One row of D. Products are exact; each term is cut off 25 bits below the largest exponent of all
 * of them, of which that of a product is the sum of its factors'. This is what an H100 does, bit
 * for bit (experiments/hardware/hopper); other cards add fewer terms at a time. Sums of eight terms
 * are less than 32 bits. */
static ALWAYS_INLINE void sum_row(const struct operands *o, int row, int registers, uint32_t type,
                                  double *sums) {
    const int each = type == TF32 ? 1 : 2, first = row % 8 * 4;
    const struct elements *const c = &o->c[row / 4];
    int32_t most[COLUMNS], part[2][COLUMNS] = {{0}};
    double scale[COLUMNS]; /* of products: exponents of those of halves are -28 at least */
    for (int n = 0; n < COLUMNS; n++) most[n] = c->exponent[row % 4 * COLUMNS + n];
    for (int q = 0; q < each * registers; q++) {
        const int32_t *const a = o->a[q / each * 2 + row / 8][q % each].exponent + first,
                             *const b = o->b[q].exponent;
        for (int t = 0; t < 4; t++)
            for (int n = 0; n < COLUMNS; n++) {
                const int32_t e = a[t] + b[t * COLUMNS + n];
                most[n] = most[n] > e ? most[n] : e;
            }
    }
    for (int n = 0; n < COLUMNS; n++) {
        const int32_t least = type == HALVES ? -28 : LEAST_SUM;
        scale[n] = power_of_two(KEPT_BITS - (most[n] < least ? least : most[n]));
    }
    for (int q = 0; q < each * registers; q++) {
        const float *const a = o->a[q / each * 2 + row / 8][q % each].value + first, *const b =
                                                                                         o->b[q]
                                                                                             .value;
        for (int t = 0; t < 4; t++)
            for (int n = 0; n < COLUMNS; n++)
                part[q % 2][n] += term(a[t], b[t * COLUMNS + n], scale[n], type);
    }
    for (int n = 0; n < COLUMNS; n++) {
        const int32_t at = most[n] < LEAST_SUM ? LEAST_SUM : most[n];
        const double addend = c->value[row % 4 * COLUMNS + n] * power_of_two(KEPT_BITS - at),
                     kept = (double)(int32_t)addend + (double)part[0][n] + (double)part[1][n];
        sums[n] = kept * power_of_two(at - KEPT_BITS);
    }
}

/* Make infinities and NaN zeros. */
static void drop_special(struct elements *e) {
    EACH_LANE {
        if (e->value[lane] - e->value[lane] == 0) continue;
        e->value[lane] = 0;
        e->exponent[lane] = NO_EXPONENT;
    }
}

/* All of D where there are infinities or NaN, of which one in a sum makes it one. */
NOINLINE static void sum_special(const struct operands *o, int registers, uint32_t type,
                                 double *sums) {
    const int each = type == TF32 ? 1 : 2;
    struct operands finite = *o;
    for (int r = 0; r < 2 * registers; r++)
        for (int i = 0; i < each; i++) drop_special(&finite.a[r][i]);
    for (int q = 0; q < each * registers; q++) drop_special(&finite.b[q]);
    for (int i = 0; i < 4; i++) drop_special(&finite.c[i]);
    for (int row = 0; row < ROWS; row++) {
        sum_row(&finite, row, registers, type, sums + row * COLUMNS);
        for (int n = 0; n < COLUMNS; n++) {
            double plain = o->c[row / 4].value[row % 4 * COLUMNS + n];
            for (int q = 0; q < each * registers; q++)
                for (int t = 0; t < 4; t++)
                    plain += (double)o->a[q / each * 2 + row / 8][q % each].value[row % 8 * 4 + t] *
                             (double)o->b[q].value[t * COLUMNS + n];
            if (plain - plain != 0) sums[row * COLUMNS + n] = plain;
        }
    }
}

static ALWAYS_INLINE uint32_t single_of(double sum) {
    if (sum != sum) return 0x7fffffffu;
    const double magnitude = sum < 0 ? -sum : sum;
    return f32_to_bits(magnitude >= 0x1p128 ? (float)sum : (float)rounded(sum, SINGLE, TO_ZERO));
}

/* The same of a finite sum of halves, of which none is subnormal unless it is an element of C. */
static ALWAYS_INLINE uint32_t cut_off(double sum) {
    return f32_to_bits((float)bits_to_f64(f64_to_bits(sum) & ~((1ull << 29) - 1)));
}

static ALWAYS_INLINE uint32_t half_of_sum(double sum) {
    return sum != sum ? 0x7fffu : half_bits(rounded(sum, HALF, TO_NEAREST), HALF);
}

static ALWAYS_INLINE void multiply_as(const struct uop *u, const struct lanes *w, uint32_t mask,
                                      int registers, bool in_halves, uint32_t type) {
    SASS_ROWS
    struct operands o;
    double sums[ROWS * COLUMNS];
    uint32_t bits[ROWS * COLUMNS];
    const bool special = load_operands(&o, ra, rb, rc, registers, in_halves, type);
    if (special) sum_special(&o, registers, type, sums);
    else
        for (int row = 0; row < ROWS; row++)
            sum_row(&o, row, registers, type, sums + row * COLUMNS);
    if (in_halves)
        for (int i = 0; i < ROWS * COLUMNS; i++) bits[i] = half_of_sum(sums[i]);
    else if (special || type != HALVES)
        for (int i = 0; i < ROWS * COLUMNS; i++) bits[i] = single_of(sums[i]);
    else
        for (int i = 0; i < ROWS * COLUMNS; i++) bits[i] = cut_off(sums[i]);
    for (int r = 0; r < (in_halves ? 2 : 4); r++) EACH_LANE {
            const uint32_t *from = bits + 64 * (in_halves ? r : r / 2) + 2 * lane;
            const uint32_t value = in_halves ? from[0] | from[1] << 16 : from[r % 2];
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

/* The sums of products of bits, or of their differences. */
static void sum_bits(const uint32_t *ra, const uint32_t *rb, int rows, int registers, bool differ,
                     int32_t sums[ROWS * COLUMNS]) {
    const int per_row = rows / 8;
    for (int row = 0; row < rows; row++)
        for (int n = 0; n < COLUMNS; n++) {
            uint32_t sum = 0;
            for (int k = 0; k < 4 * registers; k++) {
                const uint32_t a = ra[32 * (k / 4 * per_row + row / 8) + row % 8 * 4 + k % 4],
                               b = rb[32 * (k / 4) + 4 * n + k % 4];
                sum += bits_count(differ ? a ^ b : a & b);
            }
            sums[row * COLUMNS + n] = (int32_t)sum;
        }
}

/* Element i of so many bits in each of 32 words. */
static ALWAYS_INLINE void take_integers(int32_t to[32], const uint32_t *words, uint32_t i,
                                        uint32_t bits, bool is_unsigned) {
    EACH_LANE {
        const uint32_t high = words[lane] << (32 - bits - bits * i);
        to[lane] = is_unsigned ? (int32_t)(high >> (32 - bits)) : (int32_t)high >> (32 - bits);
    }
}

/* The sums of products of bytes or nibbles, which are less than 32 bits. */
static ALWAYS_INLINE void sum_integers(const uint32_t *ra, const uint32_t *rb, int rows,
                                       int registers, uint32_t bits, bool unsigned_a,
                                       bool unsigned_b, int32_t sums[ROWS * COLUMNS]) {
    const int per_row = rows / 8;
    memset(sums, 0, ROWS * COLUMNS * sizeof *sums);
    for (int s = 0; s < registers; s++) {
        uint32_t turned[32];
        for (int t = 0; t < 4; t++)
            for (int n = 0; n < COLUMNS; n++) turned[COLUMNS * t + n] = rb[32 * s + 4 * n + t];
        for (uint32_t i = 0; i < 32 / bits; i++) {
            int32_t a[32], b[32];
            take_integers(b, turned, i, bits, unsigned_b);
            for (int half = 0; half < per_row; half++) {
                take_integers(a, ra + 32 * (s * per_row + half), i, bits, unsigned_a);
                for (int lane = 0; lane < 32; lane++)
                    for (int n = 0; n < COLUMNS; n++)
                        sums[(8 * half + lane / 4) * COLUMNS + n] +=
                            a[lane] * b[lane % 4 * COLUMNS + n];
            }
        }
    }
}

/* Sums wrap, or stay at the ends with .SAT. rows: 8 or 16; registers: of B. */
static ALWAYS_INLINE void multiply_integers(const struct uop *u, const struct lanes *w,
                                            uint32_t mask, int rows, int registers) {
    SASS_ROWS
    const uint32_t type = sass_mod(u, 9, 3);
    const bool unsigned_a = sass_mod(u, 11, 1), unsigned_b = sass_mod(u, 12, 1),
               sat = sass_mod(u, 13, 1);
    int32_t sums[ROWS * COLUMNS];
    uint32_t results[4][32]; /* D may lie where C does */
    if (type >= ANDS) sum_bits(ra, rb, rows, registers, type == XORS, sums);
    else if (type == BYTES) sum_integers(ra, rb, rows, registers, 8, unsigned_a, unsigned_b, sums);
    else sum_integers(ra, rb, rows, registers, 4, unsigned_a, unsigned_b, sums);
    for (int r = 0; r < rows / 4; r++) EACH_LANE {
            const int64_t sum =
                (int64_t)(int32_t)rc[32 * r + lane] + sums[64 * (r / 2) + 2 * lane + r % 2];
            const int64_t kept = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            results[r][lane] = (uint32_t)(sat ? kept : sum);
        }
    for (int r = 0; r < rows / 4; r++)
        EACH_LANE d[32 * r + lane] = SASS_KEEP(d[32 * r + lane], results[r][lane]);
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

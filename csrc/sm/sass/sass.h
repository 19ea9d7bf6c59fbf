/* What operations of compiled code do: to 32 lanes, or to which lanes go on. */
#ifndef SMMUX_SM_SASS_H
#define SMMUX_SM_SASS_H

#include "base/bits.h"
#include "base/clones.h"
#include "base/hints.h"
#include "kernel/sass.h"
#include "sm/exec.h"

/* Rows are equal or disjoint, or the loop reads all of a lane before it writes. */
#if defined(__clang__)
#define EACH_LANE                                                                                  \
    _Pragma("clang loop vectorize(assume_safety)") for (int lane = 0; lane < 32; lane++)
#else
#define EACH_LANE _Pragma("GCC ivdep") for (int lane = 0; lane < 32; lane++)
#endif

/* The function of a row of sass.def: `u` on the lanes of `mask`, at least one of which is active.
 */
#define SASS_FN(id) CLONES void sass_##id(const struct uop *u, const struct lanes *w, uint32_t mask)

#define SASS_CONTROL(id, cls, operands)
#define SASS(id, cls, traits, operands)                                                            \
    void sass_##id(const struct uop *u, const struct lanes *w, uint32_t mask);
#include "tables/sass.def"

/* An operation's own bit, or field of bits, of its modifiers. */
static inline uint32_t sass_mod(const struct uop *u, uint32_t shift, uint32_t bits) {
    return (uint32_t)u->imm >> shift & bits;
}

/* All ones if the modifier is set, else 0. */
static inline uint32_t sass_mask(const struct uop *u, uint32_t bits) {
    return (uint32_t)u->imm & bits ? ~0u : 0u;
}

/* The lanes in which a predicate that the instruction reads is true. */
static inline uint32_t sass_read(const struct uop *u, const struct lanes *w,
                                 enum sass_predicates shift) {
    const uint32_t number = sass_pred(u, shift);
    const uint32_t lanes = w->preds[number & 15];
    return number & SASS_NOT ? ~lanes : lanes;
}

/* Write a predicate in the lanes of mask, unless it is one that is always true. */
static inline void sass_write(const struct uop *u, const struct lanes *w,
                              enum sass_predicates shift, uint32_t value, uint32_t mask) {
    const uint32_t number = sass_pred(u, shift);
    if ((number & 7) == 7) return;
    w->preds[number] = (w->preds[number] & ~mask) | (value & mask);
}

/* The lanes in which bit 0 of each word is set. */
static inline uint32_t sass_lanes(const uint32_t flag[32]) {
    uint32_t bits = 0;
    for (uint32_t lane = 0; lane < 32; lane++) bits |= (flag[lane] & 1) << lane;
    return bits;
}

/* The lanes whose value is that of one of them; high: the upper words, or `low` again. */
static inline uint32_t sass_alike(const uint32_t *low, const uint32_t *high, uint32_t of) {
    const uint32_t x = low[of], y = high[of];
    uint32_t alike[32];
    EACH_LANE alike[lane] = (low[lane] == x) & (high[lane] == y);
    return sass_lanes(alike);
}

/* How many different values lanes have in them. */
static inline uint32_t sass_values(const uint32_t *low, const uint32_t *high, uint32_t lanes) {
    uint32_t count = 0;
    for (; lanes; count++) lanes &= ~sass_alike(low, high, bits_lowest(lanes));
    return count;
}

/* A function of three bits as a sum without carries of products, all of them of ones or zeros: of
 * the bits of i, of which bit 0 is c, 1 is b and 2 is a. */
struct terms {
    uint32_t of[8];
};

/* Of the function that is bit a << 2 | b << 1 | c of a table. */
static inline struct terms sass_terms(uint32_t table) {
    struct terms terms;
    table ^= table << 1 & 0xaa;
    table ^= table << 2 & 0xcc;
    table ^= table << 4 & 0xf0;
    for (uint32_t i = 0; i < 8; i++) terms.of[i] = table >> i & 1 ? ~0u : 0;
    return terms;
}

static inline uint32_t sass_lut3(uint32_t a, uint32_t b, uint32_t c, struct terms t) {
    const uint32_t none = t.of[0] ^ (t.of[1] & c), with_b = t.of[2] ^ (t.of[3] & c),
                   with_a = t.of[4] ^ (t.of[5] & c), with_both = t.of[6] ^ (t.of[7] & c);
    return none ^ (with_b & b) ^ ((with_a ^ (with_both & b)) & a);
}

/* p and q of a comparison: op 0 and, 1 or, 2 xor with the predicate c; q takes its opposite. */
static inline void sass_compare(const struct uop *u, const struct lanes *w, uint32_t holds,
                                uint32_t op, uint32_t mask) {
    const uint32_t c = sass_read(u, w, SHIFT_PS0);
    const uint32_t p = op == 0 ? holds & c : op == 1 ? holds | c : holds ^ c;
    const uint32_t q = op == 0 ? ~holds & c : op == 1 ? ~holds | c : ~holds ^ c;
    sass_write(u, w, SHIFT_PD0, p, mask);
    sass_write(u, w, SHIFT_PD1, q, mask);
}

/* Operand rows, and their first high word. */
#define SASS_ROWS                                                                                  \
    uint32_t *const d = destination_row(w, u->d);                                                  \
    const uint32_t *const ra = operand_row(w, u->a), *const rb = operand_row(w, u->b),             \
                          *const rc = operand_row(w, u->c);                                        \
    (void)d, (void)ra, (void)rb, (void)rc;

/* A value is computed first and chosen then: compilers vectorise no operation of floats that only
 * some lanes are to do. */
static ALWAYS_INLINE uint32_t sass_kept(uint32_t mask, uint32_t lane, uint32_t old,
                                        uint32_t value) {
    return mask >> lane & 1 ? value : old;
}

/* Leave in a lane what it had unless it is active. */
#define SASS_KEEP(old, value) sass_kept(mask, (uint32_t)lane, old, value)

/* Nearly all instructions are such: no modifiers, no predicates to be written, all lanes active.
 * What they do is a loop of its own. */
static inline bool sass_plain(const struct uop *u, uint32_t mask) {
    return !u->imm && mask == 0xffffffffu && !(u->needs & NEED_PREDS);
}

#endif

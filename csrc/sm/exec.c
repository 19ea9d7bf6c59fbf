#include "sm/exec.h"

#include "base/clones.h"
#include "kernel/wide.h"
#include "sm/sass/table.h"

/* One function per row of ops.def, over 32 lanes. Rows are equal or disjoint, so the loops
 * have no dependences to respect. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

typedef uint32_t U;
typedef int32_t S;
typedef float F;
typedef uint64_t W;
typedef int64_t L;
typedef double D;

static inline U load_U(uint32_t bits) { return bits; }
static inline S load_S(uint32_t bits) { return (int32_t)bits; }
static inline F load_F(uint32_t bits) { return bits_to_f32(bits); }
static inline uint32_t bits_U(U value) { return value; }
static inline uint32_t bits_S(S value) { return (uint32_t)value; }
static inline uint32_t bits_F(F value) { return f32_result(value); }

/* A value from its low and high word; one of 32 bits is the low one. */
static inline U pair_U(uint32_t low, uint32_t high) { return (void)high, load_U(low); }
static inline S pair_S(uint32_t low, uint32_t high) { return (void)high, load_S(low); }
static inline F pair_F(uint32_t low, uint32_t high) { return (void)high, load_F(low); }
static inline W pair_W(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }
static inline L pair_L(uint32_t low, uint32_t high) { return (int64_t)pair_W(low, high); }
static inline D pair_D(uint32_t low, uint32_t high) { return bits_to_f64(pair_W(low, high)); }
static inline uint64_t bits_W(W value) { return value; }
static inline uint64_t bits_L(L value) { return (uint64_t)value; }
static inline uint64_t bits_D(D value) { return f64_result(value); }

#define ALU(id, name, cls, traits, operands, R, T, expr)                                           \
    CLONES static void exec_##id(const struct uop *u, const struct lanes *w, uint32_t mask) {      \
        uint32_t *d = destination_row(w, u->d);                                                    \
        const uint32_t *ra = operand_row(w, u->a), *rb = operand_row(w, u->b),                     \
                       *rc = operand_row(w, u->c);                                                 \
        if (mask == 0xffffffffu) {                                                                 \
            INDEPENDENT for (int lane = 0; lane < 32; lane++) {                                    \
                const T a = load_##T(ra[lane]), b = load_##T(rb[lane]), c = load_##T(rc[lane]);    \
                (void)a, (void)b, (void)c;                                                         \
                d[lane] = bits_##R((R)(expr));                                                     \
            }                                                                                      \
        } else {                                                                                   \
            INDEPENDENT for (int lane = 0; lane < 32; lane++) {                                    \
                const T a = load_##T(ra[lane]), b = load_##T(rb[lane]), c = load_##T(rc[lane]);    \
                (void)a, (void)b, (void)c;                                                         \
                const uint32_t value = bits_##R((R)(expr));                                        \
                d[lane] = mask >> lane & 1 ? value : d[lane];                                      \
            }                                                                                      \
        }                                                                                          \
    }
#define SETP(id, name, cls, traits, T, expr)                                                       \
    CLONES static void exec_##id(const struct uop *u, const struct lanes *w, uint32_t mask) {      \
        const uint32_t *ra = operand_row(w, u->a), *rb = operand_row(w, u->b);                     \
        uint32_t result = 0;                                                                       \
        for (int lane = 0; lane < 32; lane++) {                                                    \
            const T a = load_##T(ra[lane]), b = load_##T(rb[lane]);                                \
            result |= (expr) ? 1u << lane : 0;                                                     \
        }                                                                                          \
        write_pred(w, u->d, result, mask);                                                         \
    }
#define SOURCES(T)                                                                                 \
    const T a = pair_##T(ra[lane], rah[lane]), b = pair_##T(rb[lane], rbh[lane]),                  \
            c = pair_##T(rc[lane], rch[lane]);                                                     \
    (void)a, (void)b, (void)c;
#define SOURCE_ROWS                                                                                \
    const uint32_t *ra = operand_row(w, u->a), *rah = operand_row(w, u->ah),                       \
                   *rb = operand_row(w, u->b), *rbh = operand_row(w, u->bh),                       \
                   *rc = operand_row(w, u->c), *rch = operand_row(w, u->ch);
#define WIDE(id, name, cls, traits, operands, R, T, expr)                                          \
    CLONES static void exec_##id(const struct uop *u, const struct lanes *w, uint32_t mask) {      \
        uint32_t *d = destination_row(w, u->d), *dh = destination_row(w, u->dh);                   \
        SOURCE_ROWS                                                                                \
        INDEPENDENT for (int lane = 0; lane < 32; lane++) {                                        \
            SOURCES(T)                                                                             \
            const uint64_t value = bits_##R((R)(expr));                                            \
            d[lane] = mask >> lane & 1 ? (uint32_t)value : d[lane];                                \
            dh[lane] = mask >> lane & 1 ? (uint32_t)(value >> 32) : dh[lane];                      \
        }                                                                                          \
    }
#define LOW(id, name, cls, traits, operands, R, T, expr)                                           \
    CLONES static void exec_##id(const struct uop *u, const struct lanes *w, uint32_t mask) {      \
        uint32_t *d = destination_row(w, u->d);                                                    \
        SOURCE_ROWS                                                                                \
        INDEPENDENT for (int lane = 0; lane < 32; lane++) {                                        \
            SOURCES(T)                                                                             \
            const uint32_t value = bits_##R((R)(expr));                                            \
            d[lane] = mask >> lane & 1 ? value : d[lane];                                          \
        }                                                                                          \
    }
#define SETP_WIDE(id, name, cls, traits, T, expr)                                                  \
    CLONES static void exec_##id(const struct uop *u, const struct lanes *w, uint32_t mask) {      \
        uint32_t result = 0;                                                                       \
        SOURCE_ROWS                                                                                \
        for (int lane = 0; lane < 32; lane++) {                                                    \
            SOURCES(T)                                                                             \
            result |= (expr) ? 1u << lane : 0;                                                     \
        }                                                                                          \
        write_pred(w, u->d, result, mask);                                                         \
    }
#define OP(id, name, cls, traits, operands)

static inline void write_pred(const struct lanes *w, uint32_t number, uint32_t value,
                              uint32_t mask) {
    w->preds[number] = (w->preds[number] & ~mask) | (value & mask);
}

#include "tables/ops.def"

static uint32_t negated(uint32_t mask, bool negate) { return negate ? ~mask : mask; }

CLONES static void exec_selp(const struct uop *u, const struct lanes *w, uint32_t mask) {
    const uint32_t *a = operand_row(w, u->a), *b = operand_row(w, u->b);
    uint32_t *d = destination_row(w, u->d);
    const uint32_t choose = negated(w->preds[u->q], u->flags & INSN_NEGATE_Q);
    INDEPENDENT for (int lane = 0; lane < 32; lane++) {
        const uint32_t value = choose >> lane & 1 ? a[lane] : b[lane];
        d[lane] = mask >> lane & 1 ? value : d[lane];
    }
}

/* PTX shfl within segments of c lanes; a lane whose source is outside keeps its own value. */
static void exec_shfl(const struct uop *u, const struct lanes *w, uint32_t mask) {
    const uint32_t *a = operand_row(w, u->a), *b = operand_row(w, u->b), *c = operand_row(w, u->c);
    uint32_t *d = destination_row(w, u->d), value[32];
    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t width = c[lane] >= 1 && c[lane] <= 32 ? c[lane] : 32;
        const uint32_t first = lane & ~(width - 1), last = first | (width - 1);
        uint32_t from;
        switch (u->sub) {
        case SHFL_IDX: from = first | (b[lane] & (width - 1)); break;
        case SHFL_UP: from = b[lane] <= lane - first ? lane - b[lane] : lane; break;
        case SHFL_DOWN: from = b[lane] <= last - lane ? lane + b[lane] : lane; break;
        default: from = (lane ^ b[lane]) <= last ? lane ^ b[lane] : lane; break;
        }
        value[lane] = a[from & 31];
    }
    for (uint32_t lane = 0; lane < 32; lane++)
        if (mask >> lane & 1) d[lane] = value[lane];
}

static void exec_predicate(const struct uop *u, const struct lanes *w, uint32_t mask) {
    const uint32_t a = negated(w->preds[u->a], u->flags & INSN_NEGATE_Q);
    uint32_t b = 0, value;
    if (u->b != ROW_NONE) b = negated(w->preds[u->b], u->flags & INSN_NEGATE_QB);
    switch (u->op) {
    case OP_AND_PRED: value = a & b; break;
    case OP_OR_PRED: value = a | b; break;
    case OP_XOR_PRED: value = a ^ b; break;
    case OP_NOT_PRED: value = ~a; break;
    case OP_VOTE_PRED:
        value = u->sub == VOTE_ALL ? ((a & mask) == mask ? ~0u : 0u) : (a & mask ? ~0u : 0u);
        break;
    default: value = a; break;
    }
    write_pred(w, u->d, value, mask);
}

static void exec_ballot(const struct uop *u, const struct lanes *w, uint32_t mask) {
    const uint32_t value = negated(w->preds[u->a], u->flags & INSN_NEGATE_Q) & mask;
    uint32_t *d = destination_row(w, u->d);
    for (uint32_t lane = 0; lane < 32; lane++)
        if (mask >> lane & 1) d[lane] = value;
}

static void exec_nothing(const struct uop *u, const struct lanes *w, uint32_t mask) {
    (void)u, (void)w, (void)mask;
}

exec_fn *const exec_table[UOP_COUNT] = {
#define ALU(id, name, cls, traits, operands, R, T, expr)  [OP_##id] = exec_##id,
#define SETP(id, name, cls, traits, T, expr)              [OP_##id] = exec_##id,
#define WIDE(id, name, cls, traits, operands, R, T, expr) [OP_##id] = exec_##id,
#define LOW(id, name, cls, traits, operands, R, T, expr)  [OP_##id] = exec_##id,
#define SETP_WIDE(id, name, cls, traits, T, expr)         [OP_##id] = exec_##id,
#define OP(id, name, cls, traits, operands)
#include "tables/ops.def"
    [OP_SELP_B32] = exec_selp,      [OP_SHFL_B32] = exec_shfl,      [OP_VOTE_BALLOT] = exec_ballot,
    [OP_AND_PRED] = exec_predicate, [OP_OR_PRED] = exec_predicate,  [OP_XOR_PRED] = exec_predicate,
    [OP_NOT_PRED] = exec_predicate, [OP_MOV_PRED] = exec_predicate, [OP_VOTE_PRED] = exec_predicate,
    [OP_NOP] = exec_nothing,        [OP_SASS] = exec_sass,
};

bool divides_by_zero(const struct uop *u, const struct lanes *w, uint32_t mask, uint32_t *lane) {
    const uint32_t *b = operand_row(w, u->b), *bh = operand_row(w, u->bh);
    for (uint32_t l = 0; l < 32; l++)
        if ((mask >> l & 1) && (b[l] | bh[l]) == 0) {
            *lane = l;
            return true;
        }
    return false;
}

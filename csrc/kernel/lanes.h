/* What one lane does to one address of host memory. Values are little endian, 1, 2 or 4 bytes;
 * wider loads and stores are repeated per word. */
#ifndef SMMUX_LANES_H
#define SMMUX_LANES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/hints.h"
#include "kernel/program.h"
#include "kernel/wide.h"

/* A word at any address: in shared memory with a small `smm_unit`, too. */
typedef uint32_t loose_word __attribute__((aligned(1), may_alias));

/* Load a value for one lane; narrow ones are extended. */
static inline uint32_t lane_load(const uint8_t *at, uint32_t width, bool is_signed) {
    uint32_t word = 0;
    uint16_t half;
    switch (width) {
    case 1: return is_signed ? (uint32_t)(int8_t)*at : *at;
    case 2: memcpy(&half, at, sizeof half); return is_signed ? (uint32_t)(int16_t)half : half;
    default: memcpy(&word, at, sizeof word); return word;
    }
}

/* Store the lower bytes of a lane's value. */
static inline void lane_store(uint8_t *at, uint32_t width, uint32_t value) {
    const uint16_t half = (uint16_t)value;
    switch (width) {
    case 1: *at = (uint8_t)value; break;
    case 2: memcpy(at, &half, sizeof half); break;
    default: memcpy(at, &value, sizeof value); break;
    }
}

/* Load a word for each of the lanes from its address, where `from` holds the memory from address
 * `base` on. Other lanes of the row are written too, with what they hold. */
static ALWAYS_INLINE void gather_words(uint32_t *row, const uint8_t *from, uint32_t base,
                                       const uint32_t addr[32], uint32_t lanes) {
    if (lanes == 0xffffffffu) { /* by fours, which compilers unroll */
        for (uint32_t four = 0; four < 32; four += 4)
            for (uint32_t lane = four; lane < four + 4; lane++)
                row[lane] = *(const loose_word *)(from + (addr[lane] - base));
        return;
    }
    for (uint32_t lane = 0; lane < 32; lane++) {
        const bool on = lanes >> lane & 1;
        const uint32_t value = *(const loose_word *)(from + (on ? addr[lane] - base : 0));
        row[lane] = on ? value : row[lane];
    }
}

static inline float flushed_f32(uint32_t bits) {
    return bits_to_f32(bits & 0x7f800000u ? bits : bits & 0x80000000u);
}

/* The sum of floats of which subnormal ones, and a subnormal sum, are zeros. */
static inline uint32_t add_ftz_f32(uint32_t x, uint32_t y) {
    return f32_to_bits(flushed_f32(f32_result(flushed_f32(x) + flushed_f32(y))));
}

/* The sum of two float16, exact in double precision and then rounded. */
static inline uint32_t add_f16(uint32_t x, uint32_t y) {
    return f64_to_f16((double)f16_to_f32(x & 0xffffu) + (double)f16_to_f32(y & 0xffffu)) & 0xffffu;
}

/* The bfloat16 nearest to a double that is the sum of two, even of two such. */
static inline uint32_t add_bf16(uint32_t x, uint32_t y) {
    const float sum = bits_to_f32(x << 16) + bits_to_f32(y << 16);
    const double exact = (double)bits_to_f32(x << 16) + (double)bits_to_f32(y << 16);
    uint32_t bits = f32_to_bits(sum);
    if (sum != sum) return 0x7fffu;
    if ((bits & 0xffffu) == 0x8000u && exact != (double)sum) /* no tie: to the exact sum's side */
        bits += (exact > (double)sum) == (bits >> 31 == 0) ? 1u : ~0u;
    return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

/* What PTX atom leaves in memory: a is the operand (for cas the compared value), b the new value of
 * cas. */
static inline uint32_t atomic_result(enum atom_op op, uint32_t old, uint32_t a, uint32_t b) {
    switch (op) {
    case ATOM_ADD: return old + a;
    case ATOM_ADD_F32: return f32_result(bits_to_f32(old) + bits_to_f32(a));
    case ATOM_ADD_FTZ_F32: return add_ftz_f32(old, a);
    case ATOM_ADD_F16X2: return add_f16(old, a) | add_f16(old >> 16, a >> 16) << 16;
    case ATOM_ADD_BF16X2:
        return add_bf16(old & 0xffffu, a & 0xffffu) | add_bf16(old >> 16, a >> 16) << 16;
    case ATOM_SUB: return old - a;
    case ATOM_MIN_S32: return (int32_t)a < (int32_t)old ? a : old;
    case ATOM_MIN_U32: return a < old ? a : old;
    case ATOM_MAX_S32: return (int32_t)a > (int32_t)old ? a : old;
    case ATOM_MAX_U32: return a > old ? a : old;
    case ATOM_MIN_F32: return f32_result(fmin32(bits_to_f32(old), bits_to_f32(a)));
    case ATOM_MAX_F32: return f32_result(fmax32(bits_to_f32(old), bits_to_f32(a)));
    case ATOM_AND: return old & a;
    case ATOM_OR: return old | a;
    case ATOM_XOR: return old ^ a;
    case ATOM_EXCH: return a;
    case ATOM_CAS:
    case ATOM_CAST: return old == a ? b : old;
    case ATOM_INC: return old >= a ? 0 : old + 1;
    case ATOM_DEC: return old == 0 || old > a ? a : old - 1;
    case ATOM_MIN_NAN_F32: return bits_to_f32(a) < bits_to_f32(old) ? a : old;
    case ATOM_MAX_NAN_F32: return bits_to_f32(a) > bits_to_f32(old) ? a : old;
    default: return old;
    }
}

/* Of both words the sums of their halves. */
static inline uint64_t add_pieces(enum atom_op op, uint64_t old, uint64_t a) {
    return atomic_result(op, (uint32_t)old, (uint32_t)a, 0) |
           (uint64_t)atomic_result(op, (uint32_t)(old >> 32), (uint32_t)(a >> 32), 0) << 32;
}

/* The same on 64 bits. */
static inline uint64_t wide_atomic_result(enum atom_op op, uint64_t old, uint64_t a, uint64_t b) {
    const double x = bits_to_f64(old), y = bits_to_f64(a);
    switch (op) {
    case ATOM_ADD64: return old + a;
    case ATOM_ADD_F64: return f64_result(x + y);
    case ATOM_ADD_F32X2:
        return add_ftz_f32((uint32_t)old, (uint32_t)a) |
               (uint64_t)add_ftz_f32((uint32_t)(old >> 32), (uint32_t)(a >> 32)) << 32;
    case ATOM_ADD_F16X4: return add_pieces(ATOM_ADD_F16X2, old, a);
    case ATOM_ADD_BF16X4: return add_pieces(ATOM_ADD_BF16X2, old, a);
    case ATOM_SUB64: return old - a;
    case ATOM_MIN_S64: return (int64_t)a < (int64_t)old ? a : old;
    case ATOM_MIN_U64: return a < old ? a : old;
    case ATOM_MAX_S64: return (int64_t)a > (int64_t)old ? a : old;
    case ATOM_MAX_U64: return a > old ? a : old;
    case ATOM_MIN_F64: return f64_result(fmin64(x, y));
    case ATOM_MAX_F64: return f64_result(fmax64(x, y));
    case ATOM_AND64: return old & a;
    case ATOM_OR64: return old | a;
    case ATOM_XOR64: return old ^ a;
    case ATOM_EXCH64: return a;
    case ATOM_CAS64:
    case ATOM_CAST64: return old == a ? b : old;
    case ATOM_INC64: return old >= a ? 0 : old + 1;
    case ATOM_DEC64: return old == 0 || old > a ? a : old - 1;
    case ATOM_MIN_NAN_F64: return y < x ? a : old;
    case ATOM_MAX_NAN_F64: return y > x ? a : old;
    default: return old;
    }
}

/* Perform an atomic for one lane; returns what was there before. */
static inline uint32_t lane_atomic(uint8_t *at, enum atom_op op, uint32_t a, uint32_t b) {
    uint32_t old, value;
    memcpy(&old, at, sizeof old);
    value = atomic_result(op, old, a, b);
    memcpy(at, &value, sizeof value);
    return op == ATOM_CAST ? old == a : old;
}

/* The same on 64 bits. */
static inline uint64_t lane_wide_atomic(uint8_t *at, enum atom_op op, uint64_t a, uint64_t b) {
    uint64_t old, value;
    memcpy(&old, at, sizeof old);
    value = wide_atomic_result(op, old, a, b);
    memcpy(at, &value, sizeof value);
    return op == ATOM_CAST64 ? old == a : old;
}

/* One of the words that an operation on 128 bits leaves, where it is none that compares. */
static inline uint32_t quad_word(enum atom_op op, uint32_t old, uint32_t a) {
    switch (op) {
    case ATOM_EXCH128: return a;
    case ATOM_ADD_F32X4: return add_ftz_f32(old, a);
    case ATOM_ADD_F16X8: return atomic_result(ATOM_ADD_F16X2, old, a, 0);
    case ATOM_ADD_BF16X8: return atomic_result(ATOM_ADD_BF16X2, old, a, 0);
    default: return old;
    }
}

/* The same on 128 bits. */
static inline void lane_quad_atomic(uint8_t *at, enum atom_op op, const uint32_t a[4],
                                    const uint32_t b[4], uint32_t old[4]) {
    uint32_t value[4];
    memcpy(old, at, 16);
    const bool equal = op == ATOM_CAS128 && !memcmp(old, a, 16);
    for (uint32_t i = 0; i < 4; i++) value[i] = equal ? b[i] : quad_word(op, old[i], a[i]);
    memcpy(at, value, sizeof value);
}

/* The number of two rows' words in a lane. */
static inline uint64_t lane_pair(const uint32_t *low, const uint32_t *high, uint32_t lane) {
    return (uint64_t)high[lane] << 32 | low[lane];
}

#endif

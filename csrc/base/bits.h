/* Bit tricks: lane masks, and a hash. */
#ifndef SMMUX_BITS_H
#define SMMUX_BITS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* The index of the lowest set bit; x must not be 0. */
static inline uint32_t bits_lowest(uint32_t x) {
    assert(x != 0);
    return (uint32_t)__builtin_ctz(x);
}

/* Index of the lowest set bit of 64; x must not be 0. */
static inline uint32_t bits_lowest64(uint64_t x) {
    assert(x != 0);
    return (uint32_t)__builtin_ctzll(x);
}

/* Index of the highest set bit of 64; x must not be 0. */
static inline uint32_t bits_highest64(uint64_t x) {
    assert(x != 0);
    return 63u - (uint32_t)__builtin_clzll(x);
}

/* How many bits are set. The builtin would be a call where the host lacks the instruction. */
static inline uint32_t bits_count(uint32_t x) {
    x -= (x >> 1) & 0x55555555u;
    x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
    return (((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24;
}

static inline uint32_t bits_count64(uint64_t x) {
    return bits_count((uint32_t)x) + bits_count((uint32_t)(x >> 32));
}

/* Spread a number over 32 bits, the highest of which are a hash of it (Fibonacci hashing: 2^32
 * divided by the golden ratio, Knuth, TAOCP 3, section 6.4). */
static inline uint32_t bits_spread(uint32_t x) { return x * 0x9e3779b1u; }

static inline bool bits_is_power_of_two(uint32_t x) { return x != 0 && (x & (x - 1)) == 0; }

#endif

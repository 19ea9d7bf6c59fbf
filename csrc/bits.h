/* Bit tricks on lane masks. */
#ifndef SMMUX_BITS_H
#define SMMUX_BITS_H

#include <stdbool.h>
#include <stdint.h>

/* Index of the lowest set bit; x must not be 0. */
static inline uint32_t bits_lowest(uint32_t x) { return (uint32_t)__builtin_ctz(x); }

static inline uint32_t bits_count(uint64_t x) { return (uint32_t)__builtin_popcountll(x); }

static inline bool bits_is_power_of_two(uint32_t x) { return x != 0 && (x & (x - 1)) == 0; }

#endif

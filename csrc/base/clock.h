/* Clock domains: exact integer conversion between the cycles of two clocks.
 *
 * Both clocks tick at time 0. clock_convert gives the first tick of the target clock at
 * or after a cycle of the source clock, so it is monotone and never early, and a pair of
 * conversions there and back costs less than one cycle of each. */
#ifndef SMMUX_CLOCK_H
#define SMMUX_CLOCK_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 clock_wide;

struct clock_ratio {
    uint64_t num, den; /* target ticks per source cycle, in lowest terms */
    uint64_t inverse;  /* floor((2^64 - 1) / den): division by multiplication */
};

/* The ratio of two clocks, in lowest terms. */
static inline struct clock_ratio clock_ratio(uint32_t from_khz, uint32_t to_khz) {
    assert(from_khz > 0);
    uint32_t a = from_khz, b = to_khz;
    while (b) {
        uint32_t r = a % b;
        a = b;
        b = r;
    }
    uint64_t den = from_khz / a;
    return (struct clock_ratio){to_khz / a, den, UINT64_MAX / den};
}

/* The tick of a cycle: ceil(cycle * num / den). cycle * num must stay below 2^63: years of
 * simulated time. */
static inline uint64_t clock_convert(const struct clock_ratio *r, uint64_t cycle) {
    assert(!cycle || r->num <= (UINT64_MAX >> 1) / cycle);
    uint64_t x = cycle * r->num + (r->den - 1);
    uint64_t q = (uint64_t)(((clock_wide)x * r->inverse) >> 64);
    uint64_t rest = x - q * r->den;
    while (rest >= r->den) { /* at most twice: the inverse is rounded down */
        rest -= r->den;
        q++;
    }
    return q;
}

/* Is clock_convert(cycle) > tick? This needs no division. */
static inline bool clock_is_after(const struct clock_ratio *r, uint64_t cycle, uint64_t tick) {
    return cycle * r->num > tick * r->den;
}

#endif

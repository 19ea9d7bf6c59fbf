/* The host's fused multiply-add of doubles, where it has one. */
#ifndef SMMUX_SM_SASS_FUSED_H
#define SMMUX_SM_SASS_FUSED_H

#include <stdbool.h>

/* Hosts with the instruction round x * y + z once: the result has no other bits than by integers.
 */
#if defined(__x86_64__) && defined(__GNUC__)
#define FUSED __attribute__((target("fma")))
static inline bool fuses(void) { return __builtin_cpu_supports("fma"); }
#elif defined(__FP_FAST_FMA)
#define FUSED
static inline bool fuses(void) { return true; }
#else
#define FUSED
static inline bool fuses(void) { return false; }
#endif

#endif

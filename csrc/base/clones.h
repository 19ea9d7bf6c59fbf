/* Functions over 32 lanes are compiled several times, for wider vectors where the host has
 * them; the loader chooses. Same bits by construction: integers, and IEEE operations that
 * are never contracted. They are not inlined: what they share is ALWAYS_INLINE. And they are
 * static, since others would be exported. */
#ifndef SMMUX_CLONES_H
#define SMMUX_CLONES_H

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(SMMUX_CHECK) && !defined(SMMUX_NO_CLONES)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

#endif

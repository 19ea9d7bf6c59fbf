/* What the compiler cannot know of the hot paths. */
#ifndef SMMUX_HINTS_H
#define SMMUX_HINTS_H

#define ALWAYS_INLINE inline __attribute__((always_inline)) /* an inner function, instantiated */
#define NOINLINE      __attribute__((noinline))             /* rare: keeps its registers out */

/* In front of a loop of so many rounds: straight code, within a loop that is to be vectorised. */
#define PRAGMA(text)  _Pragma(#text)
#define UNROLL(count) PRAGMA(GCC unroll count)

#endif

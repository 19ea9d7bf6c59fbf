/* Loads of global memory that wait for what other threads store: `while flag[0] == 0: pass`. Such
 * loads are synchronisation, not data, as volatile ones are in CUDA C++; kernels in Python have no
 * word for that, so the check finds them in the program. So are loads of what a compare and swap
 * compares, which finds out whether it still stands there: compilers make sums of floats of both.
 */
#ifndef SMMUX_POLLS_H
#define SMMUX_POLLS_H

#include "kernel/decode.h"

enum poll {
    POLL_NONE,
    POLL_MOVING, /* decides whether its loop goes on, which stores nothing: waits, or searches */
    POLL_FIXED,  /* and loads from the same place each time: waits */
};

/* Fill in an enum poll for every instruction. */
void polls_find(const struct program *p, uint8_t *polls);

#endif

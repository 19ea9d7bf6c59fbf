/* Loads that wait for what other threads store: `while flag[0] == 0: pass`. Such
 * loads are synchronisation, not data, as volatile ones are in CUDA C++; kernels in Python have no
 * word for that, so the checks find them in the program. So are loads of global memory of what a
 * compare and swap compares, which finds out whether it still stands there: compilers make sums of
 * floats of both.
 */
#ifndef SMMUX_POLLS_H
#define SMMUX_POLLS_H

#include "kernel/decode.h"

/* Fill in an enum poll for every instruction. */
void polls_find(const struct program *p, uint8_t *polls);

#endif

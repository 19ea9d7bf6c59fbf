/* The convergence barrier unit (CBU), which the sub-cores of an SM share: BSSY, BSYNC, WARPSYNC,
 * YIELD, MATCH, jumps through registers, and branches at which lanes part take it one after the
 * other (h200: branch_rates.csv, calls.csv, meets.csv). */
#ifndef SMMUX_CBU_H
#define SMMUX_CBU_H

#include "sm/sm.h"

/* Let an instruction that issues at cycle t take the unit for so many clocks, perhaps none; returns
 * when it begins. */
static inline uint64_t cbu_take(struct sm *sm, uint64_t t, uint32_t clocks) {
    if (!clocks) return t;
    const uint64_t begin = sm->cbu_free > t ? sm->cbu_free : t;
    sm->cbu_free = begin + clocks;
    return begin;
}

#endif

/* Accesses to the banks of shared memory that have been looked at: those of an instruction mostly
 * lie alike. */
#ifndef SMMUX_PATTERNS_H
#define SMMUX_PATTERNS_H

#include "sm/smem.h"

/* An access that has been looked at, and what it cost: the lanes' addresses from that of the first
 * one on, and where this lies in a row of the banks, if that matters. */
struct smem_pattern {
    uint32_t from_first[32];
    uint32_t mask;           /* 0: none has been yet */
    int32_t lowest, highest; /* of from_first, */
    uint32_t low_bits;       /* and bits that some of them have; all of a whole warp */
    uint16_t row, in_row;    /* bits of an address in a row, or 0; those of the first one */
    uint8_t width;
    struct smem_cost cost;
};

/* The same for an access of an SM, of some lanes. Mostly its instruction has asked for the same
 * words before, or for others some rows further on, which take as long: `known` holds what was
 * looked at last, of this instruction or of another one. */
struct smem_cost smem_recall(struct smem_pattern *known, const struct config *cfg,
                             const uint32_t addr[32], uint32_t mask, uint32_t width);
/* The passes of a load from the L1 in the same way. */
uint32_t smem_recall_cached(struct smem_pattern *known, const struct config *cfg,
                            const uint32_t addr[32], uint32_t mask, uint32_t width);

#endif

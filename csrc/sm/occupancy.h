/* How many thread blocks an SM holds, and what limits them.
 *
 * Formulas of hw-parameters section 4, transcribed there from NVIDIA's occupancy calculator
 * [OCC21, OCC51]. GPGPU-Sim 3.0.2's rule [GS302], registers / (padded threads * regs rounded
 * up to 4), is per-warp allocation with reg_unit 128 (4 registers x 32 lanes) and warp_gran 1:
 * floor(floor(N / Rw) / W) = floor(N / (Rw W)) with Rw = 32 roundup4(regs). */
#ifndef SMMUX_OCCUPANCY_H
#define SMMUX_OCCUPANCY_H

#include <stdint.h>

#include "base/config.h"

#define OCCUPANCY_UNLIMITED UINT32_MAX

/* What limits the number of resident blocks; of several, the first in this order. */
enum limiter {
    LIMITER_COUNTER, /* the paper's counter, K + n */
    LIMITER_SHARED,
    LIMITER_REGISTERS,
    LIMITER_WARPS,
    LIMITER_THREADS,
    LIMITER_BLOCKS,
    LIMITER_COUNT
};

/* Resident blocks that each resource alone would allow; 0 when one block cannot run. */
struct occupancy {
    uint32_t blocks;  /* the least of those below */
    uint32_t counter; /* K + n; OCCUPANCY_UNLIMITED with static management */
    uint32_t smem;    /* OCCUPANCY_UNLIMITED when the block holds none */
    uint32_t regs;    /* OCCUPANCY_UNLIMITED when the kernel uses none */
    uint32_t warps;
    uint32_t threads;
    uint32_t max_blocks;
    uint32_t limiter; /* enum limiter */
};

const char *limiter_name(uint32_t limiter);

/* Static management. threads: per block; regs: per thread; smem_bytes: per block, with what
 * the machine reserves and with the parameters where they live in shared memory. */
struct occupancy occupancy_compute(const struct config *cfg, uint32_t threads, uint32_t regs,
                                   uint32_t smem_bytes);

/* Dynamic and CO management: min(K + extra_blocks, shared memory, registers, warps, blocks),
 * with K = static_residency for static_bytes + dynamic_bytes. A block may start while the
 * static bytes of all resident blocks, its own included, are <= capacity - dynamic_bytes.
 * static_bytes as smem_bytes above, without the dynamic part. */
struct occupancy residency_compute(const struct config *cfg, uint32_t threads, uint32_t regs,
                                   uint32_t static_bytes, uint32_t dynamic_bytes,
                                   uint32_t extra_blocks, uint32_t *static_residency);

#endif

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

/* What limits the number of resident blocks, in the order of limits.def. */
enum limiter {
#define LIMIT(key, name, blocks, doc) LIMITER_##key,
#include "tables/limits.def"
    LIMITER_COUNT
};

/* What a kernel needs of an SM. */
struct needs {
    uint32_t warps;   /* of a block */
    uint32_t regs;    /* of a thread */
    uint32_t held;    /* bytes of shared memory of a block from start to end */
    uint32_t part;    /* those for a part of its life; 0: none */
    uint32_t counter; /* blocks that the management lets reside, or OCCUPANCY_UNLIMITED */
};

/* Resident blocks that each resource alone would allow, OCCUPANCY_UNLIMITED where the kernel uses
 * none; 0 when one block cannot run. */
struct occupancy {
    uint32_t blocks; /* the least of those below */
#define LIMIT(key, name, blocks, doc) uint32_t key;
#include "tables/limits.def"
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

/* For how many warps of so many registers a thread an SM has registers. */
uint32_t occupancy_warps(const struct config *cfg, uint32_t regs);

#endif

/* Shared-memory banks: how many passes one access of a warp takes.
 *
 * A machine splits the access into requests (half-warps on CC 1.x; by width on 2.x and
 * 3.x) and serves each request in passes; one pass takes smem_clk_per_way clocks.
 * Rules: hw-parameters section 6 [PG55 G.3.3, G.4.3, G.5.3]. */
#ifndef SMMUX_SMEM_H
#define SMMUX_SMEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "base/hints.h"

#define SMEM_MAX_BANKS 64u

/* What all 16 lanes of a half-warp address. */
enum half_shape {
    HALF_ANY,
    HALF_UNIFORM, /* one word */
    HALF_LINEAR   /* consecutive words */
};

struct smem_cost {
    uint32_t passes;  /* bank passes, summed over the requests of the access */
    uint32_t ideal;   /* passes of a conflict-free access of the same width and lanes */
    uint8_t shape[2]; /* enum half_shape of the half-warps: a short cut for who moves the data */
};

/* addr: byte address per lane, aligned to width; mask: lanes that take part; width: 1, 2,
 * 4, 8 or 16 bytes. smem_banks must be a power of two. A request without lanes is free. */
struct smem_cost smem_passes(const struct config *cfg, const uint32_t addr[32], uint32_t mask,
                             uint32_t width);
/* The same for most accesses of CC 9.0: all lanes ask for one word, or for words side by side that
 * lie in banks of their own. False: it is none of these. */
static ALWAYS_INLINE bool smem_plain(const struct config *cfg, const uint32_t addr[32],
                                     uint32_t mask, uint32_t width, struct smem_cost *cost) {
    uint32_t apart = 0, astray = 0;

    if (cfg->smem_rule != 9 || mask != 0xffffffffu || width < 4) return false;
    for (uint32_t lane = 0; lane < 32; lane++) {
        apart |= addr[lane] ^ addr[0];
        astray |= addr[lane] ^ (addr[0] + 4 * lane);
    }
    const uint32_t passes = width == 16 ? 2 : 1;
    const uint8_t shape = apart ? HALF_LINEAR : HALF_UNIFORM;
    *cost = (struct smem_cost){passes, passes, {shape, shape}};
    return !apart || (!astray && width == 4 && cfg->smem_banks == 32);
}

/* The same for the rows of a matrix, 16 bytes each, that eight lanes name. */
struct smem_cost smem_matrix(const struct config *cfg, const uint32_t addr[32], uint32_t mask);

#endif

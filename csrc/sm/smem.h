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

/* What smem_passes finds where it has to look closer. */
struct smem_cost smem_look(const struct config *cfg, const uint32_t addr[32], uint32_t mask,
                           uint32_t width);

/* Most accesses of CC 9.0 with its 32 banks: the lanes of each half-warp ask for one word, or all
 * of them for words side by side. False: it is none of these. */
static ALWAYS_INLINE bool smem_plain(const struct config *cfg, const uint32_t addr[32],
                                     uint32_t mask, uint32_t width, struct smem_cost *cost) {
    uint32_t apart = 0, astray = 0;

    if (cfg->smem_rule != 9 || mask != 0xffffffffu || width < 4 || cfg->smem_banks != 32)
        return false;
    for (uint32_t lane = 0; lane < 32; lane++) {
        apart |= addr[lane] ^ (lane < 16 ? addr[0] : addr[16]);
        astray |= addr[lane] ^ (addr[0] + 4 * lane);
    }
    const uint32_t halves = addr[0] ^ addr[16], ideal = width == 16 ? 2 : 1;
    const bool conflict = !apart && halves >> 7 && !(halves & 127 & ~(width - 1)) && width < 16;
    const uint8_t shape = apart ? HALF_LINEAR : HALF_UNIFORM;
    *cost = (struct smem_cost){ideal + conflict, ideal, {shape, shape}};
    return !apart || (!astray && width == 4);
}

/* addr: byte address per lane, aligned to width; mask: lanes that take part; width: 1, 2,
 * 4, 8 or 16 bytes. smem_banks must be a power of two. A request without lanes is free. */
static ALWAYS_INLINE struct smem_cost smem_passes(const struct config *cfg, const uint32_t addr[32],
                                                  uint32_t mask, uint32_t width) {
    struct smem_cost cost;

    return smem_plain(cfg, addr, mask, width, &cost) ? cost : smem_look(cfg, addr, mask, width);
}

/* How many passes a load from the L1 takes of those banks, on machines whose L1 is in them
 * (CC 9.0): of 64 and 128 bits two and four at least, whatever neighbours name. */
uint32_t smem_cached(const struct config *cfg, const uint32_t addr[32], uint32_t mask,
                     uint32_t width);
/* How many passes an atomic takes on CC 9.0: one for each lane of the bank that most lanes want,
 * also where they want the same word; of 64 bits half-warp by half-warp. */
uint32_t smem_ways(const struct config *cfg, const uint32_t addr[32], uint32_t mask,
                   uint32_t width);
/* As smem_passes, for the rows of a matrix, 16 bytes each, that eight lanes name. */
struct smem_cost smem_matrix(const struct config *cfg, const uint32_t addr[32], uint32_t mask);

#endif

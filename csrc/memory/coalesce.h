/* Coalescing: the addresses of a warp -> memory transactions (hw-parameters 7.1). */
#ifndef SMMUX_COALESCE_H
#define SMMUX_COALESCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"

#define COALESCE_MAX_SEGMENTS 32u /* one lane never touches two */

struct segment {
    uint32_t addr;  /* first byte, a multiple of bytes; of a run of sectors, of 32 */
    uint32_t bytes; /* 32, 64 or 128; of a run, 96 too */
    uint32_t lanes; /* lanes that it serves */
};

/* Do all 32 lanes ask for consecutive words from a 128-byte boundary on? */
bool coalesce_is_line(const uint32_t addr[32]);

/* The aligned lines of that many bytes that the lanes of mask touch, in order of their lowest
 * lane; returns how many. */
uint32_t coalesce_lines(const uint32_t addr[32], uint32_t mask, uint32_t bytes,
                        struct segment out[COALESCE_MAX_SEGMENTS]);

/* The transactions of a load or store of such words, from `base` on. */
uint32_t coalesce_whole(const struct config *cfg, uint32_t base, bool store,
                        struct segment out[COALESCE_MAX_SEGMENTS]);

/* addr: byte address per lane, aligned to width; mask: lanes that take part; width: 1, 2,
 * 4, 8 or 16 bytes. Returns the number of segments, in order of their lowest lane; under rule 90
 * they are runs of sectors, those of one line behind one another. */
uint32_t coalesce(const struct config *cfg, const uint32_t addr[32], uint32_t mask, uint32_t width,
                  bool store, struct segment out[COALESCE_MAX_SEGMENTS]);

/* How long the load/store unit takes to issue an access of these n segments. Each request of a warp
 * is issued, and its further transactions are replayed; those of CC 2.x are lines of 128 bytes,
 * whatever moves behind the unit. */
uint32_t coalesce_clocks(const struct config *cfg, const uint32_t addr[32], uint32_t mask,
                         uint32_t width, const struct segment *seg, uint32_t n);
/* How many rounds the tags of these lines, one at least, take: each of four banks has one a round.
 * The hash is the only one of the lines' lower seven bits under which all patterns of l1_phases.csv
 * come out (docs/hopper.md). */
uint32_t coalesce_tags(const struct segment *line, uint32_t n);

#endif

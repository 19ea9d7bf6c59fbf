#include "sm/patterns.h"

#include "base/bits.h"
#include "base/clones.h"

#define CACHED 0x80u /* in the width of a pattern */

/* Bytes by which all addresses may move with nothing changed but rows and banks: where these are
 * words, two lanes want different words of one bank as long as they lie as far apart. */
static ALWAYS_INLINE uint32_t row_of(const struct config *cfg) {
    return cfg->smem_rule == 3 ? cfg->smem_banks * 8 : 4;
}

/* Are the lanes' addresses as far apart as those of the pattern? */
static ALWAYS_INLINE bool is_alike(const struct smem_pattern *known, const uint32_t addr[32],
                                   uint32_t mask, uint32_t first) {
    uint32_t apart = known->mask ^ mask;

    if (mask == 0xffffffffu)
        for (uint32_t lane = 0; lane < 32; lane++)
            apart |= (addr[lane] - first) ^ known->from_first[lane];
    else
        for (uint32_t lane = 0; lane < 32; lane++)
            apart |= mask >> lane & 1 ? (addr[lane] - first) ^ known->from_first[lane] : 0;
    return !apart;
}

/* cached: of a load from the L1, which is no pattern for others. */
static ALWAYS_INLINE struct smem_cost recall(struct smem_pattern *known, const struct config *cfg,
                                             const uint32_t addr[32], uint32_t mask, uint32_t width,
                                             const bool cached) {
    const uint32_t first = addr[bits_lowest(mask)], key = width | (cached ? CACHED : 0);
    struct smem_cost cost;

    if (known->width == key && known->in_row == (first & known->row) &&
        is_alike(known, addr, mask, first))
        return known->cost;
    /* In any place of a row. */
    const bool plain = !cached && smem_plain(cfg, addr, mask, width, &cost);
    int32_t lowest = 0, highest = 0;
    uint32_t low_bits = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t apart = addr[lane] - first;
        const int32_t way = (int32_t)apart;

        known->from_first[lane] = apart;
        lowest = way < lowest ? way : lowest;
        highest = way > highest ? way : highest;
        low_bits |= apart;
    }
    known->lowest = lowest;
    known->highest = highest;
    known->low_bits = low_bits;
    known->mask = mask;
    known->row = plain ? 0 : (uint16_t)(row_of(cfg) - 1);
    known->in_row = (uint16_t)(first & known->row);
    known->width = (uint8_t)key;
    if (cached) cost = (struct smem_cost){.passes = smem_cached(cfg, addr, mask, width)};
    else if (!plain) cost = smem_look(cfg, addr, mask, width);
    return known->cost = cost;
}

CLONES static struct smem_cost cloned_recall(struct smem_pattern *known, const struct config *cfg,
                                             const uint32_t addr[32], uint32_t mask,
                                             uint32_t width) {
    return recall(known, cfg, addr, mask, width, false);
}

CLONES static struct smem_cost cloned_cached(struct smem_pattern *known, const struct config *cfg,
                                             const uint32_t addr[32], uint32_t mask,
                                             uint32_t width) {
    return recall(known, cfg, addr, mask, width, true);
}

struct smem_cost smem_recall(struct smem_pattern *known, const struct config *cfg,
                             const uint32_t addr[32], uint32_t mask, uint32_t width) {
    return cloned_recall(known, cfg, addr, mask, width);
}

uint32_t smem_recall_cached(struct smem_pattern *known, const struct config *cfg,
                            const uint32_t addr[32], uint32_t mask, uint32_t width) {
    return cloned_cached(known, cfg, addr, mask, width).passes;
}

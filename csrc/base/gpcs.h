/* Groups of TPCs, which are of unequal size where a chip is sold with some of them switched off. */
#ifndef SMMUX_GPCS_H
#define SMMUX_GPCS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"

#define GPC_DIGITS 8u /* of gpc_tpcs */

struct gpcs {
    uint32_t count;
    uint8_t of[MOST_sm_count]; /* TPC */
};

/* TPCs are dealt out in turn to the GPCs that have room; what is left is a group of its own. */
static inline void gpcs_init(struct gpcs *g, const struct config *cfg) {
    const uint32_t tpcs = (cfg->sm_count + cfg->sms_per_tpc - 1) / cfg->sms_per_tpc;
    uint32_t room[GPC_DIGITS], left = 0, at = 0;
    for (uint32_t i = 0; i < GPC_DIGITS; i++) left += room[i] = cfg->gpc_tpcs >> 4 * i & 15;
    g->count = GPC_DIGITS + 1;
    for (uint32_t tpc = 0; tpc < tpcs; tpc++) {
        while (left && !room[at]) at = (at + 1) % GPC_DIGITS;
        g->of[tpc] = (uint8_t)(left ? at : GPC_DIGITS);
        if (left) left--, room[at]--, at = (at + 1) % GPC_DIGITS;
    }
}

/* The half of the chip in which a GPC lies. */
static inline uint32_t gpcs_side(const struct config *cfg, uint32_t gpc) {
    return cfg->l2_sides > 1 ? cfg->gpc_sides >> gpc & 1 : 0;
}

#endif

#include "base/config.h"

#include <stddef.h>
#include <stdio.h>

static enum error refuse(struct fault *f, const char *text, uint32_t value) {
    snprintf(f->text, sizeof f->text, text, value);
    return f->code = ERROR_BAD_CONFIG;
}

struct range {
    const char *name;
    uint32_t min, max;
};

/* In the order of struct config, which holds nothing but uint32_t. */
static const struct range ranges[] = {
#define PARAM(name, unit, min, max, doc) {#name, min, max},
#include "tables/config.def"
#define CLASS(id, name, doc) {"lat_" #name, 1, 60000},
#include "tables/classes.def"
#define CLASS(id, name, doc) {"issue_" #name, 1, 60000},
#include "tables/classes.def"
};

enum error config_check(const struct config *cfg, struct fault *f) {
    const uint32_t *value = (const uint32_t *)cfg;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (value[i] >= ranges[i].min && value[i] <= ranges[i].max) continue;
        snprintf(f->text, sizeof f->text, "%s = %u is not in %u..%u", ranges[i].name, value[i],
                 ranges[i].min, ranges[i].max);
        return f->code = ERROR_BAD_CONFIG;
    }
    if (cfg->smem_banks & (cfg->smem_banks - 1))
        return refuse(f, "%u shared-memory banks are not a power of two", cfg->smem_banks);
    if (cfg->max_warps_sm * 32 < cfg->max_threads_sm)
        return refuse(f, "%u warps do not hold max_threads_sm", cfg->max_warps_sm);
    if (cfg->smem_bank_bytes != 4 && cfg->smem_bank_bytes != 8)
        return refuse(f, "banks are 4 or 8 bytes wide, not %u", cfg->smem_bank_bytes);
    if (cfg->coalesce_rule != 13 && cfg->coalesce_rule != 20 && cfg->coalesce_rule != 35)
        return refuse(f, "there are no coalescing rules %u", cfg->coalesce_rule);
    return OK;
}

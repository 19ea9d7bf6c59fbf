#include "chip/third.h"

#include <stdlib.h>

#include "chip/second.h"

struct third {
    struct cache cache;
    const struct config *cfg;
    uint64_t *ready; /* per way: when its line comes */
};

enum error third_create(struct third **out, const struct config *cfg) {
    const struct cache_shape shape = config_shape(cfg, SHAPE_icache3);
    if (!cfg->icache3_bytes) return OK;
    struct third *third = *out = calloc(1, sizeof *third);
    if (!third) return ERROR_NO_MEMORY;
    third->cfg = cfg;
    third->ready = calloc(cfg->icache3_bytes / cfg->icache3_line, sizeof *third->ready);
    return third->ready ? cache_init(&third->cache, &shape, NULL, NULL) : ERROR_NO_MEMORY;
}

void third_destroy(struct third *third) {
    if (!third) return;
    cache_free(&third->cache);
    free(third->ready);
    free(third);
}

/* When a line of the second level comes that was asked for at cycle t. */
static uint64_t serve(struct third *third, uint32_t part, uint64_t t, struct counters *n) {
    const uint32_t line = part * third->cfg->icache2_line >> third->cache.line_shift;
    const uint64_t hit = t + third->cfg->lat_icache3;
    uint32_t way = cache_find(&third->cache, line);
    if (way == CACHE_NONE) {
        n->icache3_misses++;
        way = cache_victim(&third->cache, line);
        cache_put(&third->cache, way, line);
        return third->ready[way] = t + third->cfg->icache3_miss;
    }
    cache_touch(&third->cache, way);
    if (third->ready[way] > hit) n->icache3_merges++;
    else n->icache3_hits++;
    return third->ready[way] > hit ? third->ready[way] : hit;
}

void third_run(struct third *third, struct second *const *seconds, uint32_t count, uint64_t reach) {
    /* A group whose SMs have run to the end of their window may have had to wait for an answer
     * before it could look at all that they have asked for till then. */
    for (uint32_t g = 0; g < count; g++) second_advance(seconds[g], second_reach(seconds[g]));
    for (;;) {
        struct fill *first = NULL;
        struct second *of = NULL;
        uint64_t end = reach;
        for (uint32_t g = 0; g < count; g++) end = least(end, seconds[g]->answer);
        for (uint32_t g = 0; g < count; g++)
            for (uint32_t i = 0; i < seconds[g]->on_way; i++) {
                struct fill *f = &seconds[g]->fill[i];
                if (fill_is_known(f) || f->start >= (first ? first->start : end)) continue;
                first = f;
                of = seconds[g];
            }
        if (!first) return;
        struct counters *n = &sm_of(of, first->sm)->count;
        first->done = serve(third, first->line, first->start, n);
        second_advance(of, second_reach(of));
    }
}

#include "base/config.h"

#include <stddef.h>
#include <stdio.h>

#include "base/bits.h"
#include "base/sums.h"

struct range {
    const char *name;
    uint32_t min, max;
};

/* In the order of struct config, which holds nothing but uint32_t. */
static const struct range ranges[] = {
#define PARAM(name, unit, min, max, doc) {#name, min, max},
#include "tables/config.def"
#define CLASS(id, name, doc) {"unit_" #name, 0, UNIT_KINDS - 1},
#include "tables/classes.def"
#define CLASS(id, name, doc) {"lat_" #name, 1, 60000},
#include "tables/classes.def"
#define CLASS(id, name, doc) {"issue_" #name, 1, 60000},
#include "tables/classes.def"
};

_Static_assert(sizeof(struct config) == sizeof ranges / sizeof *ranges * sizeof(uint32_t),
               "a range per parameter");

static enum error check_ranges(const struct config *c, struct fault *f) {
    const uint32_t *value = (const uint32_t *)c;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (value[i] >= ranges[i].min && value[i] <= ranges[i].max) continue;
        snprintf(f->text, sizeof f->text, "%s = %u is not in %u..%u", ranges[i].name, value[i],
                 ranges[i].min, ranges[i].max);
        return f->code = ERROR_BAD_CONFIG;
    }
    return OK;
}

/* ---- what the rules ask ------------------------------------------------------------------ */

static bool is_whole(uint32_t bytes, uint32_t unit) { return bytes % unit == 0; }

static uint32_t slice_bytes(const struct config *c) {
    return c->l2_bytes / (c->partitions * c->l2_slices);
}

struct cache_shape config_shape(const struct config *c, enum config_cache which) {
    struct cache_shape shape[SHAPE_COUNT] = {
#define CACHE(name, what, without, most, least_line, most_line)                                    \
    [SHAPE_##name] = {.bytes = c->name##_bytes,                                                    \
                      .line = c->name##_line,                                                      \
                      .ways = c->name##_ways,                                                      \
                      .hashed = c->name##_hashed != 0,                                             \
                      .sector = c->name##_line},
#include "tables/caches.def"
    };
#define MISSES(name, what, least_sector, most)                                                     \
    if (c->name##_sector) shape[SHAPE_##name].sector = c->name##_sector;                           \
    shape[SHAPE_##name].mshrs = c->name##_mshrs;
#include "tables/caches.def"
    shape[SHAPE_l1].shared = c->l1_shared && c->l1_bytes;
    return shape[which];
}

uint32_t config_units(const struct config *c, enum unit kind) {
    const uint32_t counts[UNIT_KINDS] = {
#define UNIT(id, name, least, most, doc) c->name##_units,
#include "tables/units.def"
    };
    return counts[kind];
}

static const char *unit_name(uint32_t kind) {
    static const char *const names[UNIT_KINDS] = {
#define UNIT(id, name, least, most, doc) #name,
#include "tables/units.def"
    };
    return names[kind];
}

static uint32_t most(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* From the clock at which a refresh is due to the next column command, after the worst of
 * histories. If the next refresh is due by then, the channel does nothing but refresh. */
static uint32_t least_refresh_period(const struct config *c) {
    const uint32_t write = c->t_wl + c->dram_burst_clk, read = c->t_cl + c->dram_burst_clk;
    uint32_t at = most(most(c->t_ras, c->t_rc), most(c->t_rtp, c->t_rtpl));
    at = most(at, write + c->t_wr) + c->t_rp + c->t_rfc;
    at = most(at, most(c->t_rrd, c->t_faw)) + c->t_rcd;
    at = most(at, most(read + 2, write + c->t_wtr));
    return most(at, most(c->t_ccd, c->t_ccdl)) + c->dram_banks;
}

/* ---- the rules --------------------------------------------------------------------------- */

#define KEEP(condition, ...)                                                                       \
    if (!(condition)) {                                                                            \
        snprintf(f->text, sizeof f->text, __VA_ARGS__);                                            \
        return f->code = ERROR_BAD_CONFIG;                                                         \
    }

static enum error check_rules(const struct config *c, struct fault *f) {
#define RULE(...) KEEP(__VA_ARGS__)
#include "tables/rules.def"
    return OK;
}

enum error config_check_memory(const struct config *c, struct fault *f) {
#define MEMORY_RULE(...) KEEP(__VA_ARGS__)
#include "tables/rules.def"
    return OK;
}

enum error config_check(const struct config *c, struct fault *f) {
    enum error e = check_ranges(c, f);
    if (!e) e = check_rules(c, f);
    if (!e && c->mem_model) e = config_check_memory(c, f);
    return e;
}

#include "sm/occupancy.h"

#include <assert.h>
#include <stdbool.h>

static const char *const names[LIMITER_COUNT] = {
#define LIMIT(key, name, blocks, doc) name,
#include "tables/limits.def"
};

const char *limiter_name(uint32_t limiter) {
    assert(limiter < LIMITER_COUNT);
    return names[limiter];
}

static uint64_t round_up(uint64_t x, uint64_t unit) { return (x + unit - 1) / unit * unit; }

/* How many blocks the registers allow. */
static uint32_t register_limit(const struct config *cfg, uint32_t warps, uint32_t regs) {
    if (regs > cfg->max_regs_thread) return 0;
    if (regs == 0) return OCCUPANCY_UNLIMITED;
    if (cfg->reg_alloc_warp) {
        uint64_t per_warp = round_up((uint64_t)regs * 32, cfg->reg_unit);
        uint64_t room = cfg->regs_sm / per_warp;

        return (uint32_t)(room / cfg->warp_gran * cfg->warp_gran / warps);
    }
    uint64_t padded = round_up(warps, cfg->warp_gran);

    return (uint32_t)(cfg->regs_sm / round_up(padded * regs * 32, cfg->reg_unit));
}

uint32_t occupancy_warps(const struct config *cfg, uint32_t regs) {
    const uint32_t warps = register_limit(cfg, 1, regs);
    return warps < cfg->max_warps_sm ? warps : cfg->max_warps_sm;
}

/* Does a block hold more shared memory than one may? */
static bool is_too_much(const struct config *cfg, uint64_t bytes) {
    return cfg->max_smem_block && bytes > cfg->max_smem_block;
}

/* How many blocks shared memory allows, if each holds its part from start to end. A part is rounded
 * to the calculator's unit and to that of the SMM table, whose size is a multiple of its own unit.
 */
static uint32_t shared_limit(const struct config *cfg, uint64_t bytes) {
    uint64_t capacity = cfg->smem_bytes - cfg->smem_bytes % cfg->smm_unit;

    if (bytes == 0) return OCCUPANCY_UNLIMITED;
    if (is_too_much(cfg, bytes)) return 0;
    bytes = round_up(round_up(bytes, cfg->smem_unit), cfg->smm_unit);
    return (uint32_t)(capacity / bytes);
}

/* How many blocks' static parts fit beside one dynamic part. */
static uint32_t dynamic_limit(const struct config *cfg, uint32_t static_bytes,
                              uint32_t dynamic_bytes) {
    uint64_t capacity = cfg->smem_bytes - cfg->smem_bytes % cfg->smm_unit;
    uint64_t held = round_up(static_bytes, cfg->smm_unit);
    uint64_t shared = round_up(dynamic_bytes, cfg->smm_unit);

    if (shared > capacity || is_too_much(cfg, (uint64_t)static_bytes + dynamic_bytes)) return 0;
    return held == 0 ? OCCUPANCY_UNLIMITED : (uint32_t)((capacity - shared) / held);
}

/* What each resource allows, and which one allows the fewest blocks. */
static struct occupancy limit(const struct config *c, const struct needs *k) {
    const uint32_t limits[LIMITER_COUNT] = {
#define LIMIT(key, name, blocks, doc) blocks,
#include "tables/limits.def"
    };
    struct occupancy o = {
#define LIMIT(key, name, blocks, doc) .key = limits[LIMITER_##key],
#include "tables/limits.def"
    };
    for (uint32_t i = 1; i < LIMITER_COUNT; i++)
        if (limits[i] < limits[o.limiter]) o.limiter = i;
    o.blocks = limits[o.limiter];
    return o;
}

/* A block that no SM takes, whatever else it needs. */
static bool is_too_large(const struct config *cfg, uint32_t threads) {
    return threads == 0 || threads > cfg->max_threads_block;
}

static struct occupancy nothing(const struct config *cfg) {
    return (struct occupancy){.counter = OCCUPANCY_UNLIMITED,
                              .max_blocks = cfg->max_blocks_sm,
                              .limiter = LIMITER_threads};
}

struct occupancy occupancy_compute(const struct config *cfg, uint32_t threads, uint32_t regs,
                                   uint32_t smem_bytes) {
    const struct needs needs = {.warps = threads / 32 + (threads % 32 != 0),
                                .regs = regs,
                                .held = smem_bytes,
                                .counter = OCCUPANCY_UNLIMITED};
    return is_too_large(cfg, threads) ? nothing(cfg) : limit(cfg, &needs);
}

struct occupancy residency_compute(const struct config *cfg, uint32_t threads, uint32_t regs,
                                   uint32_t static_bytes, uint32_t dynamic_bytes,
                                   uint32_t extra_blocks, uint32_t *static_residency) {
    /* A sum beyond 32 bits does not fit any SM. */
    const uint32_t total = static_bytes + dynamic_bytes;
    const uint32_t k =
        total < static_bytes ? 0 : occupancy_compute(cfg, threads, regs, total).blocks;
    const struct needs needs = {
        .warps = threads / 32 + (threads % 32 != 0),
        .regs = regs,
        .held = static_bytes,
        .part = dynamic_bytes,
        .counter = extra_blocks < OCCUPANCY_UNLIMITED - k ? k + extra_blocks : OCCUPANCY_UNLIMITED};
    *static_residency = k;
    return is_too_large(cfg, threads) ? nothing(cfg) : limit(cfg, &needs);
}

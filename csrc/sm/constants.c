#include "sm/constants.h"

#include "base/bits.h"
#include "base/hints.h"
#include "kernel/lanes.h"
#include "sm/ask.h"
#include "sm/global.h"
#include "sm/lsu.h"
#include "sm/record.h"

/* The lanes that ask for the same address as one of them. */
static ALWAYS_INLINE uint32_t alike(const struct memop *op, uint32_t lane) {
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < 32; i++) lanes |= op->addr[i] == op->addr[lane] ? 1u << i : 0;
    return lanes;
}

/* How many addresses the lanes ask for, each of which is a pass (seed 004: best if all threads of a
 * warp read the same item). */
static uint32_t distinct_addresses(const struct memop *op) {
    uint32_t left = op->active, n = 0;
    for (; left; n++) left &= ~alike(op, bits_lowest(left));
    return n;
}

/* Put the constants that the active lanes ask for into their registers, one of which may be that of
 * the address: the instruction is sure to issue. */
static void load_constants(const struct memop *op, uint32_t places) {
    const struct program *p = op->sm->m->program;
    for (uint32_t word = 0; word < memop_words(op->u->width); word++) {
        uint32_t *d = op->w->rows + op->u->data[word] * 32u;
        const uint8_t *at = p->constants + 4 * word;
        for (uint32_t left = op->active; left; left &= left - 1) {
            const uint32_t lane = bits_lowest(left);
            const uint32_t value = lane_load(at + (op->addr[lane] - CONST_BASE), op->u->width,
                                             op->u->flags & INSN_SIGNED);
            d[lane] = value;
            if (places > 1) continue;
            for (uint32_t i = 0; i < 32; i++) d[i] = op->active >> i & 1 ? value : d[i];
            break;
        }
    }
}

/* The further latency of an access to these addresses, where misses are timed inside the SM. */
static uint32_t further(struct sm *sm, const uint32_t addr[32], uint32_t lanes) {
    struct sm_cache *c = &sm->caches[CACHE_CONST];
    uint32_t misses = 0;
    for (; c->present && lanes; lanes &= lanes - 1) {
        const uint32_t line = smcache_line(c, addr[bits_lowest(lanes)]),
                       found = cache_find(&c->cache, line);
        if (found != CACHE_NONE) {
            cache_touch(&c->cache, found);
            continue;
        }
        cache_put(&c->cache, cache_victim(&c->cache, line), line);
        misses++;
    }
    sm->count.const_misses += misses;
    return misses * sm->m->cfg->const_miss;
}

/* ---- lines that are asked of the second level ------------------------------------------------ */

/* The lanes of an access, of those in a mask, whose line a lane's is. */
static uint32_t of_line(const struct sm_cache *c, const struct access *a, uint32_t lane) {
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < 32; i++)
        if (smcache_line(c, a->addr[i]) == smcache_line(c, a->addr[lane])) lanes |= 1u << i;
    return lanes;
}

bool constants_go_on(struct sm *sm, struct access *a, uint64_t t) {
    const struct config *cfg = sm->m->cfg;
    struct sm_cache *c = &sm->caches[CACHE_CONST];
    while (a->mask) {
        const uint32_t lane = bits_lowest(a->mask), line = smcache_line(c, a->addr[lane]),
                       index = cache_find(&c->cache, line);
        if (index == CACHE_NONE) {
            struct access *first = NULL;
            for (uint32_t i = 0; i < sm->asking.count && !first; i++) {
                struct access *other = sm->asking.access[i];
                if (smcache_line(c, other->addr[bits_lowest(other->mask)]) == line) first = other;
            }
            if (first) {
                a->joined = first->joined;
                first->joined = (uint16_t)(a - sm->accesses + 1);
                return false;
            }
            if (sm->asking.free < t) sm->asking.free = t;
            if (sm->asking.count < MOST_ASKING) sm->asking.access[sm->asking.count++] = a;
            ask_put(sm, (struct ask){.cycle = sm->asking.free,
                                     .access = a,
                                     .addr = line << c->cache.line_shift});
            sm->asking.free += cfg->const_line_clk;
            sm->count.const_misses++;
            return false;
        }
        cache_touch(&c->cache, index);
        a->mask &= ~of_line(c, a, lane);
    }
    return true;
}

void constants_come(struct sm *sm, struct access *a, uint64_t t) {
    struct sm_cache *c = &sm->caches[CACHE_CONST];
    const uint32_t line = smcache_line(c, a->addr[bits_lowest(a->mask)]);
    for (uint32_t i = 0; i < sm->asking.count; i++)
        if (sm->asking.access[i] == a) {
            sm->asking.access[i] = sm->asking.access[--sm->asking.count];
            break;
        }
    if (cache_find(&c->cache, line) == CACHE_NONE)
        cache_put(&c->cache, cache_victim(&c->cache, line), line);
    while (a) {
        struct access *next = a->joined ? &sm->accesses[a->joined - 1] : NULL;
        a->joined = 0;
        a->mask &= ~of_line(c, a, bits_lowest(a->mask));
        if (constants_go_on(sm, a, t)) global_segment_done(sm, a, t);
        a = next;
    }
}

/* Is the line of the lane's address there? It counts as used then. */
static bool is_there(struct sm *sm, uint32_t addr) {
    struct sm_cache *c = &sm->caches[CACHE_CONST];
    const uint32_t index = cache_find(&c->cache, smcache_line(c, addr));
    if (index == CACHE_NONE) return false;
    cache_touch(&c->cache, index);
    return true;
}

/* ---- issue ----------------------------------------------------------------------------------- */

bool constants_issue(struct memop *op) {
    const struct config *cfg = op->sm->m->cfg;
    uint32_t busy = cfg->issue_const, late = cfg->lat_const;
    if (op->active) {
        const uint32_t bytes = op->sm->m->program->constant_bytes;
        if (!lsu_addresses(op, 0, bytes, CONST_BASE, ERROR_CONST_BOUNDS)) return false;
        const uint32_t places = distinct_addresses(op),
                       ways = (places - 1) * cfg->const_clk_per_way,
                       one = op->active & (0 - op->active);
        busy += ways;
        late += cfg->const_late_per_way ? (places - 1) * cfg->const_late_per_way : ways;
        /* Do its lines come from the level behind the cache, and are not timed here? */
        const bool behind = ask_constants(cfg)
                                ? places > 1 || !is_there(op->sm, op->addr[bits_lowest(one)])
                                : cfg->icache2_bytes && cfg->const_bytes && !cfg->const_miss;
        if (behind && !global_const(op, busy, late)) return false;
        load_constants(op, places);
        op->sm->count.const_accesses++;
        op->sm->count.const_passes += places;
        if (behind) return true;
        if (!ask_constants(cfg)) late += further(op->sm, op->addr, places == 1 ? one : op->active);
        if (op->sm->records) record_access(op, CONST_BASE);
    }
    lsu_charge(op, busy, busy);
    lsu_set_ready(op, op->t + late, WAIT_SHARED);
    memop_next(op);
    return true;
}

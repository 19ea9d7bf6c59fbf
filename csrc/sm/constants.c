#include "sm/constants.h"

#include "base/bits.h"
#include "base/hints.h"
#include "kernel/lanes.h"
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
    const struct config *cfg = sm->m->cfg;
    struct sm_cache *c = &sm->caches[CACHE_CONST];
    uint32_t misses = 0;
    uint64_t late = 0, asked = 0; /* until its own misses are there, and those of others */
    for (; c->present && lanes; lanes &= lanes - 1) {
        const uint32_t line = smcache_line(c, addr[bits_lowest(lanes)]),
                       found = cache_find(&c->cache, line);
        const uint32_t index = found != CACHE_NONE ? found : cache_victim(&c->cache, line);
        uint64_t *at = sm->constant_at ? &sm->constant_at[index] : NULL;
        if (found != CACHE_NONE) {
            if (at && *at > sm->now + asked) asked = *at - sm->now;
            cache_touch(&c->cache, index);
            continue;
        }
        cache_put(&c->cache, index, line);
        late += misses++ && cfg->const_late_per_line ? cfg->const_late_per_line : cfg->const_miss;
        if (sm->constants_free < sm->now) sm->constants_free = sm->now;
        sm->constants_free += cfg->const_line_clk;
        if (sm->now + late < sm->constants_free) late = sm->constants_free - sm->now;
        if (at) *at = sm->now + late;
    }
    sm->count.const_misses += misses;
    return (uint32_t)(late > asked ? late : asked);
}

bool constants_issue(struct memop *op) {
    const struct machine *m = op->sm->m;
    uint32_t busy = m->cfg->issue_const, late = 0;
    if (op->active) {
        if (!lsu_addresses(op, 0, m->program->constant_bytes, CONST_BASE, ERROR_CONST_BOUNDS))
            return false;
        const uint32_t places = distinct_addresses(op);
        busy += (places - 1) * m->cfg->const_clk_per_way;
        if (m->cfg->icache2_bytes && m->cfg->const_bytes && !m->cfg->const_miss) {
            if (!global_const(op, busy)) return false;
            load_constants(op, places);
            op->sm->count.const_passes += places;
            return true;
        }
        load_constants(op, places);
        const uint32_t per_way = m->cfg->const_late_per_way;
        late = per_way ? (places - 1) * per_way : busy - m->cfg->issue_const;
        late += further(op->sm, op->addr, places == 1 ? op->active & (0 - op->active) : op->active);
        op->sm->count.const_accesses++;
        op->sm->count.const_passes += places;
        if (op->sm->records) record_access(op, 0);
    }
    lsu_charge(op, busy, busy);
    lsu_set_ready(op, op->t + m->cfg->lat_const + late, WAIT_SHARED);
    memop_next(op);
    return true;
}

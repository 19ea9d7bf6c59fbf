/* What a partition does for every request, whether the request goes through an L2 or past it. */
#ifndef SMMUX_SERVING_H
#define SMMUX_SERVING_H

#include <assert.h>

#include "base/hints.h"
#include "memory/partition.h"
#include "memory/tags.h"

/* Does a store, with the stores that have joined it, write every byte of its segment? */
static inline bool request_covers(const struct request *r) {
    return r->whole || access_covers(r->access, r->lanes, r->bytes);
}

/* For how many clocks a request holds the slice's input port: one per flit, or one per write_bytes
 * of data and one for a byte mask if a store does not cover its segment, whichever is more. */
static inline uint32_t input_clocks(const struct partition *p, const struct request *r) {
    uint32_t data = access_carries_data(r->kind) ? (uint32_t)r->bytes >> p->write_shift : 0;
    if (p->store_mask && r->kind == ACCESS_STORE && !request_covers(r)) data++;
    return data > r->flits ? data : r->flits;
}

/* Read or write memory for a request. */
static inline void request_perform(struct request *r) {
    if (r->access->buffer && r->kind <= ACCESS_ATOM) access_perform(r->access, r->lanes);
}

/* Put an access to some bytes, from an address in the partition on, into the channel's queue. */
static ALWAYS_INLINE void dram_access_local(struct partition *p, uint32_t local, uint32_t bytes,
                                            bool write, uint32_t tag, uint64_t tick) {
    const struct addrmap *map = &p->xbar->map;
    const uint32_t row = addrmap_row(map, local);
    const uint32_t first = local >> p->burst_shift, last = (local + bytes - 1) >> p->burst_shift;
    const struct dram_request r = {
        .arrival = clock_convert(&p->to_dram, tick + p->dram_latency),
        .tag = tag,
        .row = row,
        .bank = addrmap_bank(map, local, row),
        .bursts = (uint8_t)(last - first + 1),
        .write = write,
    };
    dram_push(&p->dram, &r);
}

/* The tick at which a slice learns of what the channel has done at a DRAM clock. */
static inline uint64_t completion_tick(const struct partition *p, uint64_t clock) {
    return clock == DRAM_NEVER ? XBAR_NEVER : clock_convert(&p->to_icnt, clock) + p->dram_return;
}

/* Send the answer to a request through the slice's output port. */
static ALWAYS_INLINE void reply(struct partition *p, struct slice *s, uint32_t node,
                                uint64_t tick) {
    struct xbar *x = p->xbar;
    struct request *r = &x->pool[node];
    uint64_t start = tick > s->out_free ? tick : s->out_free;
    if (r->flits) r->flits = (uint16_t)xbar_reply_flits(x, r);
    s->out_free = start + r->flits;
    p->stats.reply_flits += r->flits;
    r->tick = start + x->latency + xbar_detour(x, r->tpc, s->number);
    xbar_return(x, s->number, node);
}

#endif

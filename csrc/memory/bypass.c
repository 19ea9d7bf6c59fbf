/* A faster way to process a window in which all requests bypass the L2, as all but those of
 * textures do on GT200. There DRAM's completions change nothing for the requests behind them. So
 * all requests that leave the ROP before `end` do so first; then the channel is advanced once; then
 * all completions before `end` are answered. From the first atomic on, which writes back what it
 * has read, or the first texture request, which may wait for a line, events must be processed in
 * their order, as partition.c does. */
#include "memory/bypass.h"

#include "memory/serving.h"

bool bypass_is_possible(const struct partition *p) {
    return p->slices == 1 && !p->preloads && !p->write_queue && (!p->cached || p->texture_only);
}

/* Does the request bypass the L2 and need nothing but an answer? */
static inline bool bypasses(const struct partition *p, const struct request *r) {
    return r->kind != ACCESS_ATOM && r->flits && !(p->cached && r->kind == ACCESS_TEXTURE);
}

/* Let requests leave the ROP before `end`, up to the first that does not bypass the L2. */
static void serve(struct partition *p, uint64_t arrivals, uint64_t end) {
    struct slice *s = p->slice;
    struct streams *requests = s->requests;
    struct request *pool = p->xbar->pool;
    for (;; p->events++) {
        uint64_t arrived;
        const uint32_t tpc = streams_first(requests, &arrived);
        s->tpc = TPC_NONE;
        s->due = XBAR_NEVER;
        if (arrived >= arrivals) return;
        const uint32_t node = requests->stream[tpc].head;
        struct request *r = &pool[node];
        const uint64_t start = arrived > s->in_free ? arrived : s->in_free,
                       entered = start + input_clocks(p, r), left = entered + p->rop_latency,
                       tick = left > s->free ? left : s->free;
        if (tick >= end || !bypasses(p, r)) {
            s->tpc = tpc;
            s->due = tick;
            return;
        }
        if (r->next != XBAR_NONE) request_prefetch(pool, r->next);
        dram_access_local(p, r->addr, r->bytes, r->kind == ACCESS_STORE,
                          make_tag(TAG_REQUEST, 0, node), tick);
        streams_set(requests, tpc, pool, r->next);
        s->in_free = entered;
        s->free = tick + 1;
        p->stats.request_flits += r->flits;
        request_perform(r);
    }
}

/* Answer the requests that the channel has completed before `end`, up to a completion of another
 * kind. */
static void answer(struct partition *p, uint64_t end) {
    struct dram *d = &p->dram;
    for (;; p->events++) {
        p->done = completion_tick(p, dram_done(d));
        if (p->done >= end || tag_kind(d->pool[d->done.head].tag) != TAG_REQUEST) return;
        reply(p, p->slice, dram_pop(d), p->done);
    }
}

void bypass_run(struct partition *p, uint64_t arrivals, uint64_t end) {
    if (p->slice->blocked || p->atoms) return;
    serve(p, arrivals, end);
    if (p->slice->due < end) return;
    dram_advance(&p->dram, end == XBAR_NEVER ? DRAM_NEVER
                                             : clock_convert(&p->to_dram, end + p->dram_latency));
    answer(p, end);
}

#include "memory/partition.h"

#include <assert.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/hints.h"
#include "memory/atomics.h"
#include "memory/bypass.h"
#include "memory/halves.h"
#include "memory/serving.h"

enum error partition_init(struct partition *p, struct xbar *x, const struct config *cfg, uint32_t n,
                          uint32_t preloads, uint8_t *lines) {
    *p = (struct partition){
        .xbar = x,
        .to_dram = clock_ratio(cfg->icnt_khz, cfg->dram_khz),
        .to_icnt = clock_ratio(cfg->dram_khz, cfg->icnt_khz),
        .slices = cfg->l2_slices,
        .rop_latency = cfg->rop_latency,
        .dram_latency = cfg->dram_latency,
        .dram_return = cfg->dram_return,
        .atom_interval = cfg->atom_interval,
        .atom_float = cfg->atom_float,
        .atom_unit = cfg->atom_unit,
        .atom_whole = cfg->atom_whole,
        .atom_sector = cfg->atom_sector,
        .store_mask = cfg->store_mask,
        .write_queue = cfg->l2_write_queue,
        .burst_shift = bits_lowest(cfg->dram_burst_bytes),
        .write_shift = bits_lowest(cfg->write_bytes),
        .cached = cfg->l2_bytes != 0,
        .texture_only = cfg->l2_texture_only != 0,
        .sides = cfg->l2_sides,
        .crossing = 2 * cfg->side_latency,
        .preloads = preloads != 0,
        .preload_lookup = cfg->preload_lookup && cfg->l2_bytes && !cfg->l2_texture_only,
    };
    p->done = p->hop_due = XBAR_NEVER;
    p->bypass = bypass_is_possible(p);
    /* Rounded down: first data, and from there through the L2 back to the queue. */
    p->turnaround = (cfg->t_cl < cfg->t_wl ? cfg->t_cl : cfg->t_wl) + cfg->dram_burst_clk +
                    (uint32_t)((uint64_t)(cfg->dram_return + cfg->dram_latency) * cfg->dram_khz /
                               cfg->icnt_khz);
    for (uint32_t s = 0; s < p->slices; s++) {
        struct slice *slice = &p->slice[s];
        slice->number = n * p->slices + s;
        slice->requests = &x->slice[slice->number].requests;
        slice->ahead = &x->slice[slice->number].ahead;
        slice->tpc = TPC_NONE;
        enum error e = p->cached ? l2_init(&slice->l2, cfg, lines + s * l2_bytes(cfg)) : OK;
        if (e) return e;
    }
    if (p->sides > 1 && !halves_init(p, cfg)) return ERROR_NO_MEMORY;
    /* How many accesses the channel's queue must hold: requests that bypass the L2 and the writes
     * of atomics, or the fills and write-backs that an L2 has pending. */
    const uint32_t bypassing = p->cached && !p->texture_only ? 0 : cfg->credits + port_extra(cfg);
    uint32_t capacity = 2 * cfg->sm_count * (bypassing + preloads) +
                        cfg->l2_slices * (8 * cfg->l2_mshrs + cfg->l2_writebacks);
    uint32_t phase = (uint32_t)((uint64_t)cfg->t_refi * n / cfg->partitions);
    return dram_init(&p->dram, cfg, capacity, phase);
}

void partition_free(struct partition *p) {
    for (uint32_t s = 0; s < p->slices; s++) {
        l2_free(&p->slice[s].l2);
        free(p->slice[s].echo);
    }
    free(p->hops);
    dram_free(&p->dram);
}

/* ---- whose turn it is --------------------------------------------------------------------- */

/* Let the L2 of a slice write data for so many clocks, behind the data that it is writing already.
 */
static void write_data(struct slice *s, uint64_t tick, uint32_t clocks) {
    s->written = (tick > s->written ? tick : s->written) + clocks;
}

/* Make the slice's first preload its next request, if it can leave the ROP no later than the
 * request that is next. */
NOINLINE static void look_ahead(const struct partition *p, struct slice *s) {
    if (s->ahead->head == XBAR_NONE) return;
    const uint64_t due = p->xbar->pool[s->ahead->head].tick + 1 + p->rop_latency;
    if ((due > s->free ? due : s->free) > s->due) return;
    s->tpc = TPC_AHEAD;
    s->due = due > s->free ? due : s->free;
}

/* Find the slice's next request, and the tick at which it leaves the ROP. To be called whenever the
 * requests, or the ticks at which port and pipeline are free, have changed. */
static void slice_look(const struct partition *p, struct slice *s, uint64_t arrivals) {
    const struct xbar *x = p->xbar;
    uint64_t arrived;
    const uint32_t tpc = streams_first(s->requests, &arrived);
    s->tpc = TPC_NONE;
    s->due = XBAR_NEVER;
    if (arrived < arrivals) {
        s->tpc = tpc;
        const struct request *r = &x->pool[s->requests->stream[tpc].head];
        uint64_t start = arrived > s->in_free ? arrived : s->in_free;
        s->due = start + input_clocks(p, r) + p->rop_latency;
        if (s->due < s->free) s->due = s->free;
        if (access_carries_data(r->kind) && s->due + p->write_queue < s->written)
            s->due = s->written - p->write_queue;
    }
    if (p->preloads) look_ahead(p, s);
}

/* ---- to and from DRAM -------------------------------------------------------------------- */

/* The address within the partition that an address of a slice stands for. */
static uint32_t local_of(const struct partition *p, uint32_t slice, uint32_t addr) {
    return p->sides > 1 ? addr : addrmap_local(&p->xbar->map, addr, slice);
}

/* Put an access to some bytes, given by their address in the slice, into the channel's queue. */
static void dram_access(struct partition *p, uint32_t slice, uint32_t addr, uint32_t bytes,
                        bool write, uint32_t tag, uint64_t tick) {
    dram_access_local(p, local_of(p, slice, addr), bytes, write, tag, tick);
}

/* Write the dirty sectors that a slice replaces to DRAM, or read first what they lack. */
static void write_back(struct partition *p, uint32_t n, const struct l2_work *work, uint64_t tick) {
    for (uint32_t i = 0; i < work->writes; i++) {
        const struct l2_write *w = &work->write[i];
        const bool lacks = w->lacks.bytes;
        const struct l2_span *span = lacks ? &w->lacks : &w->span;
        dram_access(p, n, span->addr, span->bytes, !lacks,
                    make_tag(TAG_WRITEBACK, n, lacks ? w->held + 1 : 0), tick);
    }
}

/* The tag of the fill that brings a slice the sectors which it fetches. */
static uint32_t make_fill(uint32_t n, const struct l2_work *work) {
    return make_tag(TAG_FILL, n, work->fetch_mshr << FILL_SHIFT | work->fetch_sectors);
}

/* Read the sectors from DRAM that a slice fetches. */
static void read_dram(struct partition *p, uint32_t n, const struct l2_work *work, uint32_t fill,
                      uint64_t tick) {
    dram_access(p, n, work->fetch.addr, work->fetch.bytes, false, fill, tick);
}

/* Fetch the sectors that a slice lacks: from DRAM, or through their home slice if that is the other
 * one, which keeps them as well. If the home slice has no room, DRAM's answer passes it by. */
static void fetch(struct partition *p, uint32_t n, const struct l2_work *work, uint64_t tick) {
    uint32_t fill = make_fill(n, work);
    if (p->sides > 1 && halves_home(p, work->fetch.addr) != n) {
        const uint32_t home = n ^ 1;
        struct l2_work beyond;
        const enum l2_answer answer = halves_ask(p, home, work, fill, &beyond, tick);
        if (answer == L2_MISS) {
            write_back(p, home, &beyond, tick);
            if (beyond.fetch.bytes) read_dram(p, home, &beyond, make_fill(home, &beyond), tick);
        }
        if (answer != L2_BLOCKED) return;
        fill |= FILL_ACROSS;
    }
    read_dram(p, n, work, fill, tick);
}

/* An access to DRAM is complete: answer the requests that waited for it, and let a blocked slice
 * try its next request again. */
static ALWAYS_INLINE void complete(struct partition *p, uint32_t tag, uint64_t tick,
                                   uint64_t arrivals) {
    struct request *pool = p->xbar->pool;
    const uint32_t n = tag_slice(tag), payload = tag & TAG_PAYLOAD;
    struct slice *s = &p->slice[n];
    switch (tag_kind(tag)) {
    case TAG_REQUEST: {
        struct request *r = &pool[payload];
        if (r->kind == ACCESS_ATOM) {
            dram_access(p, n, r->addr, r->bytes, true, make_tag(TAG_ATOM_WRITE, n, 0), tick);
            p->atoms--;
        }
        reply(p, s, payload, tick);
        return;
    }
    case TAG_FILL: {
        const uint32_t miss = payload >> FILL_SHIFT;
        uint32_t node = l2_fill(&s->l2, pool, miss, payload & FILL_SECTORS);
        if (s->echo) halves_echo(p, s, miss, tick);
        while (node != XBAR_NONE) {
            uint32_t next = pool[node].next;
            reply(p, s, node, tick);
            node = next;
        }
        break;
    }
    case TAG_WRITEBACK: {
        if (!payload) {
            s->l2.writebacks++;
            break;
        }
        const struct l2_span span = l2_complete(&s->l2, payload - 1);
        dram_access(p, n, span.addr, span.bytes, true, make_tag(TAG_WRITEBACK, n, 0), tick);
        return;
    }
    case TAG_ATOM_WRITE: return;
    }
    if (s->blocked) {
        s->blocked = false;
        s->free = s->free > tick ? s->free : tick;
        s->due = s->due > tick ? s->due : tick;
        if (p->preloads) slice_look(p, s, arrivals);
    }
}

/* ---- requests ---------------------------------------------------------------------------- */

/* For how many clocks a request holds the slice's pipeline. */
static uint32_t occupancy(const struct partition *p, struct slice *s, const struct request *r) {
    const uint32_t shift = p->xbar->flit_shift, flits = (r->bytes + (1u << shift) - 1) >> shift;
    const uint32_t data = p->cached && !p->texture_only ? flits : 1;
    if (r->kind != ACCESS_ATOM || !p->atom_unit) return data;
    const uint32_t clocks = atomics_clocks(p, s, r);
    return clocks > data ? clocks : data;
}

/* Look a request up in the slice's L2, and start the accesses to DRAM that follow. */
static enum l2_answer serve_cached(struct partition *p, uint32_t n, uint32_t node, uint64_t tick) {
    struct slice *s = &p->slice[n];
    struct request *pool = p->xbar->pool;
    struct l2_work work;
    struct l2_place place = {0, 0};
    bool full = false;
    if (pool[node].kind ==
        ACCESS_STORE) { /* the cleaner hears of lines that stores make dirty, not atomics */
        const struct addrmap *map = &p->xbar->map;
        const uint32_t local = local_of(p, n, pool[node].addr);
        place.row = addrmap_row(map, local);
        place.bank = addrmap_bank(map, local, place.row);
        full = request_covers(&pool[node]);
    }
    enum l2_answer answer = l2_access(&s->l2, pool, node, place, full, &work);
    if (answer == L2_BLOCKED) return answer;
    write_back(p, n, &work, tick);
    if (work.fetch.bytes) fetch(p, n, &work, tick);
    if (p->sides > 1) halves_tell(p, n, &pool[node]);
    return answer;
}

/* Serve the slice's first preload, which leaves the ROP: to DRAM or, under preload_lookup, to the
 * L2. */
NOINLINE static void serve_ahead(struct partition *p, uint32_t n, uint64_t arrivals) {
    struct slice *s = &p->slice[n];
    const uint64_t tick = s->due;
    const uint32_t node = s->ahead->head;
    const struct request *r = &p->xbar->pool[node];
    const uint32_t next = r->next; /* read first: a request that waits in the L2 has another link */
    enum l2_answer answer = L2_MISS;
    if (p->preload_lookup) answer = serve_cached(p, n, node, tick);
    else dram_access(p, n, r->addr, r->bytes, false, make_tag(TAG_REQUEST, n, node), tick);
    if (answer == L2_BLOCKED) {
        s->blocked = true;
        return;
    }
    s->ahead->head = next;
    s->free = tick + (p->preload_lookup ? occupancy(p, s, r) : 1);
    p->stats.preloads++;
    if (answer == L2_HIT) reply(p, s, node, tick);
    slice_look(p, s, arrivals);
}

/* Serve the slice's next request, which leaves the ROP: to the L2, or to DRAM. */
static ALWAYS_INLINE void serve(struct partition *p, uint32_t n, uint64_t arrivals,
                                const bool halves) {
    struct slice *s = &p->slice[n];
    const struct xbar *x = p->xbar;
    assert(s->tpc != TPC_NONE && !s->blocked);
    if (s->tpc == TPC_AHEAD) {
        serve_ahead(p, n, arrivals);
        return;
    }
    uint64_t tick = s->due;
    uint32_t node = s->requests->stream[s->tpc].head;
    struct request *r = &x->pool[node];
    const bool atomic = r->kind == ACCESS_ATOM;
    if (atomic && atomics_unlocked(s, r) > tick) {
        s->due = s->free = atomics_unlocked(s, r);
        if (p->preloads) slice_look(p, s, arrivals);
        return;
    }
    uint64_t arrived = streams_tick(s->requests, s->tpc);
    uint32_t next = r->next; /* as in serve_ahead */
    if (next != XBAR_NONE) request_prefetch(x->pool, next);
    if (halves && next != XBAR_NONE) /* so large an L2 does not fit into the host's caches */
        cache_prefetch(&s->l2.cache, x->pool[next].addr >> s->l2.cache.line_shift);
    enum l2_answer answer = L2_MISS;
    if (!r->flits) answer = l2_ride(&s->l2, r);
    else if (p->cached && (!p->texture_only || r->kind == ACCESS_TEXTURE))
        answer = serve_cached(p, n, node, tick);
    else {
        dram_access(p, n, r->addr, r->bytes, r->kind == ACCESS_STORE,
                    make_tag(TAG_REQUEST, n, node), tick);
        p->atoms += atomic;
    }
    if (answer == L2_BLOCKED) {
        s->blocked = true;
        return;
    }
    streams_set(s->requests, s->tpc, x->pool, next);
    if (halves) halves_served(&s->requests->stream[s->tpc], r);
    s->in_free = (arrived > s->in_free ? arrived : s->in_free) + input_clocks(p, r);
    if (p->write_queue && access_carries_data(r->kind)) write_data(s, tick, input_clocks(p, r));
    p->stats.request_flits += r->flits;
    s->free = tick + occupancy(p, s, r);
    const uint64_t done = atomic ? atomics_lock(p, s, r, tick) : tick;
    if (halves) halves_perform_older(p, n, r);
    if (!halves || !r->performed) request_perform(r);
    if (answer == L2_HIT) reply(p, s, node, done);
    slice_look(p, s, arrivals);
}

/* Update the tick of the next completion from what the channel has done so far. */
static void look_done(struct partition *p) { p->done = completion_tick(p, dram_done(&p->dram)); }

/* Advance the channel until every completion up to `tick` is known, where `tick` is the next event
 * that is known otherwise. A new request reaches the channel no sooner than the DRAM latency after
 * an event, so that the channel may run ahead by that much. The events that are not known yet are
 * its own completions, which come no earlier than `turnaround` after its next command. */
static ALWAYS_INLINE void advance_dram(struct partition *p, uint64_t tick) {
    struct dram *d = &p->dram;
    for (;;) {
        if (p->done < tick) tick = p->done;
        if (d->wake == DRAM_NEVER) return;
        uint64_t limit = DRAM_NEVER;
        if (tick != XBAR_NEVER) {
            if (!clock_is_after(&p->to_dram, tick, d->wake)) return;
            limit = clock_convert(&p->to_dram, tick + p->dram_latency);
        }
        if (p->done == XBAR_NEVER && limit > d->wake + p->turnaround)
            limit = d->wake + p->turnaround;
        dram_advance(d, limit);
        if (p->done == XBAR_NEVER) look_done(p);
    }
}

/* Check the invariants of a partition between two events. */
static void check(const struct partition *p) {
    dram_check(&p->dram);
    for (uint32_t n = 0; n < p->slices; n++) {
        const struct slice *s = &p->slice[n];
        streams_check(s->requests, p->xbar->pool, p->xbar->tpcs);
        assert(s->tpc == TPC_NONE || s->tpc == TPC_AHEAD ||
               s->requests->stream[s->tpc].head != XBAR_NONE);
        assert(s->tpc != TPC_AHEAD || s->ahead->head != XBAR_NONE);
        if (p->cached) l2_check(&s->l2);
    }
}

/* Let data that DRAM sends to an L2 take the port through which the L2 writes data of stores, too.
 */
NOINLINE static void take_in(struct partition *p, uint32_t tag, bool across, uint64_t tick,
                             uint64_t arrivals) {
    const uint32_t n = tag_slice(tag), sectors = tag & FILL_SECTORS;
    struct slice *s = &p->slice[across ? n ^ 1 : n];
    if (tag_kind(tag) != TAG_FILL) return;
    write_data(s, tick, bits_count(sectors) << s->l2.cache.sector_shift >> p->write_shift);
    if (s->due + p->write_queue < s->written) slice_look(p, s, arrivals);
}

/* The slice whose next request leaves the ROP first, and the tick at which it does; XBAR_NEVER: no
 * slice has a request, or all that have one are blocked. */
static ALWAYS_INLINE uint32_t first_slice(const struct partition *p, uint64_t *due) {
    uint32_t first = 0;
    *due = XBAR_NEVER;
    for (uint32_t n = 0; n < p->slices; n++)
        if (!p->slice[n].blocked && p->slice[n].due < *due) {
            *due = p->slice[n].due;
            first = n;
        }
    return first;
}

/* Process all events before `end` in their order; of one tick DRAM's completions come first, then
 * messages from the other half, then requests. */
static ALWAYS_INLINE void run(struct partition *p, uint64_t arrivals, uint64_t end,
                              const bool halves) {
    for (uint32_t n = 0; n < p->slices; n++) xbar_collect(p->xbar, p->slice[n].number);
    for (uint32_t n = 0; n < p->slices; n++)
        if (p->slice[n].tpc == TPC_NONE || p->preloads) slice_look(p, &p->slice[n], arrivals);
    p->events = 0;
    if (!halves && p->bypass) bypass_run(p, arrivals, end);
    for (;; p->events++) {
        uint64_t leaves;
        const uint32_t n = first_slice(p, &leaves);
        const uint64_t hops = halves ? p->hop_due : XBAR_NEVER;
        const uint64_t known = hops < leaves ? hops : leaves;
        const uint64_t next = known < p->done ? known : p->done;
        advance_dram(p, next < end ? next : end);
        uint64_t tick;
        uint32_t tag;
        if (p->done <= known && p->done < end) {
            tick = p->done;
            tag = dram_pop(&p->dram);
            look_done(p);
            const bool across = halves && tag_is_across(tag);
            if (p->write_queue) take_in(p, tag, across, tick, arrivals);
            if (across) {
                halves_hop(p, tag & ~FILL_ACROSS, tick);
                continue;
            }
        } else if (halves && hops <= leaves && hops < end) {
            tick = hops;
            tag = halves_arrive(p);
        } else if (leaves < end) {
            serve(p, n, arrivals, halves);
            continue;
        } else {
            break;
        }
        complete(p, tag, tick, arrivals);
    }
    check(p);
}

/* Compiled twice, since all but the newest chips have no halves. */
void partition_run(struct partition *p, uint64_t arrivals, uint64_t end) {
    if (p->sides > 1) run(p, arrivals, end, true);
    else run(p, arrivals, end, false);
}

void partition_drained(const struct partition *p) {
    assert(p->done == XBAR_NEVER && p->dram.fifo.head == DRAM_NONE && p->hop_due == XBAR_NEVER);
    for (uint32_t n = 0; p->cached && n < p->slices; n++) cache_check(&p->slice[n].l2.cache);
}

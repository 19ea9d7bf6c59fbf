#include "memory/memdetail.h"

#include <assert.h>
#include <stdlib.h>

#include "base/lines.h"
#include "memory/partition.h"

_Static_assert(PARTITION_MAX_SLICES == MOST_l2_slices && MISS_NONE > MOST_l2_mshrs &&
                   DRAM_MAX_BANKS == MOST_dram_banks && DRAM_MAX_GROUPS == MOST_dram_groups,
               "arrays of a partition hold what config.def allows");
_Static_assert(1 << XBAR_INDEX_BITS >= MOST_sm_count &&
                   1 << XBAR_INDEX_BITS >= MOST_partitions * MOST_l2_slices,
               "a key has room for the index of every TPC and slice");

/* The memory side of the chip. */
struct memdetail {
    struct memsys memsys;
    struct xbar xbar;
    uint8_t *lines; /* of all L2 slices */
    uint32_t count, rop_latency;
    uint64_t target;   /* the partitions have been, or in this pass are, simulated to this cycle */
    uint64_t complete; /* target of the last pass */
    struct partition partition[];
};

static uint32_t most(uint32_t a, uint32_t b) { return a > b ? a : b; }

static struct memdetail *own(struct memsys *m) { return (struct memdetail *)m; }
static const struct memdetail *own_const(const struct memsys *m) {
    return (const struct memdetail *)m;
}

static void destroy(struct memsys *memsys) {
    struct memdetail *m = own(memsys);
    for (uint32_t p = 0; p < m->count; p++) partition_free(&m->partition[p]);
    xbar_free(&m->xbar);
    lines_free(m->lines);
    lines_free(m);
}

/* The first tick at which a packet that is sent at cycle t or later can reach a slice: its head
 * crosses in the crossbar's latency. */
static uint64_t arrivals(const struct memdetail *m, uint64_t t) {
    return clock_convert(&m->xbar.to_icnt, t) + m->xbar.latency;
}

/* The first tick at which such a packet can leave the ROP, one flit and the ROP's latency later:
 * partitions that know all packets before t may be simulated to here. */
static uint64_t horizon(const struct memdetail *m, uint64_t t) {
    return arrivals(m, t) + 1 + m->rop_latency;
}

/* There and back each take the crossbar's latency, and a request a flit. A reply may take none, if
 * its store has joined another one. */
static uint32_t min_reply(const struct memsys *memsys) {
    const struct memdetail *m = own_const(memsys);
    const uint64_t ticks = 2ull * m->xbar.latency + m->rop_latency + 1;
    return (uint32_t)clock_convert(&m->xbar.to_shader, ticks) + m->xbar.pipeline;
}

static uint32_t begin(struct memsys *memsys, uint64_t t, bool tpcs) {
    struct memdetail *m = own(memsys);
    const bool partitions = t > m->target;
    assert(t >= m->target);
    m->complete = m->target;
    m->target = t;
    xbar_begin(&m->xbar, partitions, tpcs);
    return partitions ? m->count : 0;
}

static void partition(struct memsys *memsys, uint32_t number) {
    struct memdetail *m = own(memsys);
    partition_run(&m->partition[number], arrivals(m, m->target), horizon(m, m->target));
}

static void receive(struct memsys *memsys, uint32_t tpc, struct port *ports) {
    struct memdetail *m = own(memsys);
    xbar_receive(&m->xbar, tpc, ports, horizon(m, m->complete) + m->xbar.latency);
}

static void send(struct memsys *m, uint32_t tpc, struct port *ports, uint64_t t1) {
    xbar_send(&own(m)->xbar, tpc, ports, t1);
}

static void preload(struct memsys *m, struct port *ports) { xbar_preload(&own(m)->xbar, ports); }

/* ---- between passes ----------------------------------------------------------------------- */

static bool is_camped(const struct memsys *memsys, uint32_t threads) {
    const struct memdetail *m = own_const(memsys);
    uint64_t all = 0;
    uint32_t longest = 0;
    for (uint32_t p = 0; p < m->count; p++) {
        all += m->partition[p].events;
        longest = most(longest, m->partition[p].events);
    }
    return (uint64_t)longest * threads > all;
}

static bool lags(const struct memsys *m, uint64_t t) { return own_const(m)->target < t; }

static void run_partition(void *context, uint32_t item) { partition(context, item); }

static void catch_up(struct memsys *m, struct port *ports, uint64_t t, struct pool *pool) {
    (void)ports;
    pool_run(pool, run_partition, m, begin(m, t, false));
}

static uint64_t known(const struct memsys *memsys, uint64_t t) {
    const struct memdetail *m = own_const(memsys);
    (void)t;
    const struct xbar *x = &m->xbar;
    uint64_t from = UINT64_MAX;
    for (uint32_t tpc = 0; tpc < x->tpcs; tpc++) {
        /* What the port still holds leaves it later, even if it has been waiting for room. */
        const uint64_t held = x->tpc[tpc].held > m->target ? x->tpc[tpc].held : m->target;
        const uint64_t sent = x->tpc[tpc].in_flight ? m->target : held;
        if (sent < from) from = sent;
    }
    return from == UINT64_MAX ? from : from + min_reply(memsys);
}

static uint64_t next_reply(const struct memsys *memsys) {
    const struct memdetail *m = own_const(memsys);
    const uint64_t certain = known(memsys, m->target), tick = xbar_earliest(&m->xbar);
    if (tick == XBAR_NEVER) return certain;
    const uint64_t cycle = clock_convert(&m->xbar.to_shader, tick) + m->xbar.pipeline;
    return cycle < certain ? cycle : certain;
}

static enum error trace(struct memsys *memsys) {
    struct memdetail *m = own(memsys);
    enum error e = OK;
    for (uint32_t p = 0; p < m->count && !e; p++) e = dram_trace(&m->partition[p].dram);
    return e;
}

static const struct dram *dram(const struct memsys *m, uint32_t number) {
    return &own_const(m)->partition[number].dram;
}

/* Finish the writes that are on their way to DRAM. */
static void drain(struct memdetail *m) {
    xbar_begin(&m->xbar, true, false);
    for (uint32_t p = 0; p < m->count; p++) {
        partition_run(&m->partition[p], XBAR_NEVER, XBAR_NEVER);
        partition_drained(&m->partition[p]);
    }
}

static void finish(struct memsys *memsys, struct counters *into) {
    struct memdetail *m = own(memsys);
    drain(m);
    for (uint32_t t = 0; t < m->xbar.tpcs; t++) into->port_blocked += m->xbar.tpc[t].blocked;
    for (uint32_t i = 0; i < m->count; i++) {
        const struct partition *p = &m->partition[i];
        const struct dram_stats *d = &p->dram.stats;
        into->dram_reads += d->reads;
        into->dram_writes += d->writes;
        into->dram_activates += d->activates;
        into->dram_precharges += d->precharges;
        into->dram_refreshes += d->refreshes;
        into->dram_row_hits += d->hits;
        into->dram_row_misses += d->misses;
        into->dram_row_conflicts += d->conflicts;
        into->dram_busy += d->busy;
        into->atomic_packets += p->stats.atomics;
        into->preload_packets += p->stats.preloads;
        into->request_flits += p->stats.request_flits;
        into->reply_flits += p->stats.reply_flits;
        for (uint32_t s = 0; s < p->slices; s++) {
            const struct l2_stats *l = &p->slice[s].l2.stats;
            into->l2_accesses += l->accesses;
            into->l2_hits += l->hits;
            into->l2_merges += l->merges;
            into->l2_misses += l->misses;
            into->l2_writebacks += l->writebacks;
        }
    }
}

/* ---- the model ---------------------------------------------------------------------------- */

static const struct memory_model detailed = {
    .destroy = destroy,
    .min_reply = min_reply,
    .trace = trace,
    .dram = dram,
    .begin = begin,
    .partition = partition,
    .receive = receive,
    .send = send,
    .preload = preload,
    .is_camped = is_camped,
    .lags = lags,
    .catch_up = catch_up,
    .known = known,
    .next_reply = next_reply,
    .finish = finish,
};

enum error memdetail_create(struct memsys **out, const struct config *cfg, uint32_t preloads) {
    *out = NULL;
    struct memdetail *m = lines_alloc(sizeof *m + cfg->partitions * sizeof m->partition[0]);
    if (!m) return ERROR_NO_MEMORY;
    m->memsys.model = &detailed;
    m->rop_latency = cfg->rop_latency;
    const size_t each = cfg->l2_slices * l2_bytes(cfg);
    m->lines = lines_alloc_whole(cfg->partitions * each);
    enum error e = m->lines ? xbar_init(&m->xbar, cfg, preloads) : ERROR_NO_MEMORY;
    while (!e && m->count < cfg->partitions) {
        e = partition_init(&m->partition[m->count], &m->xbar, cfg, m->count, preloads,
                           m->lines + m->count * each);
        m->count++;
    }
    if (e) {
        destroy(&m->memsys);
        return e;
    }
    *out = &m->memsys;
    return OK;
}

void memdetail_advance(struct memsys *m, struct port *ports, uint64_t t1) {
    for (uint32_t tpc = 0; tpc < own(m)->xbar.tpcs; tpc++) send(m, tpc, ports, t1);
    const uint32_t partitions = begin(m, t1, false);
    for (uint32_t p = 0; p < partitions; p++) partition(m, p);
    begin(m, t1, true);
    for (uint32_t tpc = 0; tpc < own(m)->xbar.tpcs; tpc++) receive(m, tpc, ports);
}

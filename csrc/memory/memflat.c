#include "memory/memflat.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

struct memflat {
    struct memsys memsys;
    const struct config *cfg;
    uint32_t ports;
    uint64_t free_ticks; /* when the server is free, in 1/flat_bytes_per_kclk of a clk */
    uint64_t reached;    /* packets before this cycle have been served */
    uint64_t preloads;   /* served */
    uint64_t next_reply; /* least cycle of a reply not served before the last advance */
};

static struct memflat *own(struct memsys *m) { return (struct memflat *)m; }
static const struct memflat *own_const(const struct memsys *m) { return (const struct memflat *)m; }

static void destroy(struct memsys *m) { free(m); }

static uint32_t min_reply(const struct memsys *m) { return own_const(m)->cfg->flat_latency; }

static enum error trace(struct memsys *m) {
    (void)m;
    return OK;
}

static const struct dram *dram(const struct memsys *m, uint32_t partition) {
    (void)m, (void)partition;
    return NULL;
}

/* ---- passes: nothing but SMs takes part, whose packets stay in the ports ------------------ */

static uint32_t begin(struct memsys *m, uint64_t t, bool tpcs) {
    (void)m, (void)t, (void)tpcs;
    return 0;
}

static void partition(struct memsys *m, uint32_t number) { (void)m, (void)number; }

static void receive(struct memsys *m, uint32_t tpc, struct port *ports) {
    (void)m, (void)tpc, (void)ports;
}

static void send(struct memsys *m, uint32_t tpc, struct port *ports, uint64_t t1) {
    (void)m, (void)tpc, (void)ports, (void)t1;
}

/* Put the preloads of an SM among its packets, in front of those of their cycle: behind one server
 * there are no other ways. */
static void queue_ahead(struct port *p) {
    for (; p->ahead_first < p->ahead_count; p->ahead_first++) {
        const struct packet ahead = p->ahead[p->ahead_first];
        uint32_t i = p->out_count++;
        assert(i < p->out_capacity);
        for (; i > p->out_first && p->out[i - 1].cycle >= ahead.cycle &&
               p->out[i - 1].access->kind != ACCESS_PRELOAD;
             i--)
            p->out[i] = p->out[i - 1];
        p->out[i] = ahead;
    }
    p->ahead_first = p->ahead_count = 0;
}

static void preload(struct memsys *m, struct port *ports) {
    for (struct port *p = ports; p < ports + own(m)->ports; p++) queue_ahead(p);
}

/* ---- between passes ----------------------------------------------------------------------- */

static bool is_camped(const struct memsys *m, uint32_t threads) {
    (void)m, (void)threads;
    return false;
}

static bool lags(const struct memsys *m, uint64_t t) { return own_const(m)->reached < t; }

/* Earliest packet sent before t1; ports are in order of SM number, which breaks ties. */
static struct packet *earliest(struct memflat *m, struct port *ports, uint64_t t1) {
    struct port *from = NULL;
    uint64_t first = t1;
    for (struct port *p = ports; p < ports + m->ports; p++)
        if (p->out_first < p->out_count && p->out[p->out_first].cycle < first)
            first = p->out[p->out_first].cycle, from = p;
    return from ? &from->out[from->out_first++] : NULL;
}

static void next_reply_at(struct memflat *m, uint64_t cycle) {
    if (cycle < m->next_reply) m->next_reply = cycle;
}

static void serve(struct memflat *m, struct port *ports, const struct packet *p) {
    const uint64_t rate = m->cfg->flat_bytes_per_kclk;
    const uint64_t arrival = p->cycle * rate;
    const uint64_t start = arrival > m->free_ticks ? arrival : m->free_ticks;
    m->free_ticks = start + (p->rides ? 0 : p->bytes * 1000ull);
    if (p->access->kind <= ACCESS_ATOM) access_perform(p->access, p->lanes);
    const uint64_t reply = (start + rate - 1) / rate + m->cfg->flat_latency;
    struct port *port = &ports[p->sm];
    assert(port->in_count < port->in_capacity);
    port->in[port->in_count++] = (struct reply){reply, p->access};
    m->preloads += p->access->kind == ACCESS_PRELOAD;
    next_reply_at(m, reply);
}

static void catch_up(struct memsys *memsys, struct port *ports, uint64_t t, struct pool *pool) {
    struct memflat *m = own(memsys);
    const struct packet *p;
    (void)pool;
    m->reached = t;
    m->next_reply = UINT64_MAX;
    while ((p = earliest(m, ports, t))) serve(m, ports, p);
    for (uint32_t i = 0; i < m->ports; i++) {
        port_trim(&ports[i]);
        if (ports[i].out_count)
            next_reply_at(m, ports[i].out[ports[i].out_first].cycle + m->cfg->flat_latency);
    }
}

static uint64_t next_reply(const struct memsys *m) { return own_const(m)->next_reply; }

static uint64_t known(const struct memsys *m, uint64_t t) {
    if (lags(m, t)) return 0;
    return next_reply(m) == UINT64_MAX ? UINT64_MAX : t + min_reply(m);
}

static void finish(struct memsys *m, struct counters *into) {
    into->preload_packets += own(m)->preloads;
}

static const struct memory_model flat = {
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

enum error memflat_create(struct memsys **out, const struct config *cfg, uint32_t ports) {
    struct memflat *m = malloc(sizeof *m);
    *out = NULL;
    if (!m) return ERROR_NO_MEMORY;
    *m = (struct memflat){
        .memsys.model = &flat, .cfg = cfg, .ports = ports, .next_reply = UINT64_MAX};
    *out = &m->memsys;
    return OK;
}

#include "memory/memflat.h"

#include <assert.h>
#include <stddef.h>

void memflat_init(struct memflat *m, const struct config *cfg, uint32_t ports) {
    *m = (struct memflat){.cfg = cfg, .ports = ports, .next_reply = UINT64_MAX};
}

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
    m->free_ticks = start + p->bytes * 1000ull;
    if (p->access->kind <= ACCESS_ATOM) access_perform(p->access, p->lanes);
    const uint64_t reply = (start + rate - 1) / rate + m->cfg->flat_latency;
    struct port *port = &ports[p->sm];
    assert(port->in_count < port->in_capacity);
    port->in[port->in_count++] = (struct reply){reply, p->access};
    m->preloads += p->access->kind == ACCESS_PRELOAD;
    next_reply_at(m, reply);
}

void memflat_advance(struct memflat *m, struct port *ports, uint64_t t1) {
    const struct packet *p;
    m->reached = t1;
    m->next_reply = UINT64_MAX;
    while ((p = earliest(m, ports, t1))) serve(m, ports, p);
    for (uint32_t i = 0; i < m->ports; i++) {
        port_trim(&ports[i]);
        if (ports[i].out_count)
            next_reply_at(m, ports[i].out[ports[i].out_first].cycle + m->cfg->flat_latency);
    }
}

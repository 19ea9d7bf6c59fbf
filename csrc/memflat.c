#include "memflat.h"

#include <stdlib.h>
#include <string.h>

enum error memflat_init(struct memflat *m, const struct config *cfg, uint32_t ports) {
    *m = (struct memflat){.cfg = cfg, .ports = ports, .next = calloc(ports, sizeof *m->next)};
    return m->next ? OK : ERROR_NO_MEMORY;
}

void memflat_free(struct memflat *m) { free(m->next); }

/* Earliest packet sent before t1; ports are in order of SM number, which breaks ties. */
static struct packet *earliest(struct memflat *m, struct port *ports, uint64_t t1) {
    struct packet *best = NULL;
    uint32_t from = 0;
    for (uint32_t i = 0; i < m->ports; i++) {
        if (m->next[i] == ports[i].out_count) continue;
        struct packet *p = &ports[i].out[m->next[i]];
        if (p->cycle < (best ? best->cycle : t1)) best = p, from = i;
    }
    if (best) m->next[from]++;
    return best;
}

static void serve(struct memflat *m, struct port *ports, const struct packet *p) {
    const uint64_t rate = m->cfg->flat_bytes_per_kclk;
    const uint64_t arrival = p->cycle * rate;
    const uint64_t start = arrival > m->free_ticks ? arrival : m->free_ticks;
    m->free_ticks = start + p->bytes * 1000ull;
    access_perform(p->access, p->lanes);
    const uint64_t reply = (start + rate - 1) / rate + m->cfg->flat_latency;
    struct port *port = &ports[p->sm];
    port->in[port->in_count++] = (struct reply){reply, p->access};
}

/* Packets that have yet to leave stay in their port. */
static void keep_rest(struct memflat *m, struct port *ports) {
    m->next_cycle = UINT64_MAX;
    for (uint32_t i = 0; i < m->ports; i++) {
        struct port *port = &ports[i];
        port->out_count -= m->next[i];
        memmove(port->out, port->out + m->next[i], port->out_count * sizeof *port->out);
        m->next[i] = 0;
        if (port->out_count && port->out[0].cycle < m->next_cycle)
            m->next_cycle = port->out[0].cycle;
    }
}

void memflat_advance(struct memflat *m, struct port *ports, uint64_t t1) {
    const struct packet *p;
    while ((p = earliest(m, ports, t1))) serve(m, ports, p);
    keep_rest(m, ports);
}

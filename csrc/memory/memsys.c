#include "memory/memsys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memdetail.h"
#include "memory/memflat.h"

struct memsys {
    struct memflat flat;
    struct memdetail *detail; /* NULL: the flat model serves */
};

#ifdef SMMUX_CHECK
void port_check(const struct port *port) {
    assert(port->out_first <= port->out_count && port->out_count <= port->out_capacity);
    for (uint32_t i = port->out_first; i < port->out_count; i++) {
        assert(port->out[i].access && port->out[i].bytes);
        assert(i == port->out_first || port->out[i - 1].cycle <= port->out[i].cycle);
    }
    assert(port->in_count <= port->in_capacity);
    for (uint32_t i = 0; i < port->in_count; i++) assert(port->in[i].access);
}
#endif

void port_trim(struct port *port) {
    if (port->out_first < port->out_count && 2 * port->out_first < port->out_capacity) return;
    port->out_count -= port->out_first;
    memmove(port->out, port->out + port->out_first, port->out_count * sizeof *port->out);
    port->out_first = 0;
    port_check(port);
}

enum error memsys_create(struct memsys **out, const struct config *cfg, uint32_t ports,
                         uint32_t preloads) {
    struct memsys *m = *out = calloc(1, sizeof *m);
    if (!m) return ERROR_NO_MEMORY;
    if (cfg->mem_model) return memdetail_create(&m->detail, cfg, preloads);
    memflat_init(&m->flat, cfg, ports);
    return OK;
}

void memsys_destroy(struct memsys *m) {
    if (!m) return;
    memdetail_destroy(m->detail);
    free(m);
}

enum error memsys_trace(struct memsys *m) { return m->detail ? memdetail_trace(m->detail) : OK; }

const struct dram *memsys_dram(const struct memsys *m, uint32_t partition) {
    return m->detail ? memdetail_dram(m->detail, partition) : NULL;
}

uint32_t memsys_min_reply(const struct memsys *m) {
    return m->detail ? memdetail_min_reply(m->detail) : m->flat.cfg->flat_latency;
}

uint32_t memsys_begin(struct memsys *m, uint64_t t) {
    return m->detail ? memdetail_begin(m->detail, t, true) : 0;
}

void memsys_partition(struct memsys *m, uint32_t partition) {
    memdetail_partition(m->detail, partition);
}

void memsys_receive(struct memsys *m, uint32_t tpc, struct port *ports) {
    if (m->detail) memdetail_receive(m->detail, tpc, ports);
}

void memsys_send(struct memsys *m, uint32_t tpc, struct port *ports, uint64_t t1) {
    if (m->detail) memdetail_send(m->detail, tpc, ports, t1);
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

void memsys_preload(struct memsys *m, struct port *ports) {
    if (m->detail) memdetail_preload(m->detail, ports);
    else
        for (struct port *p = ports; p < ports + m->flat.ports; p++) queue_ahead(p);
}

bool memsys_is_camped(const struct memsys *m, uint32_t threads) {
    return m->detail && memdetail_is_camped(m->detail, threads);
}

bool memsys_lags(const struct memsys *m, uint64_t t) {
    return (m->detail ? memdetail_reached(m->detail) : m->flat.reached) < t;
}

static void run_partition(void *context, uint32_t item) { memdetail_partition(context, item); }

void memsys_catch_up(struct memsys *m, struct port *ports, uint64_t t, struct pool *pool) {
    if (m->detail) pool_run(pool, run_partition, m->detail, memdetail_begin(m->detail, t, false));
    else memflat_advance(&m->flat, ports, t);
}

uint64_t memsys_known(const struct memsys *m, uint64_t t) {
    if (m->detail) return memdetail_known(m->detail);
    if (memsys_lags(m, t)) return 0;
    return m->flat.next_reply == UINT64_MAX ? UINT64_MAX : t + m->flat.cfg->flat_latency;
}

uint64_t memsys_next_reply(const struct memsys *m) {
    return m->detail ? memdetail_next_reply(m->detail) : m->flat.next_reply;
}

void memsys_finish(struct memsys *m, struct counters *into) {
    into->preload_packets += m->flat.preloads;
    if (!m->detail) return;
    memdetail_drain(m->detail);
    memdetail_counters(m->detail, into);
}

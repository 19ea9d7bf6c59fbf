#include "xbar.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"

static struct stream *new_streams(uint32_t count) {
    struct stream *s = malloc(count * sizeof *s);
    for (uint32_t i = 0; s && i < count; i++)
        s[i] = (struct stream){XBAR_NEVER, XBAR_NONE, XBAR_NONE};
    return s;
}

enum error xbar_init(struct xbar *x, const struct config *cfg) {
    uint32_t tpcs = (cfg->sm_count + cfg->sms_per_tpc - 1) / cfg->sms_per_tpc;
    *x = (struct xbar){
        .to_icnt = clock_ratio(cfg->shader_khz, cfg->icnt_khz),
        .to_shader = clock_ratio(cfg->icnt_khz, cfg->shader_khz),
        .latency = cfg->xbar_latency,
        .flit_shift = bits_lowest(cfg->port_bytes),
        .header = cfg->packet_header,
        .pipeline = cfg->mem_pipeline,
        .sms = cfg->sm_count,
        .tpcs = tpcs,
        .slices = cfg->partitions * cfg->l2_slices,
        .sms_per_tpc = cfg->sms_per_tpc,
        .held = UINT64_MAX,
    };
    addrmap_init(&x->map, cfg);
    const uint32_t count = cfg->sm_count * (cfg->credits + PORT_EXTRA);
    x->pool = malloc(count * sizeof *x->pool);
    x->request_free = calloc(2 * tpcs, sizeof *x->request_free);
    x->requests = new_streams(x->slices * tpcs);
    x->replies = new_streams(x->slices * tpcs);
    x->cursor = calloc(x->sms_per_tpc, sizeof *x->cursor);
    if (!x->pool || !x->request_free || !x->requests || !x->replies || !x->cursor) {
        xbar_free(x);
        return ERROR_NO_MEMORY;
    }
    x->reply_free = x->request_free + tpcs;
    x->free = XBAR_NONE;
    x->capacity = count;
    return OK;
}

void xbar_free(struct xbar *x) {
    free(x->pool);
    free(x->request_free);
    free(x->requests);
    free(x->replies);
    free(x->cursor);
    memset(x, 0, sizeof *x);
}

static void route_packet(struct xbar *x, uint32_t tpc, const struct packet *p) {
    uint32_t node = x->free, local, in_slice;
    if (node != XBAR_NONE) x->free = x->pool[node].next;
    else node = x->fresh++;
    assert(node < x->capacity);
    struct request *r = &x->pool[node];
    x->in_flight++;
    uint32_t partition = addrmap_partition(&x->map, p->addr, &local);
    uint32_t slice = addrmap_slice(&x->map, local, &in_slice);
    slice += partition << x->map.slice_shift;
    r->access = p->access;
    r->addr = in_slice;
    r->lanes = p->lanes;
    r->sm = p->sm;
    r->tpc = (uint16_t)tpc;
    r->bytes = p->bytes;
    r->kind = p->access->kind;

    uint64_t start = clock_convert(&x->to_icnt, p->cycle);
    if (start < x->request_free[tpc]) start = x->request_free[tpc];
    x->request_free[tpc] = start + xbar_request_flits(x, r);
    r->tick = start + x->latency;
    stream_append(&x->requests[slice * x->tpcs + tpc], x->pool, node);
}

/* Merge the sorted packets of the TPC's SMs by (cycle, SM). */
static void route_tpc(struct xbar *x, struct port *ports, uint32_t first, uint32_t count,
                      uint64_t t1) {
    uint32_t tpc = first / x->sms_per_tpc;
    memset(x->cursor, 0, count * sizeof *x->cursor);
    for (;;) {
        uint64_t best = t1;
        uint32_t sm = XBAR_NONE;
        for (uint32_t i = 0; i < count; i++) {
            const struct port *port = &ports[first + i];
            if (x->cursor[i] < port->out_count && port->out[x->cursor[i]].cycle < best) {
                best = port->out[x->cursor[i]].cycle;
                sm = i;
            }
        }
        if (sm == XBAR_NONE) break;
        route_packet(x, tpc, &ports[first + sm].out[x->cursor[sm]++]);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct port *port = &ports[first + i];
        port->out_count -= x->cursor[i];
        if (!port->out_count) continue;
        memmove(port->out, port->out + x->cursor[i], port->out_count * sizeof *port->out);
        if (port->out[0].cycle < x->held) x->held = port->out[0].cycle;
    }
}

void xbar_route(struct xbar *x, struct port *ports, uint64_t t1) {
    x->held = UINT64_MAX;
    for (uint32_t first = 0; first < x->sms; first += x->sms_per_tpc) {
        uint32_t left = x->sms - first;
        route_tpc(x, ports, first, left < x->sms_per_tpc ? left : x->sms_per_tpc, t1);
    }
}

static void deliver_reply(struct xbar *x, struct port *ports, uint32_t node) {
    struct request *r = &x->pool[node];
    uint64_t start = r->tick;
    if (start < x->reply_free[r->tpc]) start = x->reply_free[r->tpc];
    uint64_t end = start + xbar_reply_flits(x, r);
    x->reply_free[r->tpc] = end;
    struct port *port = &ports[r->sm];
    assert(port->in_count < port->in_capacity);
    port->in[port->in_count++] =
        (struct reply){clock_convert(&x->to_shader, end) + x->pipeline, r->access};
    r->next = x->free;
    x->free = node;
    x->in_flight--;
}

void xbar_deliver(struct xbar *x, struct port *ports, uint64_t tick) {
    for (uint32_t tpc = 0; tpc < x->tpcs; tpc++) {
        struct stream *streams = &x->replies[tpc];
        for (;;) {
            uint64_t first;
            const uint32_t slice = stream_first(streams, x->slices, x->tpcs, &first);
            if (first >= tick) break;
            deliver_reply(x, ports, stream_take(&streams[slice * x->tpcs], x->pool));
        }
    }
}

/* The interconnect: request and reply ports of the TPCs, and the crossbar between them and
 * the L2 slices (GT200: the partitions). Times are interconnect clocks.
 *
 * A port moves port_bytes per clock; a packet holds it for its flits. A packet's head
 * crosses in xbar_latency clocks, its tail follows at the rate of the ports (cut-through).
 * Queues are unbounded: an SM's only back-pressure are its credits. So every port is a
 * server that takes packets in order of arrival, ties by SM (requests) or slice (replies),
 * and its times depend on the packets alone, never on the window in which they were seen.
 *
 *   xbar_route     serial: SM ports -> TPC request ports -> one stream per (slice, TPC)
 *   slice side     parallel over partitions: takes requests, appends replies to its streams
 *   xbar_deliver   serial: reply streams -> TPC reply ports -> SM ports */
#ifndef SMMUX_XBAR_H
#define SMMUX_XBAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addrmap.h"
#include "clock.h"
#include "config.h"
#include "memsys.h"

#define XBAR_NONE       UINT32_MAX
#define XBAR_NEVER      (UINT64_MAX >> XBAR_INDEX_BITS)
#define XBAR_INDEX_BITS 8 /* streams are compared as keys: tick, then index */

/* A transaction on its way: from xbar_route to xbar_deliver. */
struct request {
    uint64_t tick; /* its head reaches the next port */
    struct access *access;
    uint32_t addr; /* in the slice */
    uint32_t lanes;
    uint32_t next;
    uint16_t sm, tpc, bytes;
    uint8_t kind; /* enum access_kind */
    uint8_t want; /* L2 sectors it waits for */
};

/* Requests in order of time; tick is that of the head, XBAR_NEVER when empty. */
struct stream {
    uint64_t tick;
    uint32_t head, tail;
};

struct xbar {
    struct clock_ratio to_icnt, to_shader;
    uint32_t latency, flit_shift, header, pipeline;
    uint32_t sms, tpcs, slices, sms_per_tpc;
    struct addrmap map;
    struct request *pool;
    uint32_t free, fresh, capacity, in_flight; /* free nodes: a list, and those never used */
    uint64_t held; /* earliest packet that an SM holds ready for a later window */
    uint64_t *request_free, *reply_free; /* per TPC port */
    struct stream *requests;             /* [slice][tpc] */
    struct stream *replies;              /* [slice][tpc] */
    uint32_t *cursor;                    /* per SM of a TPC, while routing */
};

enum error xbar_init(struct xbar *x, const struct config *cfg);
void xbar_free(struct xbar *x);
/* Send all packets with cycle < t1; later ones stay at the front of their port. */
void xbar_route(struct xbar *x, struct port *ports, uint64_t t1);
/* Hand over every reply whose head reaches its TPC before `tick`. */
void xbar_deliver(struct xbar *x, struct port *ports, uint64_t tick);

/* At least one: with packet_header 0 the header travels beside the data. */
static inline uint32_t xbar_flits(const struct xbar *x, uint32_t payload) {
    uint32_t bytes = x->header + payload;
    return bytes ? (bytes + (1u << x->flit_shift) - 1) >> x->flit_shift : 1;
}

static inline bool access_carries_data(uint8_t kind) {
    return kind == ACCESS_STORE || kind == ACCESS_ATOM;
}

static inline uint32_t xbar_request_flits(const struct xbar *x, const struct request *r) {
    return xbar_flits(x, access_carries_data(r->kind) ? r->bytes : 0);
}

static inline uint32_t xbar_reply_flits(const struct xbar *x, const struct request *r) {
    return xbar_flits(x, r->kind == ACCESS_STORE ? 0 : r->bytes);
}

/* The stream with the earliest head, ties to the lower index; before XBAR_NEVER, else none.
 * stride: distance between streams. */
static inline uint32_t stream_first(const struct stream *s, uint32_t count, uint32_t stride,
                                    uint64_t *tick) {
    uint64_t best = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t key = s[(size_t)i * stride].tick << XBAR_INDEX_BITS | i;
        best = key < best ? key : best;
    }
    *tick = best >> XBAR_INDEX_BITS;
    return (uint32_t)best & ((1u << XBAR_INDEX_BITS) - 1);
}

static inline void stream_append(struct stream *s, struct request *pool, uint32_t node) {
    pool[node].next = XBAR_NONE;
    if (s->tick == XBAR_NEVER) {
        s->head = node;
        s->tick = pool[node].tick;
    } else {
        pool[s->tail].next = node;
    }
    s->tail = node;
}

static inline uint32_t stream_take(struct stream *s, const struct request *pool) {
    uint32_t node = s->head;
    s->head = pool[node].next;
    s->tick = s->head == XBAR_NONE ? XBAR_NEVER : pool[s->head].tick;
    return node;
}

#endif

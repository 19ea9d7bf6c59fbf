/* The interconnect: request and reply ports of the TPCs, and the crossbar between them and
 * the L2 slices (GT200: the partitions). Times are interconnect clocks.
 *
 * A port moves port_bytes per clock; a packet holds it for its flits. A packet's head
 * crosses in xbar_latency clocks, its tail follows at the rate of the ports (cut-through).
 * Every port is a server that takes packets in order of arrival, ties by SM (requests) or slice
 * (replies), so its times depend on the packets alone, never on the window in which they were seen.
 *
 * Queues are finite: a slice has room for port_room requests of each TPC, from the TPC's request
 * port to the reply. A request for which there is none holds up what stands behind it at the port,
 * on its way to other slices too. That stands for the room in the crossbar's buffers, the slice's
 * queues and the DRAM's, which on a card all TPCs share: with shares of their own nobody needs to
 * know what others send. A TPC hears of room in a slice from its own replies, no sooner than an SM
 * does, so that windows stay as long as the fastest reply takes. An SM feels the port only in its
 * credits, as they come back later.
 *
 * TPCs and partitions are simulated side by side, each alone: they meet in batches, lists of
 * requests that one side writes during a pass and the other takes over in the next. Batches
 * come in pairs, so that both may happen at once.
 *
 *   xbar_send      TPC:   SM ports -> request port -> a batch per slice
 *   xbar_collect   slice: batches of all TPCs -> a stream per TPC
 *   xbar_return    slice: a batch per TPC
 *   xbar_receive   TPC:   batches of all slices -> a stream per slice -> reply port -> SM ports */
#ifndef SMMUX_XBAR_H
#define SMMUX_XBAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/config.h"
#include "memory/addrmap.h"
#include "memory/memsys.h"

#define XBAR_NONE       UINT32_MAX
#define XBAR_NEVER      (UINT64_MAX >> XBAR_INDEX_BITS)
#define PORT_PARTS      1024u
#define XBAR_INDEX_BITS 8 /* streams are compared as keys: tick, then index */

/* A transaction on its way: from xbar_send to xbar_receive. */
struct request {
    uint64_t tick; /* its head reaches the next port */
    struct access *access;
    const uint8_t *host; /* the first byte of it in the host's memory, to be prefetched */
    uint32_t addr;       /* in the slice */
    uint32_t lanes;
    uint32_t next;
    uint16_t sm, tpc, bytes;
    uint16_t flits; /* flits of the packet, first of the request, then of the reply. A store that
                       rides on another one has no flits and no bytes */
    uint8_t kind;   /* enum access_kind */
    uint8_t want;   /* L2 sectors it waits for */
    uint8_t number; /* of the packet in its TPC, modulo 256: the order of those of one cycle */
    bool performed : 1; /* memory has been read or written for it, ahead of its turn */
    bool whole : 1;     /* what has joined a store writes the rest of its segment */
};

_Static_assert(sizeof(struct request) <= 48, "requests are hot");

/* Prefetch the request behind that one. */
static inline void request_prefetch_behind(const struct request *pool, uint32_t node) {
    if (pool[node].next != XBAR_NONE) __builtin_prefetch(&pool[pool[node].next]);
}

/* Prefetch what serving a request will read, and the request behind it: all of that lies in the
 * host's memory or in another core's cache, and is asked for one request ahead. */
static inline void request_prefetch(const struct request *pool, uint32_t node) {
    const struct request *r = &pool[node];
    const uint8_t *access = (const uint8_t *)r->access; /* its head and the addresses */
    __builtin_prefetch(r->host);
    __builtin_prefetch(access);
    __builtin_prefetch(access + 64);
    __builtin_prefetch(access + 128);
    request_prefetch_behind(pool, node);
}

/* A list of requests in order of time: a stream, or what goes from one side to the other in a
 * pass. */
struct batch {
    uint32_t head, tail; /* XBAR_NONE: it has none (of a stream, only the head says so) */
    struct content {
        uint64_t lines; /* by a hash: lines of its requests, and of requests that were in it */
        uint32_t count;
    } content[2]; /* used where a chip has halves: its requests without data, and those with */
};

/* Streams of requests, each in order of time, and which of their heads is the earliest: a
 * tournament of keys, tick and index of a stream, so that ties go to the lower index. Stream i's
 * is key[leaves + i], the smaller one of key[2 * k] and key[2 * k + 1] is key[k]. */
struct streams {
    uint64_t *key;
    struct batch *stream;
    uint32_t leaves; /* a power of two */
};

/* Where one TPC or slice writes: a batch per receiver in the current row. The other row is
 * being read. */
struct outbox {
    _Alignas(64) struct batch *row[2];
    uint32_t side;     /* which row is current */
    uint64_t earliest; /* least tick in it */
};

/* Which batches are not empty, for both rows: each receiver has a line of memory with a byte per
 * writer. It looks only at batches that are marked, and unmarks them. */
struct marks {
    uint8_t *row[2];
    uint32_t writers, stride; /* bytes in use of a line, and from one line to the next */
};

/* What room a TPC has in the queues of one slice. The k-th request that goes there fills the place
 * of the one port_room before it, so the cycles at which places became free form a ring. */
struct room {
    uint16_t taken;        /* places in use */
    uint16_t known;        /* places from the first on that a reply has left: the others are free */
    uint16_t next, answer; /* where in the ring the next request and the next reply look */
};

/* What belongs to one TPC: its two ports, its streams of replies, its share of the pool. */
struct xbar_tpc {
    struct outbox sent;     /* per slice */
    struct streams replies; /* per slice */
    struct room *room;      /* per slice */
    uint32_t side;          /* the half of the chip in which it lies */
    uint64_t *freed;        /* per slice and place: cycle of the last reply that left the place */
    uint64_t request_free;  /* tick at which the request port is free */
    uint64_t pair;          /* tick of a small request with which a second one may leave, plus 1 */
    uint64_t reply_free;    /* when the reply port is free, in PORT_PARTS of a tick */
    uint64_t blocked;       /* clocks for which a full slice has held up the request port */
    uint64_t held;          /* earliest packet that an SM or the port holds for a later window */
    uint64_t earliest;      /* tick of the first reply not yet handed over */
    uint32_t in_flight;     /* packets that have been sent and are not yet answered */
    uint32_t free, fresh, end; /* free nodes: a list; those from fresh to end, never used yet */
    uint8_t number;            /* number of the next packet, modulo 256 */
};

/* What belongs to one slice. */
struct xbar_slice {
    struct outbox returned;  /* per TPC */
    struct streams requests; /* per TPC */
    struct batch ahead;      /* preloads, in order */
};

struct xbar {
    struct clock_ratio to_icnt, to_shader;
    uint32_t latency, flit_shift, header, pipeline, room;
    uint32_t
        reply_cost; /* PORT_PARTS of a tick for a sector of 32 bytes at a reply port; 0: flits */
    uint32_t sms, tpcs, slices, sms_per_tpc;
    uint32_t request_pairs;       /* flag: two small requests may leave a TPC in one clock */
    uint32_t sides, side_latency; /* halves of the chip, ticks between them */
    uint32_t side_mask;           /* address bits whose parity is the half's number */
    uint32_t slices_shift;        /* slices of a partition */
    struct addrmap map;
    struct request *pool;
    struct xbar_tpc *tpc;
    struct xbar_slice *slice;
    struct marks to_slice, to_tpc;
    void *arena;         /* the memory of all arrays except `freed` */
    uint64_t *freed;     /* the rings of rooms, of which a short launch uses little */
    uint64_t ahead_free; /* cycle at which the dispatcher may ask for the next preload */
    uint32_t ahead_interval;
    uint32_t sending, returning; /* rows that TPCs and slices write in this pass */
    bool sent, returned;         /* there are rows that nobody has read yet */
    bool collecting, receiving;  /* they are read in this pass */
};

/* Set the interconnect up, for at most `preloads` preloads of an SM under way. */
enum error xbar_init(struct xbar *x, const struct config *cfg, uint32_t preloads);
void xbar_free(struct xbar *x);
/* Begin a pass in which slices, TPCs or both take part. A slice collects before it does anything
 * else; a TPC receives first and sends last. */
void xbar_begin(struct xbar *x, bool slices, bool tpcs);
/* Take over into the streams of a slice what the TPCs have sent it. */
void xbar_collect(struct xbar *x, uint32_t slice);
/* Send a request back from a slice; its head reaches the TPC at request.tick. */
void xbar_return(struct xbar *x, uint32_t slice, uint32_t node);
/* Hand over to a TPC's SMs every reply whose head reaches it before `tick`. */
void xbar_receive(struct xbar *x, uint32_t tpc, struct port *ports, uint64_t tick);
/* Send the packets of a TPC's SMs with cycle < t1; later ones stay in their port, and so do those
 * that leave the request port at t1 or later since a slice is full. Every reply that reaches an SM
 * before t1 must have been received. */
void xbar_send(struct xbar *x, uint32_t tpc, struct port *ports, uint64_t t1);
/* Send the preloads of all SMs, between passes. They go from the dispatcher straight to the slices,
 * one after another, past the TPCs' ports and their room; the way takes as long as the crossbar.
 * [EST] */
void xbar_preload(struct xbar *x, struct port *ports);
/* The earliest tick of a reply on its way, XBAR_NEVER if there is none; to be asked between passes.
 */
uint64_t xbar_earliest(const struct xbar *x);

/* The place after that one in a ring of `room`. */
static inline uint16_t xbar_place_after(const struct xbar *x, uint16_t place) {
    return place + 1u < x->room ? (uint16_t)(place + 1) : 0;
}

/* How many SMs a TPC has: the last one may have fewer. */
static inline uint32_t xbar_sms_of(const struct xbar *x, uint32_t tpc) {
    const uint32_t left = x->sms - tpc * x->sms_per_tpc;
    return left < x->sms_per_tpc ? left : x->sms_per_tpc;
}

/* How many flits a packet has. At least one: with packet_header 0 the header travels beside the
 * data. */
static inline uint32_t xbar_flits(const struct xbar *x, uint32_t payload) {
    uint32_t bytes = x->header + payload;
    return bytes ? (bytes + (1u << x->flit_shift) - 1) >> x->flit_shift : 1;
}

static inline bool access_carries_data(uint8_t kind) {
    return kind == ACCESS_STORE || kind == ACCESS_ATOM;
}

/* Do some lanes of a store, if none write the same bytes, write every byte of a segment? */
static inline bool access_covers(const struct access *a, uint32_t lanes, uint32_t bytes) {
    return bits_count(lanes) * a->width >= bytes;
}

#define WORDS_SHIFT 7u /* a line of 128 bytes has 32 words, each of them a bit */

/* A bit for each word of a line that some bytes contain. */
static inline uint32_t words_in(uint32_t addr, uint32_t bytes) {
    const uint32_t count = bytes / 4u, first = addr >> 2 & 31;
    return (count < 32 ? (1u << count) - 1 : UINT32_MAX) << first;
}

/* A bit for each word that lanes of a store write in a segment. Stores of less than a word count
 * only if they cover the segment. */
static inline uint32_t access_words(const struct access *a, uint32_t lanes, uint32_t addr,
                                    uint32_t bytes) {
    if (a->width < 4) return access_covers(a, lanes, bytes) ? words_in(addr, bytes) : 0;
    const uint32_t each = (1u << a->width / 4u) - 1;
    uint32_t words = 0;
    for (; lanes; lanes &= lanes - 1) words |= each << (a->addr[bits_lowest(lanes)] >> 2 & 31);
    return words;
}

/* The bit of a line in content.lines; two neighbouring lines share one. */
static inline uint64_t content_bit(uint32_t addr) { return 1ull << (bits_spread(addr >> 8) >> 26); }

/* Note that a batch contains a request. */
static inline void batch_note(struct batch *b, const struct request *r) {
    struct content *c = &b->content[access_carries_data(r->kind)];
    c->lines |= content_bit(r->addr);
    c->count++;
}

/* Note that the requests of a batch have gone into a stream. */
static inline void batch_hand_over(struct batch *b, struct batch *stream) {
    for (uint32_t kind = 0; kind < 2; kind++) {
        stream->content[kind].lines |= b->content[kind].lines;
        stream->content[kind].count += b->content[kind].count;
        b->content[kind] = (struct content){0, 0};
    }
}

/* The half to which an address belongs. */
static inline uint32_t xbar_home(const struct xbar *x, uint32_t addr) {
    return (uint32_t)__builtin_parity(addr & x->side_mask);
}

/* The ticks that a way between a TPC and a slice takes longer if they lie in different halves. */
static inline uint32_t xbar_detour(const struct xbar *x, uint32_t tpc, uint32_t slice) {
    return x->sides > 1 && x->tpc[tpc].side != (slice & 1) ? x->side_latency : 0;
}

static inline uint32_t xbar_request_flits(const struct xbar *x, const struct request *r) {
    return xbar_flits(x, access_carries_data(r->kind) ? r->bytes : 0);
}

static inline uint32_t xbar_reply_flits(const struct xbar *x, const struct request *r) {
    return xbar_flits(x, r->kind == ACCESS_STORE ? 0 : r->bytes);
}

/* The tick of a stream's head; XBAR_NEVER if the stream is empty. */
static inline uint64_t streams_tick(const struct streams *s, uint32_t i) {
    return s->key[s->leaves + i] >> XBAR_INDEX_BITS;
}

/* The stream with the earliest head, and that head's tick; if all are empty any stream, and
 * XBAR_NEVER. */
static inline uint32_t streams_first(const struct streams *s, uint64_t *tick) {
    *tick = s->key[1] >> XBAR_INDEX_BITS;
    return (uint32_t)s->key[1] & ((1u << XBAR_INDEX_BITS) - 1);
}

/* Check that every key is the least of those below it, and a stream without a head has no tick. */
#ifdef SMMUX_CHECK
void streams_check(const struct streams *s, const struct request *pool, uint32_t count);
#else
static inline void streams_check(const struct streams *s, const struct request *pool,
                                 uint32_t count) {
    (void)s, (void)pool, (void)count;
}
#endif

/* Let a stream begin with that request from now on. */
static inline void streams_set(struct streams *s, uint32_t i, const struct request *pool,
                               uint32_t head) {
    const uint64_t tick = head == XBAR_NONE ? XBAR_NEVER : pool[head].tick;
    uint32_t k = s->leaves + i;
    s->stream[i].head = head;
    s->key[k] = tick << XBAR_INDEX_BITS | i;
    for (; k > 1; k /= 2) {
        const uint64_t a = s->key[k], b = s->key[k ^ 1];
        s->key[k / 2] = a < b ? a : b;
    }
}

/* Put a whole batch at the end of a stream. */
static inline void streams_splice(struct streams *s, uint32_t i, struct request *pool,
                                  const struct batch *b) {
    if (s->stream[i].head == XBAR_NONE) streams_set(s, i, pool, b->head);
    else pool[s->stream[i].tail].next = b->head;
    s->stream[i].tail = b->tail;
}

#endif

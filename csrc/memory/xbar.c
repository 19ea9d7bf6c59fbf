#include "memory/xbar.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/gpcs.h"
#include "base/hints.h"
#include "base/lines.h"

/* ---- construction ------------------------------------------------------------------------ */

static void begin_row(struct outbox *b, uint32_t side) {
    b->side = side;
    b->earliest = XBAR_NEVER;
}

/* Rows of one writer share no line of the host's cache with those of others. */
static uint8_t *place_outbox(struct outbox *b, uint32_t receivers, uint8_t *at) {
    for (uint32_t side = 2; side-- > 0;) {
        b->row[side] = (struct batch *)(void *)at;
        at += lines_round(receivers * sizeof(struct batch));
    }
    begin_row(b, 0);
    return at;
}

static size_t size_of_marks(uint32_t writers, uint32_t receivers) {
    return 2 * receivers * lines_round(writers);
}

static uint8_t *place_marks(struct marks *m, uint32_t writers, uint32_t receivers, uint8_t *at) {
    m->writers = writers;
    m->stride = (uint32_t)lines_round(writers);
    m->row[0] = at;
    m->row[1] = at + receivers * m->stride;
    return at + size_of_marks(writers, receivers);
}

static uint32_t leaves_of(uint32_t streams) {
    uint32_t leaves = 1;
    while (leaves < streams) leaves *= 2;
    return leaves;
}

static size_t size_of_streams(uint32_t count) {
    return lines_round(2 * leaves_of(count) * sizeof(uint64_t) + count * sizeof(struct batch));
}

static uint8_t *place_streams(struct streams *s, uint32_t count, uint8_t *at) {
    s->leaves = leaves_of(count);
    s->key = (uint64_t *)(void *)at;
    s->stream = (struct batch *)(void *)(s->key + 2 * s->leaves);
    for (uint32_t k = 0; k < 2 * s->leaves; k++) s->key[k] = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) streams_set(s, i, NULL, XBAR_NONE);
    return at + size_of_streams(count);
}

#ifdef SMMUX_CHECK
void streams_check(const struct streams *s, const struct request *pool, uint32_t count) {
    for (uint32_t k = 1; k < s->leaves; k++) {
        const uint64_t a = s->key[2 * k], b = s->key[2 * k + 1];
        assert(s->key[k] == (a < b ? a : b));
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t head = s->stream[i].head;
        assert(streams_tick(s, i) == (head == XBAR_NONE ? XBAR_NEVER : pool[head].tick));
        for (uint32_t r = head; r != XBAR_NONE && pool[r].next != XBAR_NONE; r = pool[r].next)
            assert(pool[r].tick <= pool[pool[r].next].tick);
    }
}
#endif

static size_t size_of_freed(const struct xbar *x) {
    return lines_round((size_t)x->slices * x->room * sizeof(uint64_t));
}

static size_t size_of_rooms(const struct xbar *x) {
    return lines_round(x->slices * sizeof(struct room));
}

static uint8_t *place_rooms(const struct xbar *x, uint32_t t, uint8_t *at) {
    x->tpc[t].freed = x->freed + t * size_of_freed(x) / sizeof *x->freed;
    x->tpc[t].room = (struct room *)(void *)at;
    return at + size_of_rooms(x);
}

/* One arena: streams of a slice or a TPC lie together, and so do the batches it writes. */
static bool place(struct xbar *x) {
    const size_t requests = size_of_streams(x->tpcs),
                 replies = size_of_streams(x->slices) + size_of_rooms(x),
                 to_tpcs = 2 * lines_round(x->tpcs * sizeof(struct batch)),
                 to_slices = 2 * lines_round(x->slices * sizeof(struct batch)),
                 slice = sizeof *x->slice + requests + to_tpcs,
                 tpc = sizeof *x->tpc + replies + to_slices,
                 marks = size_of_marks(x->tpcs, x->slices) + size_of_marks(x->slices, x->tpcs),
                 total = x->slices * slice + x->tpcs * tpc + marks;
    uint8_t *at = x->arena = lines_alloc(total);
    x->freed = lines_take(x->tpcs * size_of_freed(x));
    if (!at || !x->freed) return false;
    x->slice = (struct xbar_slice *)(void *)at, at += x->slices * sizeof *x->slice;
    x->tpc = (struct xbar_tpc *)(void *)at, at += x->tpcs * sizeof *x->tpc;
    for (uint32_t s = 0; s < x->slices; s++) {
        at = place_streams(&x->slice[s].requests, x->tpcs, at);
        at = place_outbox(&x->slice[s].returned, x->tpcs, at);
        x->slice[s].ahead.head = XBAR_NONE;
    }
    for (uint32_t t = 0; t < x->tpcs; t++) {
        at = place_streams(&x->tpc[t].replies, x->slices, at);
        at = place_rooms(x, t, at);
        at = place_outbox(&x->tpc[t].sent, x->slices, at);
    }
    at = place_marks(&x->to_slice, x->tpcs, x->slices, at);
    place_marks(&x->to_tpc, x->slices, x->tpcs, at);
    return true;
}

enum error xbar_init(struct xbar *x, const struct config *cfg, uint32_t preloads) {
    *x = (struct xbar){
        .to_icnt = clock_ratio(cfg->shader_khz, cfg->icnt_khz),
        .to_shader = clock_ratio(cfg->icnt_khz, cfg->shader_khz),
        .latency = cfg->xbar_latency,
        .flit_shift = bits_lowest(cfg->port_bytes),
        .header = cfg->packet_header,
        .pipeline = cfg->mem_pipeline,
        .room = cfg->port_room,
        .reply_cost = cfg->reply_bytes ? 32 * 1000 * PORT_PARTS / cfg->reply_bytes : 0,
        .sms = cfg->sm_count,
        .tpcs = (cfg->sm_count + cfg->sms_per_tpc - 1) / cfg->sms_per_tpc,
        .slices = cfg->partitions * cfg->l2_slices,
        .sms_per_tpc = cfg->sms_per_tpc,
        .sides = cfg->l2_sides,
        .side_latency = cfg->side_latency,
        .side_mask = cfg->side_mask,
        .request_pairs = cfg->request_pairs,
        .slices_shift = bits_lowest(cfg->l2_slices),
        .ahead_interval = cfg->preload_interval,
        .sent = true, /* TPCs may send before the first pass */
    };
    addrmap_init(&x->map, cfg);
    const uint32_t share = cfg->sms_per_tpc * (cfg->credits + port_extra(cfg) + preloads);
    x->pool = malloc((size_t)x->tpcs * share * sizeof *x->pool);
    if (!x->pool || !place(x)) {
        xbar_free(x);
        return ERROR_NO_MEMORY;
    }
    struct gpcs gpcs;
    gpcs_init(&gpcs, cfg);
    for (uint32_t t = 0; t < x->tpcs; t++) {
        struct xbar_tpc *tpc = &x->tpc[t];
        tpc->side = gpcs_side(cfg, gpcs.of[t]);
        tpc->held = UINT64_MAX;
        tpc->earliest = XBAR_NEVER;
        tpc->free = XBAR_NONE;
        tpc->fresh = t * share;
        tpc->end = (t + 1) * share;
    }
    return OK;
}

void xbar_free(struct xbar *x) {
    free(x->pool);
    lines_free(x->arena);
    lines_free(x->freed);
    memset(x, 0, sizeof *x);
}

/* ---- batches ----------------------------------------------------------------------------- */

static uint8_t *marks_of(const struct marks *m, uint32_t side, uint32_t receiver) {
    return m->row[side] + receiver * m->stride;
}

/* Into a batch of the outbox; `mark` is the writer's at the receiver. */
static void put(struct outbox *b, uint8_t *mark, uint32_t receiver, struct request *pool,
                uint32_t node) {
    struct batch *batch = &b->row[b->side][receiver];
    pool[node].next = XBAR_NONE;
    assert(!*mark || pool[batch->tail].tick <= pool[node].tick);
    if (*mark) pool[batch->tail].next = node;
    else batch->head = node;
    *mark = 1;
    batch->tail = node;
    if (pool[node].tick < b->earliest) b->earliest = pool[node].tick;
}

/* Who has written to the receiver, in order; returns how many have, and unmarks them. */
static uint32_t take_marks(const struct marks *m, uint32_t side, uint32_t receiver,
                           uint8_t writers[1 << XBAR_INDEX_BITS]) {
    uint8_t *marks = marks_of(m, side, receiver);
    uint32_t count = 0;
    for (uint32_t first = 0; first < m->writers; first += 8) {
        uint64_t left; /* eight marks, lowest first */
        memcpy(&left, marks + first, sizeof left);
        if (!left) continue;
        memset(marks + first, 0, sizeof left);
        for (; left; left &= left - 1)
            writers[count++] = (uint8_t)(first + (uint32_t)__builtin_ctzll(left) / 8);
    }
    return count;
}

void xbar_begin(struct xbar *x, bool slices, bool tpcs) {
    x->collecting = slices && x->sent;
    x->receiving = tpcs && x->returned;
    if (x->collecting) x->sent = false, x->sending ^= 1;
    if (x->receiving) x->returned = false, x->returning ^= 1;
    x->sent |= tpcs;
    x->returned |= slices;
}

void xbar_collect(struct xbar *x, uint32_t slice) {
    struct xbar_slice *s = &x->slice[slice];
    if (s->returned.side != x->returning) begin_row(&s->returned, x->returning);
    if (!x->collecting) return;
    const uint32_t row = x->sending ^ 1;
    uint8_t writer[1 << XBAR_INDEX_BITS];
    const uint32_t count = take_marks(&x->to_slice, row, slice, writer);
    for (uint32_t i = 0; i < count; i++)
        __builtin_prefetch(&x->pool[x->tpc[writer[i]].sent.row[row][slice].head]);
    for (uint32_t i = 0; i < count; i++) {
        struct batch *b = &x->tpc[writer[i]].sent.row[row][slice];
        request_prefetch(x->pool, b->head);
        streams_splice(&s->requests, writer[i], x->pool, b);
        if (x->sides > 1) batch_hand_over(b, &s->requests.stream[writer[i]]);
    }
}

void xbar_return(struct xbar *x, uint32_t slice, uint32_t node) {
    struct outbox *b = &x->slice[slice].returned;
    const uint32_t tpc = x->pool[node].tpc;
    put(b, marks_of(&x->to_tpc, b->side, tpc) + slice, tpc, x->pool, node);
}

uint64_t xbar_earliest(const struct xbar *x) {
    uint64_t earliest = XBAR_NEVER;
    for (uint32_t s = 0; s < x->slices; s++)
        if (x->slice[s].returned.earliest < earliest) earliest = x->slice[s].returned.earliest;
    for (uint32_t t = 0; t < x->tpcs; t++)
        if (x->tpc[t].earliest < earliest) earliest = x->tpc[t].earliest;
    return earliest;
}

/* ---- requests ---------------------------------------------------------------------------- */

/* Take a place in a slice's queues for the next request; *from is the cycle from which it is free.
 * False: all are taken, and none becomes free at a cycle that is known. */
static bool take_room(const struct xbar *x, struct xbar_tpc *tpc, uint32_t slice, uint64_t *from) {
    struct room *room = &tpc->room[slice];
    *from = 0;
    if (!x->room) return true;
    if (room->taken == x->room) return false;
    if (room->next < room->known) *from = tpc->freed[slice * x->room + room->next];
    room->next = xbar_place_after(x, room->next);
    room->taken++;
    return true;
}

/* A reply has left the place that has been taken longest; it is free from that cycle on. */
static void leave_room(const struct xbar *x, struct xbar_tpc *tpc, uint32_t slice, uint64_t cycle) {
    struct room *room = &tpc->room[slice];
    if (!x->room) return;
    assert(room->taken);
    tpc->freed[slice * x->room + room->answer] = cycle;
    if (room->known == room->answer) room->known++;
    room->answer = xbar_place_after(x, room->answer);
    room->taken--;
}

/* When a packet leaves the request port: in order, and not before `from`, since when there is room
 * in its slice. */
static uint64_t leave_port(const struct xbar *x, struct xbar_tpc *tpc, uint64_t cycle,
                           uint64_t from) {
    uint64_t start = clock_convert(&x->to_icnt, cycle);
    if (start < tpc->request_free) start = tpc->request_free;
    if (from <= cycle) return start;
    const uint64_t open = clock_convert(&x->to_icnt, from);
    if (open <= start) return start;
    tpc->blocked += open - start;
    return open;
}

/* The half of a chip whose slice serves a packet: the one beside the TPC if that only reads, else
 * that to which the address belongs. */
NOINLINE static uint32_t half_of(const struct xbar *x, const struct xbar_tpc *tpc,
                                 const struct packet *p) {
    const uint8_t kind = p->access->kind;
    return access_carries_data(kind) || kind == ACCESS_PRELOAD ? xbar_home(x, p->addr) : tpc->side;
}

/* The slice of a packet among those of all partitions; *in_slice is the address in it. */
static ALWAYS_INLINE uint32_t slice_of(const struct xbar *x, const struct xbar_tpc *tpc,
                                       const struct packet *p, uint32_t *in_slice) {
    uint32_t local;
    const uint32_t partition = addrmap_partition(&x->map, p->addr, &local);
    uint32_t slice = addrmap_slice(&x->map, local, in_slice);
    if (x->sides > 1) slice = half_of(x, tpc, p);
    return slice + (partition << x->slices_shift);
}

/* Make a packet a request under way; returns its node. */
static ALWAYS_INLINE uint32_t take_node(struct xbar *x, struct xbar_tpc *tpc,
                                        const struct packet *p, uint32_t in_slice) {
    uint32_t node = tpc->free;
    if (node != XBAR_NONE) tpc->free = x->pool[node].next;
    else node = tpc->fresh++;
    assert(node < tpc->end);
    struct request *r = &x->pool[node];
    tpc->in_flight++;
    const struct buffer *b = p->access->buffer;
    r->access = p->access;
    r->host = b ? buffer_at(b, p->addr) : NULL;
    r->addr = in_slice;
    r->lanes = p->lanes;
    r->sm = p->sm;
    r->tpc = (uint16_t)(tpc - x->tpc);
    r->bytes = p->bytes;
    r->kind = p->access->kind;
    r->number = tpc->number++;
    r->performed = false;
    r->whole = p->whole;
    r->flits = (uint16_t)xbar_request_flits(x, r);
    if (p->rides) r->flits = r->bytes = 0;
    return node;
}

/* How long a request holds the port where two small ones leave in a clock: the first one of them
 * not at all. */
static uint32_t pair_clocks(struct xbar_tpc *tpc, const struct request *r, uint64_t start) {
    if (!r->flits || (access_carries_data(r->kind) && r->bytes > 32)) return r->flits;
    const bool second = tpc->pair == start + 1;
    tpc->pair = second ? 0 : start + 1;
    return second;
}

/* Let a packet leave the request port; false: its slice has no room yet. */
static bool send(struct xbar *x, struct xbar_tpc *tpc, const struct packet *p) {
    uint32_t in_slice;
    uint64_t from;
    const uint32_t slice = slice_of(x, tpc, p, &in_slice);
    if (!take_room(x, tpc, slice, &from)) return false;
    const uint32_t node = take_node(x, tpc, p, in_slice);
    struct request *r = &x->pool[node];
    const uint64_t start = leave_port(x, tpc, p->cycle, from);
    tpc->request_free = start + (x->request_pairs ? pair_clocks(tpc, r, start) : r->flits);
    r->tick = start + x->latency + xbar_detour(x, r->tpc, slice);
    put(&tpc->sent, marks_of(&x->to_slice, tpc->sent.side, slice) + r->tpc, slice, x->pool, node);
    if (x->sides > 1) batch_note(&tpc->sent.row[tpc->sent.side][slice], r);
    return true;
}

/* Merge the sorted packets of the TPC's SMs by (cycle, SM). */
void xbar_send(struct xbar *x, uint32_t tpc, struct port *ports, uint64_t t1) {
    struct xbar_tpc *from = &x->tpc[tpc];
    struct port *first = &ports[tpc * x->sms_per_tpc], *end = first + xbar_sms_of(x, tpc);
    for (;;) {
        struct port *next = NULL;
        from->held = UINT64_MAX;
        for (struct port *p = first; p < end; p++)
            if (p->out_first < p->out_count && p->out[p->out_first].cycle < from->held) {
                next = p;
                from->held = p->out[p->out_first].cycle;
            }
        if (from->held >= t1 || !send(x, from, &next->out[next->out_first])) break;
        next->out_first++;
    }
    for (struct port *p = first; p < end; p++) port_trim(p);
}

/* Put a preload at the end of its slice's queue. */
NOINLINE static void send_ahead(struct xbar *x, const struct packet *p) {
    uint32_t in_slice;
    struct xbar_tpc *tpc = &x->tpc[p->sm / x->sms_per_tpc];
    struct batch *ahead = &x->slice[slice_of(x, tpc, p, &in_slice)].ahead;
    const uint32_t node = take_node(x, tpc, p, in_slice);
    const uint64_t cycle = p->cycle > x->ahead_free ? p->cycle : x->ahead_free;
    x->ahead_free = cycle + x->ahead_interval;
    x->pool[node].tick = clock_convert(&x->to_icnt, cycle) + x->latency;
    x->pool[node].next = XBAR_NONE;
    if (ahead->head == XBAR_NONE) ahead->head = node;
    else x->pool[ahead->tail].next = node;
    ahead->tail = node;
}

/* Merge them by (cycle, SM). */
void xbar_preload(struct xbar *x, struct port *ports) {
    for (;;) {
        struct port *next = NULL;
        for (struct port *p = ports; p < ports + x->sms; p++)
            if (p->ahead_first < p->ahead_count &&
                (!next || p->ahead[p->ahead_first].cycle < next->ahead[next->ahead_first].cycle))
                next = p;
        if (!next) break;
        send_ahead(x, &next->ahead[next->ahead_first++]);
    }
    for (struct port *p = ports; p < ports + x->sms; p++) p->ahead_first = p->ahead_count = 0;
}

/* ---- replies ----------------------------------------------------------------------------- */

/* How long a reply holds the reply port of its TPC, in parts of a tick. Without data it takes a
 * flit. */
static uint32_t reply_parts(const struct xbar *x, const struct request *r) {
    const bool data = x->reply_cost && r->kind != ACCESS_STORE;
    return data ? (r->bytes + 31u) / 32 * x->reply_cost : r->flits * PORT_PARTS;
}

static void deliver(struct xbar *x, struct xbar_tpc *tpc, struct port *ports, uint32_t slice,
                    uint32_t node) {
    struct request *r = &x->pool[node];
    uint64_t start = r->tick * PORT_PARTS;
    if (start < tpc->reply_free) start = tpc->reply_free;
    assert(tpc->in_flight);
    tpc->reply_free = start + reply_parts(x, r);
    const uint64_t end = (tpc->reply_free + PORT_PARTS - 1) / PORT_PARTS;
    struct port *port = &ports[r->sm];
    assert(port->in_count < port->in_capacity);
    const uint64_t cycle = clock_convert(&x->to_shader, end) + x->pipeline;
    port->in[port->in_count++] = (struct reply){cycle, r->access};
    if (r->kind != ACCESS_PRELOAD) leave_room(x, tpc, slice, cycle);
    r->next = tpc->free;
    tpc->free = node;
    tpc->in_flight--;
}

void xbar_receive(struct xbar *x, uint32_t tpc, struct port *ports, uint64_t tick) {
    struct xbar_tpc *to = &x->tpc[tpc];
    if (to->sent.side != x->sending) begin_row(&to->sent, x->sending);
    if (x->receiving) {
        const uint32_t row = x->returning ^ 1;
        uint8_t writer[1 << XBAR_INDEX_BITS];
        const uint32_t count = take_marks(&x->to_tpc, row, tpc, writer);
        for (uint32_t i = 0; i < count; i++)
            __builtin_prefetch(&x->pool[x->slice[writer[i]].returned.row[row][tpc].head]);
        for (uint32_t i = 0; i < count; i++)
            streams_splice(&to->replies, writer[i], x->pool,
                           &x->slice[writer[i]].returned.row[row][tpc]);
    }
    for (;;) {
        const uint32_t slice = streams_first(&to->replies, &to->earliest);
        if (to->earliest >= tick) break;
        const uint32_t node = to->replies.stream[slice].head, next = x->pool[node].next;
        streams_set(&to->replies, slice, x->pool, next);
        if (next != XBAR_NONE) request_prefetch_behind(x->pool, next);
        deliver(x, to, ports, slice, node);
    }
    streams_check(&to->replies, x->pool, x->slices);
}

#include "models/replay.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/lines.h"
#include "memory/addrmap.h"
#include "memory/memdetail.h"

#define WATCH_ITEMS  (1u << 14) /* a few ms of work */
#define WATCH_CLOCKS (1u << 16)

/* Does the caller want the replay to end? */
static bool stopped(const struct replay_watch *watch) { return watch->interrupted(watch->context); }

/* ---- one DRAM channel -------------------------------------------------------------------- */

/* How many column commands a request takes. */
static uint32_t bursts_of(const struct config *cfg, const struct dram_replay_request *r) {
    const uint32_t shift = bits_lowest(cfg->dram_burst_bytes);
    return ((r->address + r->bytes - 1u) >> shift) - (r->address >> shift) + 1;
}

/* [EST] Requests are told so many clocks before they arrive, as in a partition, where they still
 * have the latency to the channel before them. Results do not depend on it. */
#define AHEAD 100u

/* NULL if nothing is wrong with the request. */
static const char *request_fault(const struct config *cfg, const struct dram_replay_request *r,
                                 uint64_t before) {
    const uint32_t block = cfg->partition_bytes;
    if (r->arrival < before) return "arrives before the one before it";
    if (r->arrival >= REPLAY_LAST) return "arrives later than any clock";
    if (!r->bytes) return "has no bytes";
    if (r->address % block + r->bytes > block) return "leaves its block of partition_bytes";
    if (bursts_of(cfg, r) > DRAM_MAX_BURSTS) return "has more bursts than a channel takes at once";
    return NULL;
}

/* Advance the channel in steps, so that the user can stop it; false: the user has. */
static bool dram_run(struct dram *dram, uint64_t limit, const struct replay_watch *watch) {
    while (dram->wake < limit && limit - dram->wake > WATCH_CLOCKS) {
        if (stopped(watch)) return false;
        dram_advance(dram, dram->wake + WATCH_CLOCKS);
    }
    dram_advance(dram, limit);
    dram_check(dram);
    return true;
}

/* Put all requests into the channel, which serves those that it can while others arrive. */
static enum error dram_feed(struct dram *dram, const struct config *cfg,
                            const struct dram_replay_request *requests, uint64_t n,
                            const struct replay_watch *watch, struct replay_refusal *refused) {
    struct addrmap map;
    uint64_t before = 0;
    addrmap_init(&map, cfg);
    for (uint64_t i = 0; i < n; i++) {
        const struct dram_replay_request *r = &requests[i];
        *refused = (struct replay_refusal){i, request_fault(cfg, r, before), r->bytes, r->address,
                                           r->arrival};
        if (refused->what) return ERROR_BAD_LAUNCH;
        if (i % WATCH_ITEMS == 0 && stopped(watch)) return ERROR_INTERRUPTED;
        const uint32_t row = addrmap_row(&map, r->address);
        before = r->arrival;
        const struct dram_request request = {
            .arrival = r->arrival,
            .tag = (uint32_t)i,
            .row = row,
            .bank = addrmap_bank(&map, r->address, row),
            .bursts = (uint8_t)bursts_of(cfg, r),
            .write = r->write != 0,
        };
        /* no further: what arrives AHEAD clocks later is not known */
        const uint64_t limit = r->arrival > AHEAD ? r->arrival - AHEAD : 0;
        if (!dram_run(dram, limit, watch)) return ERROR_INTERRUPTED;
        dram_push(dram, &request);
    }
    return dram_run(dram, DRAM_NEVER, watch) ? OK : ERROR_INTERRUPTED;
}

enum error dram_replay(const struct config *cfg, const struct dram_replay_request *requests,
                       uint64_t n, uint64_t *done, struct dram_stats *stats, struct dram_log *log,
                       const struct replay_watch *watch, struct replay_refusal *refused) {
    struct dram dram;
    *refused = (struct replay_refusal){REPLAY_WHOLE, "2**30 requests or more", 0, 0, 0};
    if (n >= 1u << 30) return ERROR_BAD_LAUNCH;
    enum error e = dram_init(&dram, cfg, (uint32_t)n, 0);
    if (e) return e;
    dram.log = log;
    e = dram_feed(&dram, cfg, requests, n, watch, refused);
    if (!e)
        for (uint64_t clock; (clock = dram_done(&dram)) != DRAM_NEVER;)
            done[dram_pop(&dram)] = clock;
    *stats = dram.stats;
    dram_free(&dram);
    return e;
}

/* ---- one cache --------------------------------------------------------------------------- */

enum error cache_replay(const struct cache_shape *shape, const uint32_t *addresses,
                        const uint8_t *write, uint64_t n, uint8_t *hit, uint64_t *evicted,
                        const struct replay_watch *watch) {
    struct cache c;
    enum error e = cache_init(&c, shape, NULL, NULL);
    if (e) return e;
    uint64_t dirty = 0;
    for (uint64_t i = 0; i < n && !e; i++) {
        const uint32_t line = addresses[i] >> c.line_shift;
        const uint32_t sector = cache_sectors(&c, addresses[i], 1);
        uint32_t at = cache_find(&c, line);
        if (at == CACHE_NONE) {
            at = cache_victim(&c, line);
            dirty += c.lines[at].dirty != 0;
            cache_put(&c, at, line);
        } else {
            cache_touch(&c, at);
        }
        hit[i] = (c.lines[at].valid & sector) != 0;
        c.lines[at].valid |= (uint8_t)sector;
        if (write && write[i]) c.lines[at].dirty |= (uint8_t)sector;
        if (i % WATCH_ITEMS == 0 && stopped(watch)) e = ERROR_INTERRUPTED;
    }
    if (evicted) *evicted = dirty;
    cache_free(&c);
    return e;
}

/* ---- the memory side --------------------------------------------------------------------- */

/* An SM that sends its packets as early as order, credits and interval allow. */
struct sender {
    uint64_t next_free; /* earliest cycle of the next packet */
    uint64_t packet;    /* index of the next one, n: none left */
    uint32_t outstanding, head;
};

/* Everything that one run of the memory side needs. */
struct replay {
    const struct memory_replay *how;
    const struct memory_packet *packets;
    uint64_t *sent, *replied, *next; /* next packet of the same SM */
    uint64_t *index;                 /* per access: its packet */
    struct access *accesses;
    struct sender *senders;
    struct port *ports;
    struct packet *out;
    struct reply *in;
    struct memsys *memory;
    uint64_t n, left;
};

static void replay_free(struct replay *r) {
    if (r->memory) r->memory->model->destroy(r->memory);
    free(r->next);
    free(r->index);
    lines_free(r->accesses);
    free(r->senders);
    lines_free(r->ports);
    free(r->out);
    free(r->in);
}

/* NULL if nothing is wrong with the packet. */
static const char *packet_fault(const struct config *cfg, const struct memory_packet *p) {
    if (p->sm >= cfg->sm_count) return "is of no SM of the machine";
    if (!bits_is_power_of_two(p->bytes) || p->bytes < 4 || p->bytes > 256)
        return "must have 4 to 256 bytes, a power of two";
    if (p->address % p->bytes) return "is not at a multiple of its bytes";
    if (p->kind > ACCESS_TEXTURE) return "is of no kind";
    if (p->lanes > 32) return "has more than 32 lanes";
    return p->cycle >= REPLAY_LAST ? "is sent later than any cycle" : NULL;
}

/* Refuse the first packet with which something is wrong. */
static enum error check_packets(const struct config *cfg, const struct memory_packet *packets,
                                uint64_t n, struct replay_refusal *refused) {
    for (uint64_t i = 0; i < n; i++) {
        const struct memory_packet *p = &packets[i];
        *refused = (struct replay_refusal){i, packet_fault(cfg, p), p->bytes, p->address, p->cycle};
        if (refused->what) return ERROR_BAD_LAUNCH;
    }
    return OK;
}

/* Each SM has as many accesses as it has credits, its packets as a list in their order, and a port.
 */
static enum error replay_init(struct replay *r, const struct config *cfg) {
    const size_t sms = cfg->sm_count, credits = r->how->credits;
    r->next = malloc((size_t)(r->n + 1) * sizeof *r->next);
    r->index = calloc(sms * credits, sizeof *r->index);
    r->accesses = lines_alloc(sms * credits * sizeof *r->accesses);
    r->senders = calloc(sms, sizeof *r->senders);
    r->ports = lines_alloc(sms * sizeof *r->ports);
    r->out = calloc(2 * sms * credits, sizeof *r->out);
    r->in = calloc(sms * credits, sizeof *r->in);
    if (!r->next || !r->index || !r->accesses || !r->senders || !r->ports || !r->out || !r->in)
        return ERROR_NO_MEMORY;
    for (size_t s = 0; s < sms; s++) {
        r->ports[s].out = r->out + 2 * s * credits;
        r->ports[s].in = r->in + s * credits;
        r->ports[s].out_capacity = 2 * r->how->credits;
        r->ports[s].in_capacity = r->how->credits;
        r->senders[s].packet = r->n;
        for (size_t i = 0; i < credits; i++)
            r->accesses[s * credits + i].pending = (uint16_t)(i + 1); /* links free ones */
    }
    for (uint64_t i = r->n; i-- > 0;) {
        const struct memory_packet *p = &r->packets[i];
        r->next[i] = r->senders[p->sm].packet;
        r->senders[p->sm].packet = i;
    }
    r->left = r->n;
    return memdetail_create(&r->memory, cfg, 0);
}

/* The lanes that would ask for the packet: a word each, or one address for atomics. */
static void fill_access(struct access *a, const struct memory_packet *p) {
    const uint32_t lanes = p->kind == ACCESS_ATOM ? (p->lanes ? p->lanes : 1) : p->bytes / 4;
    a->kind = p->kind;
    a->width = lanes > 32 ? 8 : 4;
    a->mask = lanes >= 32 ? UINT32_MAX : (1u << lanes) - 1;
    for (uint32_t i = 0; i < 32; i++)
        a->addr[i] = p->address + (p->kind == ACCESS_ATOM ? 0 : i * a->width);
}

/* Advance one SM to t1: replies return credits, credits send packets. Of replies behind t1 some
 * that come earlier may not be known yet. */
static void sender_run(struct replay *r, uint16_t sm, uint64_t t1) {
    struct sender *s = &r->senders[sm];
    struct port *port = &r->ports[sm];
    const size_t base = (size_t)sm * r->how->credits;
    uint32_t used = 0; /* replies of port->in whose credit is back */
    while (s->packet < r->n) {
        const struct memory_packet *p = &r->packets[s->packet];
        uint64_t at = s->next_free > p->cycle ? s->next_free : p->cycle;
        while (used < port->in_count && port->in[used].cycle < t1 &&
               (port->in[used].cycle <= at || s->outstanding == r->how->credits)) {
            const uint32_t slot = (uint32_t)(port->in[used].access - (r->accesses + base));
            const uint64_t credit = port->in[used].cycle;
            r->accesses[base + slot].pending = (uint16_t)s->head;
            s->head = slot;
            s->outstanding--;
            used++;
            if (credit > at) at = credit;
        }
        /* Beyond the window, or no credit is free: its replies are not known yet. */
        if (at >= t1 || s->outstanding == r->how->credits) {
            if (s->next_free < at) s->next_free = at;
            break;
        }
        struct access *a = &r->accesses[base + s->head];
        r->index[base + s->head] = s->packet;
        s->head = a->pending;
        s->outstanding++;
        fill_access(a, p);
        port->out[port->out_count++] = (struct packet){.cycle = at,
                                                       .access = a,
                                                       .addr = p->address,
                                                       .lanes = a->mask,
                                                       .bytes = (uint16_t)p->bytes,
                                                       .sm = sm};
        r->sent[s->packet] = at;
        s->next_free = at + r->how->interval;
        s->packet = r->next[s->packet];
    }
    memmove(port->in, port->in + used, (port->in_count - used) * sizeof *port->in);
    port->in_count -= used;
}

/* Write down when the replies came that are new since `seen` of each SM's were there. */
static void note_replies(struct replay *r, const struct config *cfg, const uint32_t *seen) {
    for (uint32_t sm = 0; sm < cfg->sm_count; sm++)
        for (uint32_t i = seen[sm]; i < r->ports[sm].in_count; i++) {
            const struct reply *reply = &r->ports[sm].in[i];
            assert(r->left);
            r->replied[r->index[reply->access - r->accesses]] = reply->cycle;
            r->left--;
        }
}

/* The cycle of the next packet, those apart that wait for a reply of which nothing is known. */
static uint64_t next_packet(const struct replay *r, const struct config *cfg) {
    uint64_t at = UINT64_MAX;
    for (uint32_t sm = 0; sm < cfg->sm_count; sm++) {
        const struct sender *s = &r->senders[sm];
        const struct port *port = &r->ports[sm];
        const bool waits = s->outstanding == r->how->credits;
        if (s->packet == r->n || (waits && !port->in_count)) continue;
        uint64_t first = r->packets[s->packet].cycle;
        if (waits && port->in[0].cycle > first) first = port->in[0].cycle;
        if (s->next_free > first) first = s->next_free;
        if (first < at) at = first;
    }
    return at;
}

/* The end of the window that begins at t, as gpu.c has it. */
static uint64_t window_end(const struct replay *r, const struct config *cfg, uint64_t t,
                           uint32_t window) {
    const uint64_t packet = next_packet(r, cfg), reply = r->memory->model->next_reply(r->memory),
                   known = r->memory->model->known(r->memory, t);
    const uint64_t next = packet < reply ? packet : reply;
    const uint64_t end = (next > t ? next : t) + window;
    return end < known ? end : known;
}

/* Window by window: senders first, as SMs in a launch, then the memory side. */
static enum error replay_run(struct replay *r, const struct config *cfg,
                             const struct replay_watch *watch) {
    enum error e = OK;
    const uint32_t widest = r->memory->model->min_reply(r->memory);
    const uint32_t window = r->how->window && r->how->window < widest ? r->how->window : widest;
    uint32_t *seen = calloc(cfg->sm_count, sizeof *seen);
    if (!seen) return ERROR_NO_MEMORY;
    for (uint64_t t = 0; r->left;) {
        if (stopped(watch)) {
            e = ERROR_INTERRUPTED;
            break;
        }
        t = window_end(r, cfg, t, window);
        for (uint32_t sm = 0; sm < cfg->sm_count; sm++) {
            sender_run(r, (uint16_t)sm, t);
            seen[sm] = r->ports[sm].in_count;
        }
        memdetail_advance(r->memory, r->ports, t);
        note_replies(r, cfg, seen);
    }
    free(seen);
    return e;
}

enum error memory_replay(const struct config *cfg, const struct memory_replay *how,
                         const struct memory_packet *packets, uint64_t n, uint64_t *sent,
                         uint64_t *replied, struct counters *counters,
                         const struct replay_watch *watch, struct replay_refusal *refused) {
    struct replay r = {.how = how, .packets = packets, .n = n, .sent = sent, .replied = replied};
    *refused =
        (struct replay_refusal){REPLAY_WHOLE, "credits beyond the machine's, or too late", 0, 0, 0};
    if (!how->credits || how->credits > cfg->credits || n >= REPLAY_LAST ||
        (how->interval && n > REPLAY_LAST / how->interval))
        return ERROR_BAD_LAUNCH;
    enum error e = check_packets(cfg, packets, n, refused);
    if (!e) e = replay_init(&r, cfg);
    if (!e) e = replay_run(&r, cfg, watch);
    if (!e) r.memory->model->finish(r.memory, counters);
    replay_free(&r);
    return e;
}

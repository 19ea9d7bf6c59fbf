#include "sm/send.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"

/* ---- stores that wait -------------------------------------------------------------------- */

/* Stores are joined at the port (joined_stores.csv, store_stay.csv). The line that a store writes
 * takes one of store_queue places, and is in one of three states:
 *
 *   stays   Later stores to the line join it, until no store has come for some clocks (the more
 *           lines stay, the more clocks), or until others need the places.
 *   held    It is due to leave, but store_flights sectors are on their way to memory already:
 *           what lies behind the port is full. It leaves when one of these is answered.
 *   leaves  at a cycle that is known, in order, as fast as the port takes packets.
 *
 * Held packets stand behind all others in the port's list, and staying ones behind these. Loads
 * overtake both, except a load from the same line; such a load, and any atomic, leaves behind the
 * last store, and no store stays any longer. */

#define HELD_BACK (UINT64_MAX / 8) /* the cycle of a held packet: this, plus when it was due */
#define STAYS     (2 * HELD_BACK)  /* the cycle of a staying packet, except the first one */

/* [EST] How many stores become due at once when all places are taken: enough to keep the port busy
 * until the next access comes through the memory pipe. */
#define DRAINED 4

static inline uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static bool takes_place(const struct packet *p) {
    return p->access->kind == ACCESS_STORE && !p->rides && !p->shares;
}

static bool has_room(const struct sm *sm) { return sm->stores.flying < sm->m->cfg->store_flights; }

/* The first packet that is held or stays, and the first one that stays, if there are any. */
static struct packet *first_held(const struct sm *sm) {
    return &sm->port->out[sm->port->out_count - sm->stores.tail];
}

static struct packet *first_staying(const struct sm *sm) {
    return &sm->port->out[sm->port->out_count - sm->stores.back];
}

/* The cycle at which the first staying store is due if no other packet comes before. */
static uint64_t due(const struct sm *sm) {
    const struct store_queue *q = &sm->stores;
    return later(q->drains ? q->entered : q->due, later(q->pace, sm->port_free));
}

/* A store leaves: count its sectors as on their way to memory. */
static void put_in_flight(struct store_queue *q, const struct packet *p) {
    const uint32_t sectors = p->bytes / SECTOR_BYTES;
    assert(sectors && q->sent - q->answered < STORE_SECTORS);
    q->sectors[q->sent++ % STORE_SECTORS] = (uint8_t)sectors;
    q->flying += sectors;
}

/* A store that has left its place, but not yet the port, has become larger by some sectors. They
 * are added to the last store that left: only the number of sectors on their way matters. */
static void add_in_flight(struct store_queue *q, uint32_t sectors) {
    uint8_t *last = &q->sectors[(q->sent - 1) % STORE_SECTORS];
    assert(q->sent != q->answered && *last + sectors <= UINT8_MAX);
    *last += (uint8_t)sectors;
    q->flying += sectors;
}

/* Stores from `first` to `end` leave now. Lines of the program that a second level has asked for
 * meanwhile (chip/supply.h) go behind those that leave no later. */
static void pass_fetches(const struct port *port, struct packet *first, const struct packet *end) {
    while (first > &port->out[port->out_first] && first[-1].cycle >= first->cycle) {
        assert(first[-1].access->kind == ACCESS_FETCH);
        for (struct packet *p = --first; p + 1 < end && p[1].cycle <= p->cycle; p++) {
            const struct packet line = *p;
            *p = p[1];
            p[1] = line;
        }
    }
}

/* Let the first held store leave, at cycle `at` at the earliest, with the stores that have joined
 * it, other parts of its line, and the loads and atomics that wait behind it. */
static void release(struct sm *sm, uint64_t at) {
    struct store_queue *q = &sm->stores;
    struct packet *first = first_held(sm), *p = first;
    const uint32_t behind = q->held-- + q->stay;
    at = later(later(at, p->cycle - HELD_BACK), sm->port_free);
    if (behind <= STORE_PLACES) q->leaves[(q->count - behind) % STORE_PLACES] = at;
    do {
        if (p->rides) p->cycle = p[-1].cycle;
        else send_leave(sm, p, at);
        if (p->access->kind == ACCESS_STORE && !p->rides) put_in_flight(q, p);
        p++;
    } while (--q->tail && !takes_place(p));
    pass_fetches(sm->port, first, p);
}

/* The first staying store is due at a cycle: hold it, or let it leave. */
static void become_due(struct sm *sm, uint64_t at) {
    struct store_queue *q = &sm->stores;
    struct packet *p = first_staying(sm);
    q->leaves[(q->count - q->stay) % STORE_PLACES] = at;
    q->pace = at + send_clocks(sm->m->cfg, p);
    q->held++;
    if (--q->stay + DRAINED <= sm->m->cfg->store_queue) q->drains = false;
    do p++->cycle = HELD_BACK + at;
    while (--q->back && !takes_place(p));
    if (q->held == 1 && has_room(sm)) release(sm, at);
}

void send_settle(struct sm *sm, uint64_t t) {
    struct store_queue *q = &sm->stores;
    while (q->stay && due(sm) <= t) become_due(sm, due(sm));
    if (!q->stay || q->held) return;
    struct packet *p = first_staying(sm), *end = p + q->back;
    const uint64_t at = due(sm);
    do p++->cycle = at;
    while (p < end && !takes_place(p));
}

/* Give a store that comes at a cycle a place, the oldest store's if all are taken; returns the
 * cycle at which it has the place. */
static uint64_t place(struct sm *sm, uint64_t at) {
    struct store_queue *q = &sm->stores;
    const uint32_t places = sm->m->cfg->store_queue;
    while (q->stay >= places) become_due(sm, later(at, later(q->pace, sm->port_free)));
    if (q->count >= places) at = later(at, q->leaves[(q->count - places) % STORE_PLACES]);
    q->entered = at;
    return at;
}

/* A store has come at that cycle: stores stay for store_linger clocks from now, and one more for
 * each line that stays. */
static void stay_longer(struct sm *sm, uint64_t at) {
    const uint64_t linger = sm->m->cfg->store_linger;
    sm->stores.due = linger ? at + linger + sm->stores.stay : at;
}

void send_answered(struct sm *sm, const struct reply *r) {
    if (r->access->joined) {
        r->access->joined--;
        return;
    }
    struct store_queue *q = &sm->stores;
    send_settle(sm, r->cycle);
    q->flying -= q->sectors[q->answered++ % STORE_SECTORS];
    while (q->held && has_room(sm)) release(sm, r->cycle);
}

bool send_is_full(const struct sm *sm, uint32_t fresh) {
    const struct store_queue *q = &sm->stores;
    const struct packet *p = first_held(sm);
    uint32_t left = sm->m->cfg->store_queue + sm->m->cfg->pipe_queue * fresh;
    if (q->tail == q->held + q->stay) { /* one packet to a place */
        const uint32_t last = left - fresh + 1;
        if (q->held > last) return p[last].cycle - HELD_BACK <= sm->now;
        return q->held == last && !q->stay && p[last - 1].cycle - HELD_BACK <= sm->now;
    }
    for (uint32_t i = 0; i < q->tail; i++, p++) {
        if (p->cycle - HELD_BACK > sm->now) return false;
        if (takes_place(p) && left-- < fresh) return true;
    }
    return left < fresh;
}

/* ---- stores that join -------------------------------------------------------------------- */

/* A store joins an earlier one to the same line that has not left yet: its packet goes right behind
 * the other one's and takes no time (`rides`). Both write memory in the order of issue. A load from
 * the line between the two keeps them apart, as on the card, so that it reads what it should. */

static uint32_t words_of(const struct packet *p) {
    return access_words(p->access, p->lanes, p->addr, p->bytes);
}

/* Does the segment overlap that of a packet, or lie right beside it? */
static bool touches(const struct packet *p, uint32_t addr, uint32_t bytes) {
    return addr <= p->addr + p->bytes && p->addr <= addr + bytes;
}

/* Extend the segment of a store by that of another one that touches it. */
static void widen(struct packet *p, const struct packet *by) {
    const uint32_t begin = p->addr < by->addr ? p->addr : by->addr, end = p->addr + p->bytes,
                   last = by->addr + by->bytes;
    p->addr = begin;
    p->bytes = (uint16_t)((end > last ? end : last) - begin);
}

/* The index into store_queue.placed of a line, by a hash: lines may share one. */
static uint32_t line_entry(uint32_t addr) {
    return bits_spread(addr >> WORDS_SHIFT) >> (32 - STORE_LINE_BITS);
}

/* Is it sure that none of the last store_queue stores with a place was to the line? */
static bool is_elsewhere(const struct sm *sm, uint32_t addr) {
    const struct store_queue *q = &sm->stores;
    const uint32_t last = q->placed[line_entry(addr)];
    return (uint32_t)q->count - last > sm->m->cfg->store_queue;
}

/* The index in the port of the last store that touches a segment and leaves after cycle `at`, among
 * the last store_queue stores with places. out_count if there is none, or if a load from the line
 * or an atomic to it comes behind that store. */
static uint32_t find(const struct sm *sm, uint32_t addr, uint32_t bytes, uint64_t at) {
    const struct port *port = sm->port;
    if (is_elsewhere(sm, addr)) return port->out_count;
    uint32_t left = sm->m->cfg->store_queue;
    for (uint32_t i = port->out_count; i-- > port->out_first && port->out[i].cycle > at;) {
        const struct packet *p = &port->out[i];
        const bool store = p->access->kind == ACCESS_STORE;
        if (p->rides) continue;
        if (store && !p->shares && !left--) break;
        if (p->addr >> WORDS_SHIFT != addr >> WORDS_SHIFT) continue;
        if (!store) break;
        if (touches(p, addr, bytes)) return i;
    }
    return port->out_count;
}

/* The same for the last store to any part of the line. */
static uint32_t find_line(const struct sm *sm, uint32_t addr, uint64_t at) {
    const uint32_t line = addr >> WORDS_SHIFT << WORDS_SHIFT;
    return find(sm, line, 1u << WORDS_SHIFT, at);
}

uint32_t send_count_fresh(const struct sm *sm, const struct segment *seg, uint32_t n) {
    uint32_t fresh = 0;
    if (sm->stores.held + n <= sm->m->cfg->store_queue) return 0;
    for (uint32_t i = 0; i < n; i++)
        fresh += find(sm, seg[i].addr, seg[i].bytes, HELD_BACK - 1) == sm->port->out_count;
    return fresh;
}

/* Must a load or an atomic leave behind the stores that are held or stay? */
NOINLINE static bool follows(const struct sm *sm, const struct packet *p) {
    const struct packet *end = &sm->port->out[sm->port->out_count];
    if (p->access->kind == ACCESS_ATOM) return true;
    for (const struct packet *i = end - sm->stores.tail; i < end; i++)
        if (i->addr >> WORDS_SHIFT == p->addr >> WORDS_SHIFT) return true;
    return false;
}

/* Insert a packet into the port's list at index i. */
static void insert(struct port *port, uint32_t i, const struct packet *p) {
    memmove(&port->out[i + 1], &port->out[i], (port->out_count - i) * sizeof *p);
    port->out[i] = *p;
    port->out_count++;
}

/* Let a store join an earlier one that has not left by cycle `at`; false if there is none. */
static bool join(struct sm *sm, struct packet *p, uint64_t at) {
    struct port *port = sm->port;
    uint32_t i = find(sm, p->addr, p->bytes, at);
    if (i == port->out_count) return false;
    struct packet *to = &port->out[i];
    const bool waits = i >= port->out_count - sm->stores.tail,
               stays = i >= port->out_count - sm->stores.back;
    const uint32_t before = send_clocks(sm->m->cfg, to), size = to->bytes;
    uint32_t words = words_of(to) | words_of(p);
    widen(to, p);
    while (++i < port->out_count && port->out[i].rides) words |= words_of(&port->out[i]);
    to->whole = !(words_in(to->addr, to->bytes) & ~words);
    const uint32_t after = send_clocks(sm->m->cfg, to);
    if (after > before && !waits) sm->port_free += after - before;
    if (!waits) add_in_flight(&sm->stores, (to->bytes - size) / SECTOR_BYTES);
    p->cycle = to->cycle;
    p->rides = true;
    p->access->joined++;
    sm->stores.tail += waits;
    sm->stores.back += stays;
    insert(port, i, p);
    return true;
}

/* Let a store share the place of a staying store to another part of its line, which it does not
 * touch; false if there is none. */
static bool share(struct sm *sm, struct packet *p, uint64_t at) {
    struct port *port = sm->port;
    uint32_t i = find_line(sm, p->addr, at);
    if (i == port->out_count || i < port->out_count - sm->stores.back) return false;
    while (++i < port->out_count && !takes_place(&port->out[i]))
        ;
    p->cycle = port->out[i - 1].cycle;
    p->shares = true;
    sm->stores.tail++;
    sm->stores.back++;
    insert(port, i, p);
    return true;
}

/* Send a store. */
static void send_store(struct sm *sm, struct packet *p, uint64_t at) {
    struct store_queue *q = &sm->stores;
    if (!join(sm, p, at) && !share(sm, p, at)) {
        at = place(sm, at);
        p->cycle = STAYS;
        q->placed[line_entry(p->addr)] = (uint32_t)++q->count;
        q->tail++;
        q->back++;
        if (++q->stay >= sm->m->cfg->store_queue) q->drains = true;
        sm->port->out[sm->port->out_count++] = *p;
    }
    stay_longer(sm, at);
}

/* Send a load or an atomic. */
static void send_other(struct sm *sm, struct packet *p, uint64_t at) {
    struct port *port = sm->port;
    struct store_queue *q = &sm->stores;
    uint32_t i = port->out_count - q->tail;
    if (q->tail && follows(sm, p)) {
        i = port->out_count;
        p->cycle = port->out[i - 1].cycle;
        q->tail++;
        q->back += q->stay > 0;
        if (q->due > at) q->due = at;
    } else {
        send_leave(sm, p, at);
    }
    insert(port, i, p);
}

void send_among(struct sm *sm, struct packet p, uint64_t at) {
    send_settle(sm, at);
    if (p.access->kind == ACCESS_STORE) send_store(sm, &p, at);
    else send_other(sm, &p, at);
    send_settle(sm, at);
}

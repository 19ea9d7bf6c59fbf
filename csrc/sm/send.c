#include "sm/send.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"

/* ---- stores that wait -------------------------------------------------------------------- */

/* A line that is stored to takes one of a few places, until it leaves for memory, and the next one
 * in the pipe waits for a place (joined_stores.csv). They leave in order, as fast as the port takes
 * them; while so many sectors are under way the others wait for answers, since what lies behind the
 * port is full. Those that wait for an answer stand at the end of the port's packets and have no
 * time yet. Loads pass them, but not one to the same line, and not atomics: these leave behind the
 * last one. */

#define HELD_BACK (UINT64_MAX / 4) /* beside when such a packet could leave, its cycle */

static bool is_held(const struct packet *p) { return p->cycle >= HELD_BACK; }

static bool takes_place(const struct packet *p) {
    return p->access->kind == ACCESS_STORE && !p->rides;
}

/* When a store that comes at a cycle gets a place: when the one has left that was so many before.
 */
static uint64_t place(struct sm *sm, uint64_t at) {
    struct store_queue *q = &sm->stores;
    const uint64_t left = q->leaves[(q->count - sm->m->cfg->store_queue) % STORE_PLACES];
    if (q->count >= sm->m->cfg->store_queue && left > at) at = left;
    q->entered = at;
    return at;
}

/* Hold a store back. It is in the way of others as if it would leave when the port could take it.
 */
static void hold(struct sm *sm, struct packet *p, uint64_t at) {
    struct store_queue *q = &sm->stores;
    const uint64_t port = q->pace > sm->port_free ? q->pace : sm->port_free;
    if (port > at) at = port;
    q->pace = at + send_clocks(sm->m->cfg, p);
    p->cycle = HELD_BACK + at;
    q->held++;
    q->tail++;
}

static bool has_room(const struct sm *sm) { return sm->stores.flying < sm->m->cfg->store_flights; }

/* Sectors more are under way: those of a store that leaves. */
static void fly(struct store_queue *q, const struct packet *p) {
    const uint32_t sectors = p->bytes / SECTOR_BYTES;
    assert(sectors && q->sent - q->answered < STORE_SECTORS);
    q->sectors[q->sent++ % STORE_SECTORS] = (uint8_t)sectors;
    q->flying += sectors;
}

/* A store that has left the queue, but not the port, has become larger. Whose sectors they are
 * makes no difference, since all that counts is how many are under way. */
static void grow(struct store_queue *q, uint32_t sectors) {
    uint8_t *last = &q->sectors[(q->sent - 1) % STORE_SECTORS];
    assert(q->sent != q->answered && *last + sectors <= UINT8_MAX);
    *last += (uint8_t)sectors;
    q->flying += sectors;
}

/* Let the first one that is held back leave, with what has joined it. */
static void release(struct sm *sm, uint64_t t) {
    struct store_queue *q = &sm->stores;
    struct port *port = sm->port;
    uint32_t i = port->out_count - q->tail;
    struct packet *p = &port->out[i];
    const uint64_t could = p->cycle - HELD_BACK;
    send_leave(sm, p, t > could ? t : could);
    if (q->held <= STORE_PLACES) q->leaves[(q->count - q->held) % STORE_PLACES] = p->cycle;
    for (q->held--, q->tail--; q->tail && !takes_place(&port->out[++i]); q->tail--)
        if (port->out[i].rides) port->out[i].cycle = p->cycle;
        else send_leave(sm, &port->out[i], p->cycle);
    fly(q, p);
}

void send_answered(struct sm *sm, const struct reply *r) {
    if (r->access->joined) {
        r->access->joined--;
        return;
    }
    struct store_queue *q = &sm->stores;
    q->flying -= q->sectors[q->answered++ % STORE_SECTORS];
    while (q->held && has_room(sm)) release(sm, r->cycle);
}

bool send_is_full(const struct sm *sm, uint32_t fresh) {
    const struct packet *p = &sm->port->out[sm->port->out_count - sm->stores.tail];
    uint32_t left = sm->m->cfg->store_queue + sm->m->cfg->pipe_queue * fresh;
    for (uint32_t i = 0; i < sm->stores.tail; i++, p++) {
        if (p->cycle - HELD_BACK > sm->now) return false;
        if (takes_place(p) && left-- < fresh) return true;
    }
    return left < fresh;
}

/* ---- stores that join -------------------------------------------------------------------- */

/* A store to a line for which another one still waits joins that. Its packet goes right behind the
 * other one and costs nothing; both do to memory what they do in the order in which they were
 * issued. A load from the line between them keeps them apart, as on the card, and so sees what it
 * should. */

static uint32_t words_of(const struct packet *p) {
    return access_words(p->access, p->lanes, p->addr, p->bytes);
}

/* Make the segment of a store that waits take in that of another one beside or within it. False: a
 * gap would lie between them. */
static bool widen(struct packet *p, const struct packet *by) {
    const uint32_t begin = p->addr < by->addr ? p->addr : by->addr, end = p->addr + p->bytes,
                   last = by->addr + by->bytes;
    if (p->addr > last || by->addr > end) return false;
    p->addr = begin;
    p->bytes = (uint16_t)((end > last ? end : last) - begin);
    return true;
}

/* The place in the port of the last packet for a line that has yet to leave after cycle `at`, among
 * stores that have places; out_count if that is no store, or there is none. */
static uint32_t find(const struct sm *sm, uint32_t addr, uint64_t at) {
    const struct port *port = sm->port;
    uint32_t left = sm->m->cfg->store_queue;
    for (uint32_t i = port->out_count; i-- > port->out_first && port->out[i].cycle > at;) {
        const struct packet *p = &port->out[i];
        const bool store = p->access->kind == ACCESS_STORE;
        if (p->rides) continue;
        if (store && !left--) break;
        if (p->addr >> WORDS_SHIFT == addr >> WORDS_SHIFT) return store ? i : port->out_count;
    }
    return port->out_count;
}

uint32_t send_count_fresh(const struct sm *sm, const struct segment *seg, uint32_t n) {
    uint32_t fresh = 0;
    if (sm->stores.held + n <= sm->m->cfg->store_queue) return 0;
    for (uint32_t i = 0; i < n; i++)
        fresh += find(sm, seg[i].addr, HELD_BACK - 1) == sm->port->out_count;
    return fresh;
}

/* Does a packet have to leave behind the stores that are held back? */
NOINLINE static bool follows(const struct sm *sm, const struct packet *p) {
    const struct packet *end = &sm->port->out[sm->port->out_count];
    if (p->access->kind == ACCESS_ATOM) return true;
    for (const struct packet *i = end - sm->stores.tail; i < end; i++)
        if (i->addr >> WORDS_SHIFT == p->addr >> WORDS_SHIFT) return true;
    return false;
}

/* Put a packet into the port in front of the one at place i. */
static void insert(struct port *port, uint32_t i, const struct packet *p) {
    memmove(&port->out[i + 1], &port->out[i], (port->out_count - i) * sizeof *p);
    port->out[i] = *p;
    port->out_count++;
}

/* Let a store join another one that has yet to leave; false if it cannot. */
static bool join(struct sm *sm, struct packet *p, uint64_t at) {
    struct port *port = sm->port;
    uint32_t i = find(sm, p->addr, at);
    if (i == port->out_count) return false;
    struct packet *to = &port->out[i];
    const uint32_t before = send_clocks(sm->m->cfg, to), size = to->bytes;
    uint32_t words = words_of(to) | words_of(p);
    if (!widen(to, p)) return false;
    while (++i < port->out_count && port->out[i].rides) words |= words_of(&port->out[i]);
    to->whole = !(words_in(to->addr, to->bytes) & ~words);
    const uint32_t after = send_clocks(sm->m->cfg, to);
    if (after > before && !is_held(to)) sm->port_free += after - before;
    if (!is_held(to)) grow(&sm->stores, (to->bytes - size) / SECTOR_BYTES);
    p->cycle = to->cycle;
    p->rides = true;
    p->access->joined++;
    sm->stores.tail += is_held(to);
    insert(port, i, p);
    return true;
}

/* Send a store. */
static void send_store(struct sm *sm, struct packet *p, uint64_t at) {
    struct store_queue *q = &sm->stores;
    if (join(sm, p, at)) return;
    at = place(sm, at);
    if (has_room(sm)) {
        assert(!q->held);
        send_leave(sm, p, at);
        fly(q, p);
    } else {
        hold(sm, p, at);
    }
    q->leaves[q->count++ % STORE_PLACES] = p->cycle % HELD_BACK;
    sm->port->out[sm->port->out_count++] = *p;
}

void send_among(struct sm *sm, struct packet p, uint64_t at) {
    struct port *port = sm->port;
    uint32_t i = port->out_count - sm->stores.tail;
    if (p.access->kind == ACCESS_STORE) {
        send_store(sm, &p, at);
        return;
    }
    if (sm->stores.tail && follows(sm, &p)) {
        i = port->out_count;
        p.cycle = port->out[i - 1].cycle;
        sm->stores.tail++;
    } else {
        send_leave(sm, &p, at);
    }
    insert(port, i, &p);
}

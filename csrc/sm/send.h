/* The port by which packets leave an SM, and the stores that wait there and are joined with others.
 */
#ifndef SMMUX_SEND_H
#define SMMUX_SEND_H

#include <assert.h>

#include "base/bits.h"
#include "base/hints.h"
#include "memory/atomics.h"
#include "memory/coalesce.h"
#include "memory/xbar.h"
#include "sm/sm.h"

/* Prefetch the bytes that the memory system will access: most likely they are in no cache of the
 * host. */
static inline void send_prefetch(const struct buffer *b, uint32_t addr, uint32_t bytes) {
    for (uint32_t line = 0; line < bytes; line += 64) {
        const uint8_t *at = buffer_at(b, addr + line);
        if (at) __builtin_prefetch(at);
    }
}

/* For how many clocks a packet holds the SM's port: longer if it carries data, as stores and
 * atomics do. */
static ALWAYS_INLINE uint32_t send_clocks(const struct config *cfg, const struct packet *p) {
    if (!cfg->store_bytes) return cfg->issue_global;
    const struct access *a = p->access;
    uint32_t clocks = access_carries_data(a->kind) ? p->bytes / cfg->store_bytes : 0;
    if (a->kind == ACCESS_ATOM && cfg->store_mask) clocks = atomics_flits(a, p->lanes);
    else if (clocks && cfg->store_mask && !p->whole && !p->shares &&
             !access_covers(a, p->lanes, p->bytes))
        clocks++;
    return clocks > cfg->issue_global ? clocks : cfg->issue_global;
}

/* Let a packet leave at a cycle, or as soon as the port is free. */
static ALWAYS_INLINE void send_leave(struct sm *sm, struct packet *p, uint64_t at) {
    p->cycle = sm->port_free > at ? sm->port_free : at;
    sm->port_free = p->cycle + send_clocks(sm->m->cfg, p);
}

/* send_packet on a machine where stores wait at the port (store_queue). */
void send_among(struct sm *sm, struct packet p, uint64_t at);

/* Send a packet for these lanes of the access, at cycle `at` or as soon as the port is free: they
 * leave in order, one per issue interval of global accesses. */
static ALWAYS_INLINE void send_packet(struct sm *sm, struct access *a, uint32_t addr,
                                      uint32_t bytes, uint32_t lanes, uint64_t at) {
    struct packet p = {.access = a,
                       .addr = addr,
                       .lanes = lanes,
                       .bytes = (uint16_t)bytes,
                       .sm = (uint16_t)sm->id};
    assert(sm->port->out_count < sm->port->out_capacity);
    if (a->buffer) send_prefetch(a->buffer, addr, bytes);
    if (sm->m->cfg->store_queue) {
        send_among(sm, p, at);
        return;
    }
    send_leave(sm, &p, at);
    sm->port->out[sm->port->out_count++] = p;
}

/* Let the staying stores leave that are due by cycle t. To be called before anything that changes
 * when the port is free, or that asks how many stores wait: so stores leave as if they were looked
 * at in every cycle. */
void send_settle(struct sm *sm, uint64_t t);

/* A store has been answered: a held one may leave. */
void send_answered(struct sm *sm, const struct reply *r);

/* Are there stores by now that are due and held until earlier ones are answered? */
static inline bool send_waits(struct sm *sm) {
    if (sm->stores.stay) send_settle(sm, sm->now);
    return sm->stores.held;
}

/* How many of these segments would need a place of their own, since they can join no store that is
 * held; 0 if there are places for all. */
uint32_t send_count_fresh(const struct sm *sm, const struct segment *seg, uint32_t n);

/* The same; 0 also if no stores are held. */
static inline uint32_t send_fresh(struct sm *sm, const struct segment *seg, uint32_t n) {
    return send_waits(sm) ? send_count_fresh(sm, seg, n) : 0;
}

/* Do held stores leave too few places for `fresh` more, and for the accesses in front of them in
 * the memory pipe? */
bool send_is_full(const struct sm *sm, uint32_t fresh);

/* Is there a place for so many further stores? */
static inline bool send_has_room(struct sm *sm, uint32_t fresh) {
    return !fresh || !send_waits(sm) || !send_is_full(sm, fresh);
}

/* The cycle at which the last store gets its place, less the latency to the port: from then on the
 * next one can take the path to memory. */
static inline uint64_t send_entered(const struct sm *sm) {
    const uint64_t way = sm->m->cfg->lat_global;
    return sm->stores.entered > way ? sm->stores.entered - way : 0;
}

#endif

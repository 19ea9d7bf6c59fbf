/* Packets out of an SM: the port that they leave by, and stores that wait there and join. */
#ifndef SMMUX_SEND_H
#define SMMUX_SEND_H

#include "memory/coalesce.h"
#include "sm/sm.h"

/* Send a packet for these lanes of the access, at cycle `at` or as soon as the port is free. */
void send_packet(struct sm *sm, struct access *a, uint32_t addr, uint32_t bytes, uint32_t lanes,
                 uint64_t at);
/* A store has been answered: another one may leave. */
void send_answered(struct sm *sm, const struct reply *r);

/* How many of these segments would join no store that waits for an answer; 0 if places are no
 * matter. */
uint32_t send_fresh(const struct sm *sm, const struct segment *seg, uint32_t n);

/* Do stores that wait for answers leave no places for so many, nor for accesses before them in the
 * pipe? */
bool send_is_full(const struct sm *sm, uint32_t fresh);

static inline bool send_has_room(const struct sm *sm, uint32_t fresh) {
    return !fresh || !sm->stores.held || !send_is_full(sm, fresh);
}

/* When the last store has got its place, and makes way for the next one. */
static inline uint64_t send_entered(const struct sm *sm) {
    const uint64_t way = sm->m->cfg->lat_global;
    return sm->stores.entered > way ? sm->stores.entered - way : 0;
}

#endif

/* What the slices of a partition have to do with each other where each is of another half of the
 * chip. */
#ifndef SMMUX_HALVES_H
#define SMMUX_HALVES_H

#include "memory/partition.h"

/* What slices of two halves need: no more crosses over than they have asked for. */
bool halves_init(struct partition *p, const struct config *cfg);
/* Let something come from the other half. */
void halves_hop(struct partition *p, uint32_t tag, uint64_t tick);
/* The first of these is here; returns what it is. */
uint32_t halves_arrive(struct partition *p);
/* The slice of the other half keeps what this one drops, and drops what is written here. */
void halves_tell(struct partition *p, uint32_t n, const struct request *r,
                 const struct l2_work *work);
/* The first request of a stream has gone. */
static inline void halves_served(struct batch *stream, const struct request *r) {
    struct content *c = &stream->content[access_carries_data(r->kind)];
    if (--c->count == 0) c->lines = 0;
}

/* What a TPC does to one line takes place in its order, though its loads may overtake its stores on
 * their way to the other half: older ones there are performed at once, and answered in their time.
 */
void halves_perform_older(struct partition *p, uint32_t n, const struct request *r);

/* Read or write memory for a request. */
static inline void request_perform(struct request *r) {
    if (r->access->buffer && r->kind <= ACCESS_ATOM) access_perform(r->access, r->lanes);
}

#endif

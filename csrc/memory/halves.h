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
/* Ask the slice to whose half it belongs for what another one lacks, and will have as that fill.
 * What it has comes across, the rest once it is there: `beyond` says what it needs of DRAM for
 * that. As l2_ask. */
enum l2_answer halves_ask(struct partition *p, uint32_t home, const struct l2_work *lacked,
                          uint32_t fill, struct l2_work *beyond, uint64_t tick);
/* A slice has some of a pending miss: once it has all, so will the other half that waits for it. */
void halves_echo(struct partition *p, struct slice *s, uint32_t miss, uint64_t tick);
/* The slice of the other half drops what a request writes here. */
void halves_tell(struct partition *p, uint32_t n, const struct request *r);
/* The first request of a stream has gone. */
static inline void halves_served(struct batch *stream, const struct request *r) {
    struct content *c = &stream->content[access_carries_data(r->kind)];
    if (--c->count == 0) c->lines = 0;
}

/* What a TPC does to one line takes place in its order, though its loads may overtake its stores on
 * their way to the other half: older ones there are performed at once, and answered in their time.
 */
void halves_perform_older(struct partition *p, uint32_t n, const struct request *r);

/* The slice to whose half a line belongs, by its address in the partition. */
static inline uint32_t halves_home(const struct partition *p, uint32_t addr) {
    const uint32_t number = p->slice->number / p->slices;
    return xbar_home(p->xbar, addrmap_address(&p->xbar->map, number, addr));
}

#endif

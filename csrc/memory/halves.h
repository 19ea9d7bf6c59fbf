/* Two halves of a chip (l2_sides = 2): what the two slices of a partition, one in each half, ask
 * and tell each other. A line's home is the slice in the half to which the line belongs
 * (partition.h). */
#ifndef SMMUX_HALVES_H
#define SMMUX_HALVES_H

#include "memory/partition.h"

/* Set up what slices of two halves need; false if there is no memory. At most as many messages are
 * under way as slices have pending sectors. */
bool halves_init(struct partition *p, const struct config *cfg);
/* Send a message to the other half; it arrives `crossing` ticks later. */
void halves_hop(struct partition *p, uint32_t tag, uint64_t tick);
/* Take the first message, which has arrived; returns its tag. */
uint32_t halves_arrive(struct partition *p);
/* Ask a line's home slice for the sectors that the other slice lacks, which come as `fill`. L2_HIT:
 * they are sent. L2_MISS: they are sent when the home slice has them, and `beyond` is what it needs
 * of DRAM for that. L2_BLOCKED: it has no room for them, nothing has changed. */
enum l2_answer halves_ask(struct partition *p, uint32_t home, const struct l2_work *lacked,
                          uint32_t fill, struct l2_work *beyond, uint64_t tick);
/* A slice has got sectors of a pending miss: if these are all, send them to the other half, if that
 * waits for them. */
void halves_echo(struct partition *p, struct slice *s, uint32_t miss, uint64_t tick);
/* Let the slice of the other half drop the sectors that a request writes in slice n. */
void halves_tell(struct partition *p, uint32_t n, const struct request *r);
/* Take the first request of a stream out of what the stream is known to contain. */
static inline void halves_served(struct batch *stream, const struct request *r) {
    struct content *c = &stream->content[access_carries_data(r->kind)];
    if (--c->count == 0) c->lines = 0;
}

/* Keep a TPC's accesses to one line in order. Its loads go to the slice of its own half and may
 * overtake its stores to the home slice in the other half: before r is performed in slice n, older
 * accesses to its line that are on their way to the other slice are performed, which are answered
 * in their own time. */
void halves_perform_older(struct partition *p, uint32_t n, const struct request *r);

/* The home slice of a line, by its address in the partition. */
static inline uint32_t halves_home(const struct partition *p, uint32_t addr) {
    const uint32_t number = p->slice->number / p->slices;
    return xbar_home(p->xbar, addrmap_address(&p->xbar->map, number, addr));
}

#endif

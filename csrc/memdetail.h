/* The detailed memory system behind memsys.h (config mem_model 1): crossbar, partitions
 * with L2 slices, command-level DRAM. memsys.c forwards to it.
 *
 * A window is three steps: route (serial), every partition (any order, any thread),
 * deliver (serial). memdetail_advance runs them one after the other. */
#ifndef SMMUX_MEMDETAIL_H
#define SMMUX_MEMDETAIL_H

#include "config.h"
#include "counters.h"
#include "errors.h"
#include "memsys.h"

struct memdetail;

/* ERROR_BAD_CONFIG: parameters contradict each other in ways that ranges cannot say. */
enum error memdetail_check(const struct config *cfg);
enum error memdetail_create(struct memdetail **out, const struct config *cfg);
void memdetail_destroy(struct memdetail *m);
uint32_t memdetail_min_reply(const struct memdetail *m);
uint32_t memdetail_partitions(const struct memdetail *m);

/* Take the packets with cycle < t1 (later ones stay at the front of their port). */
void memdetail_route(struct memdetail *m, struct port *ports, uint64_t t1);
/* Simulate one partition as far as t1 allows; partitions are independent of each other. */
void memdetail_partition(struct memdetail *m, uint32_t partition);
/* Append every reply with cycle < t1 + min_reply to its SM's port, in order of time. */
void memdetail_deliver(struct memdetail *m, struct port *ports);
void memdetail_advance(struct memdetail *m, struct port *ports, uint64_t t1);

/* No reply comes before this cycle, counting packets that wait in a port; UINT64_MAX when
 * nothing is in flight. */
uint64_t memdetail_next_event(const struct memdetail *m);
/* After the last reply: finish the writes still on their way to DRAM, so that counters do
 * not depend on windows. */
void memdetail_drain(struct memdetail *m);
void memdetail_counters(const struct memdetail *m, struct counters *into);

#endif

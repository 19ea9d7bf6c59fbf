/* The detailed memory system behind memsys.h (config mem_model 1): crossbar, partitions
 * with L2 slices, command-level DRAM. memsys.c forwards to it.
 *
 * It advances in passes, in which TPCs, partitions or both take part, every one of them alone, in
 * any order and on any thread: a TPC receives its replies and, once its SMs have run, sends
 * their packets; a partition serves what was sent in the pass before. */
#ifndef SMMUX_MEMDETAIL_H
#define SMMUX_MEMDETAIL_H

#include "base/config.h"
#include "base/counters.h"
#include "base/errors.h"
#include "memory/memsys.h"

struct dram;
struct memdetail;

/* The parameters have passed config_check_memory. */
enum error memdetail_create(struct memdetail **out, const struct config *cfg, uint32_t preloads);
void memdetail_destroy(struct memdetail *m);
/* The least time from packet.cycle to reply.cycle. */
uint32_t memdetail_min_reply(const struct memdetail *m);

/* Begin a pass. Partitions take part if they have not been simulated to cycle t, before which all
 * packets have been sent; returns how many do. */
uint32_t memdetail_begin(struct memdetail *m, uint64_t t, bool tpcs);
/* Simulate a partition that takes part in the pass to where the pass ends. */
void memdetail_partition(struct memdetail *m, uint32_t partition);
/* Append every reply with cycle < t + min_reply to its SM's port, in order of time, where t is that
 * of the last pass. */
void memdetail_receive(struct memdetail *m, uint32_t tpc, struct port *ports);
/* Take the packets with cycle < t1 (later ones stay at the front of their port). */
void memdetail_send(struct memdetail *m, uint32_t tpc, struct port *ports, uint64_t t1);
/* Take the preloads of all SMs, which have run to one cycle. */
void memdetail_preload(struct memdetail *m, struct port *ports);
/* Do it all for one window: send the packets with cycle < t1, advance the partitions, receive. */
void memdetail_advance(struct memdetail *m, struct port *ports, uint64_t t1);

/* ---- between passes ------------------------------------------------------------------------ */

/* Did one partition have more than one of so many threads' share when they last took part? */
bool memdetail_is_camped(const struct memdetail *m, uint32_t threads);
/* The cycle that the partitions have reached. */
uint64_t memdetail_reached(const struct memdetail *m);
/* The cycle before which every reply is known; UINT64_MAX when nothing is in flight. */
uint64_t memdetail_known(const struct memdetail *m);
/* A cycle before which no reply comes that has yet to be received. */
uint64_t memdetail_next_reply(const struct memdetail *m);
/* Finish the writes that are still on their way to DRAM after the last reply, so that counters do
 * not depend on windows. */
void memdetail_drain(struct memdetail *m);
/* Keep a time line of each channel. */
enum error memdetail_trace(struct memdetail *m);
/* The channel of a partition. */
const struct dram *memdetail_dram(const struct memdetail *m, uint32_t partition);
/* Add what crossbar, partitions, L2 and DRAM have counted. */
void memdetail_counters(const struct memdetail *m, struct counters *into);

#endif

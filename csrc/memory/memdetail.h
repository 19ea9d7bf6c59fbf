/* The detailed memory system (config mem_model 1): crossbar, partitions with L2 slices,
 * command-level DRAM.
 *
 * It advances in passes, in which TPCs, partitions or both take part, every one of them alone, in
 * any order and on any thread: a TPC receives its replies and, once its SMs have run, sends
 * their packets; a partition serves what was sent in the pass before. */
#ifndef SMMUX_MEMDETAIL_H
#define SMMUX_MEMDETAIL_H

#include "memory/memsys.h"

/* The parameters have passed config_check_memory. */
enum error memdetail_create(struct memsys **out, const struct config *cfg, uint32_t preloads);
/* Do it all for one window: send the packets with cycle < t1, advance the partitions, receive. */
void memdetail_advance(struct memsys *m, struct port *ports, uint64_t t1);

#endif

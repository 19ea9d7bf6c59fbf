/* Flat memory: a fixed latency behind one server of the whole chip's bandwidth. */
#ifndef SMMUX_MEMFLAT_H
#define SMMUX_MEMFLAT_H

#include "memory/memsys.h"

struct memflat {
    const struct config *cfg;
    uint32_t ports;
    uint64_t free_ticks; /* when the server is free, in 1/flat_bytes_per_kclk of a clk */
    uint64_t reached;    /* packets before this cycle have been served */
    uint64_t preloads;   /* served */
    uint64_t next_reply; /* least cycle of a reply not served before the last advance */
};

void memflat_init(struct memflat *m, const struct config *cfg, uint32_t ports);
void memflat_advance(struct memflat *m, struct port *ports, uint64_t t1);

#endif

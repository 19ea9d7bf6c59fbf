/* Accesses as they happened: of one block of each SM, the one that accesses memory first, the
 * addresses of every lane, with its arrivals at barriers between them. */
#ifndef SMMUX_RECORD_H
#define SMMUX_RECORD_H

#include "sm/memop.h"

/* One instruction of a warp that accessed shared, constant, global or texture memory, or arrived at
 * a barrier. Python reads it: no padding. */
struct recorded {
    uint64_t cycle;
    uint32_t pc, block, warp; /* numbers in the program, in the grid and in the block */
    uint32_t active;          /* lanes, a bit each */
    uint32_t addr[32];        /* of the device, or of the block's shared or constant memory */
};

_Static_assert(sizeof(struct recorded) == 152, "the layout of smmux.results.recorded.ACCESS");

#define RECORDS_MOST (1u << 20) /* that may be asked for */

/* What an SM keeps: the first ones; none that come later, so that what is kept has no gaps. */
struct records {
    uint32_t block, count, most;
    struct recorded row[];
};

/* Room for so many; NULL if there is no memory. */
struct records *records_create(uint32_t most);
/* Keep an access that issues; base: what its addresses count from. */
void record_access(const struct memop *op, uint32_t base);
/* Keep the arrival of a warp at its barrier at cycle t. */
void record_arrival(const struct sm *sm, uint32_t warp, uint64_t t);

#endif

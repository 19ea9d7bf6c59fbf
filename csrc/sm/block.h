/* Blocks on an SM: start, barriers, dynamic shared memory, end. */
#ifndef SMMUX_BLOCK_H
#define SMMUX_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errors.h"

struct sm;
struct uop;

/* A slot for a block that is resident: what its warps have in common. */
struct block {
    bool used, started;     /* used but not started: waits for its static part */
    bool holds;             /* it holds its dynamic shared memory */
    bool region;            /* between an opening and a closing barrier (Figure 1) */
    bool isolating;         /* the barrier being assembled bears INSN_ISOLATE */
    bool synced;            /* has completed a barrier */
    bool released;          /* all blocks have arrived at the barrier of the grid */
    bool crowded;           /* has waited for room in its sub-cores */
    bool held;              /* has all its resources, but waits for its tile */
    uint32_t dynamic_bytes; /* asked for by its last allocation */
    uint8_t barrier;        /* enum bar_option of the barrier being assembled */
    uint32_t id;
    uint32_t warps_live, arrived;
    uint32_t accesses_pending;
    uint32_t static_base, dynamic_base; /* in the SM's shared memory */
    uint64_t start;                     /* cycle */
    uint64_t arrival;                   /* cycle at which it last began to wait for shared memory */
    uint64_t opened;                    /* cycle at which its region began */
    uint64_t arrivals;                  /* sum of the cycles at which warps reached the barrier */
    uint64_t first_define, last_use;    /* cycles of shared-memory accesses, NEVER and 0: none */
    uint64_t warp_slots;                /* bit per warp slot */
    uint32_t barrier_pc;
    uint32_t tile_lines; /* lines of its tile, or of the preload that it waits for before its start;
                            0: none */
    uint32_t tile_base, tile_pending; /* in shared memory; lines on their way */
    uint64_t tile_users;              /* bit per warp slot: the warp may still load from the tile */
};

/* A block that is to start, and when; or the end of a barrier of the whole grid. */
#define GRID_RELEASE UINT32_MAX
struct coming_block {
    uint64_t cycle;
    uint32_t block;
};

/* Let a block start at that cycle, to which the SM has yet to run. */
void block_add(struct sm *sm, uint32_t block, uint64_t cycle);
/* Start the blocks that are due, or end a barrier of the grid. */
void block_start_due(struct sm *sm);
/* Record a fault of a block, at the barrier where it waits or before its first instruction: the SM
 * stops. */
void block_fault(struct sm *sm, const struct block *b, enum error code);
/* A block ended at cycle `end`: the SM runs no further than to where the next one may start. */
void block_await_next(struct sm *sm, uint64_t end);
/* A warp has come to a barrier. */
void block_arrive(struct sm *sm, uint32_t warp, const struct uop *u, uint64_t t);
/* The last lanes of a warp have exited. */
void block_warp_exit(struct sm *sm, uint32_t warp, uint64_t t);
/* When a warp goes on behind a barrier that all have come to at cycle `open`, if `before` warps
 * have left before it. Arithmetic right behind a barrier of compiled code does not wait, only what
 * comes behind that (h200: barrier_rounds.csv). */
uint64_t block_leaves(const struct sm *sm, uint32_t warp, uint64_t open, uint32_t before);
/* An access of the block's has been answered. */
void block_access_done(struct sm *sm, uint32_t block, uint64_t t);
/* A line of the block's tile has come, or the tile has had its last use. */
void block_tile_moved(struct sm *sm, uint32_t block, uint64_t t);

#endif

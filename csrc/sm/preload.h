/* Tiles: lines of arrays that are fetched into unused shared memory before a block starts
 * (TELEPORT: Lashgar, Atoofian and Baniasadi 2018).
 *
 * The preload table of a launch holds, per entry, a range of an array whose ends are affine forms
 * of the block's index. Where a block has its place on an SM, its ranges become a set of lines:
 * each once, in order of address. They lie side by side in one entry of the SMM table, which static
 * parts of blocks never want (preload.floor): no block starts later for the tile of another one.
 * Tags, one per line of shared memory, say which line lies there and whether it has come. Nobody
 * evicts a tile; it goes with its block or, under dynamic management, after its last use.
 *
 * Only arrays that the kernel does not write are preloaded, so tiles move no values: a load that
 * finds its lines reads memory when it issues, whatever the partitions do then, as a texture does.
 *
 *   preload.c  what the table says: lines of a block, instructions that look tags up
 *   tiles.c    the tags of an SM: place, fetch, look up, give back
 *   preload/   what is fetched, and who waits for it: a file per policy */
#ifndef SMMUX_PRELOAD_H
#define SMMUX_PRELOAD_H

#include "base/policies.h"
#include "sm/memop.h"
#include "sm/smem.h"

#define MAX_ENTRIES 1024u

/* What a policy of policies.def decides. */
struct preload_policy {
    bool active;  /* else the table is ignored */
    bool fetches; /* lines come from memory; else they are there at once */
    bool holds;   /* a block starts when its tile is complete */
    bool awaits;  /* a load waits for lines that are on their way */
};

/* All of them, by enum preload_policy. */
extern const struct preload_policy *const preload_policies[PRELOAD_COUNT];

/* A range of an array: its first and its last byte, counted from the array's first one, as
 * coefficients of the block's index and a constant. */
struct preload_entry {
    int64_t array; /* of the launch */
    int64_t low[4], high[4];
};

/* What all SMs share of the preload table of a launch. */
struct preload {
    const struct preload_policy *policy;
    struct preload_entry entry[MAX_ENTRIES];
    uint32_t count;
    uint32_t overflow, refused; /* entries of the launch that are not among these */
    uint32_t floor;             /* bytes: the static parts of as many blocks as may reside */
    bool early;                 /* tiles go after their last use */
    uint8_t *loads, *later; /* per instruction: it may find a tile's line; it or one after it may */
};

/* Consecutive lines. */
struct line_span {
    uint32_t first, last; /* numbers of lines, both included */
};

/* Set the table up for a launch, whose views are joined; *out stays NULL where there is none. */
enum error preload_create(struct preload **out, const struct machine *m,
                          const struct preload_entry *entries, uint32_t count, bool early,
                          struct fault *fault);
void preload_destroy(struct preload *p);
/* The lines that the block of that number reads as spans, disjoint and in ascending order, at most
 * MAX_ENTRIES; returns how many spans, and in *skipped how many ranges are too long. */
uint32_t preload_spans(const struct machine *m, uint32_t number,
                       struct line_span spans[MAX_ENTRIES], uint32_t *skipped);

/* ---- the tiles of an SM (tiles.c) --------------------------------------------------------- */

/* A line of shared memory that holds one of a tile, or is to hold it. */
struct tag {
    uint32_t line;    /* number */
    uint32_t waiters; /* list of accesses that want words of it */
    bool ready;
};

/* How many lines of shared memory tiles may take. */
static inline uint32_t preload_tags(const struct config *cfg) {
    return cfg->smem_bytes / cfg->preload_line;
}

/* A block has its slot: find out how many lines its tile has. */
void tiles_measure(struct sm *sm, struct block *b);
/* Must the block wait for room for its tile before it may start? */
bool tiles_wait(const struct sm *sm, const struct block *b);
/* The block has its static part: give it its tile, if there is room, and ask for the lines. */
void tiles_open(struct sm *sm, struct block *b, uint64_t t);
/* Take the tile back; no line of it is on its way. */
void tiles_close(struct sm *sm, struct block *b, uint64_t t);
/* A line has come. */
void tiles_fill(struct sm *sm, struct access *fill, uint64_t t);

/* What an access finds in its block's tile. */
struct tile_share {
    uint32_t lanes; /* whose lines are there or on their way */
    uint32_t hits, waits, misses;
    uint32_t busy; /* clocks for which these lanes hold the unit */
    struct smem_cost cost;
    struct segment wait[COALESCE_MAX_SEGMENTS]; /* addr: the number of the tag */
};

/* Look an access up in the tags. */
void tiles_look(struct memop *op, struct tile_share *share);
/* The access issues: read what the tile has for it, count, and let it wait for lines on their way;
 * returns how many those are. */
uint32_t tiles_read(struct memop *op, struct access *a, const struct tile_share *share);
/* The warp has issued a load that may find a tile's line, or has come to a barrier: if none
 * follows, it has done with the tile. */
void tiles_pass(struct sm *sm, uint32_t warp);
/* The warp exits. */
void tiles_exit(struct sm *sm, uint32_t warp);

#ifdef SMMUX_CHECK
void tiles_check(const struct sm *sm);
#else
static inline void tiles_check(const struct sm *sm) { (void)sm; }
#endif

#endif

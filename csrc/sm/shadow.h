/* Shadow memory: which threads last accessed each piece of an SM's shared memory, and when. check.c
 * uses it for blocks and barriers, races.c for accesses. */
#ifndef SMMUX_SHADOW_H
#define SMMUX_SHADOW_H

#include "base/bits.h"
#include "sm/check.h"
#include "sm/flags.h"

/* A tag names the thread that accessed a piece: epoch | several | warp slot | lane; 0: none. The
 * epoch counts barriers of the SM, so that all tags of an earlier interval, or of an earlier block,
 * are smaller than the interval's first. */
#define TAG_LANE    0x1fu
#define TAG_WARP    0x7e0u
#define TAG_THREAD  (TAG_WARP | TAG_LANE)
#define TAG_SEVERAL 0x800u /* the second tag is of the same interval */
#define TAG_EPOCH   12u
#define EPOCHS      (1u << (32 - TAG_EPOCH))

#define MOST_BARRIERS 64u /* words of shared memory that are remembered as barriers */

/* Kinds of accesses that make a difference to races. */
enum access_class { BY_STORE, BY_LOAD, BY_ATOMIC, ACCESS_CLASSES };

/* What a block has done since its last barrier, and what counts as written by it. */
struct interval {
    uint32_t start;    /* tags below are ordered by a barrier, or of another block */
    uint32_t fresh[2]; /* tags below do not initialise the static and the dynamic part */
    bool met;          /* its threads have met at a barrier, at least once */
    bool holds;        /* it has its dynamic part, by its barriers, whatever the management does */
};

/* Tags of a piece and the instructions that left them, BY_STORE and BY_LOAD; apart, since nearly
 * every access looks at first tags alone. */
struct piece {
    uint32_t tag[2];
};
struct piece_pc {
    uint16_t pc[2];
};

/* A piece is what the narrowest access of the program covers, so that byte stores by different
 * threads into one word are apart. Of each class two tags of different threads are kept, of
 * different warps where there are such: whoever comes next differs from one of them, so that no
 * access that races with an earlier one is missed (unless only some lanes of a warp have met
 * since).
 */
typedef uint32_t lane_epochs[32][32];

struct check {
    bool strict;    /* lockstep is no order */
    bool atomics;   /* the program has some */
    bool met;       /* a syncwarp has ordered lanes, once at least */
    uint32_t shift; /* log2 of the bytes of a piece */
    uint32_t epoch;
    size_t piece_count;
    struct piece *first, *second;
    struct piece_pc *first_pc, *second_pc;
    uint32_t *atomic[2]; /* first and second tags of atomics */
    uint16_t *atomic_pc[2];
    struct interval blocks[MAX_BLOCKS]; /* by block slot */
    /* By warp: tags of a lane below known[warp][observer][lane] are ordered before what the
     * observer does. */
    lane_epochs *known;
    struct {
        uint32_t late;   /* lanes that have met others of their block before */
        uint16_t pc[32]; /* per lane */
    } exits[MAX_WARPS];
    /* Words that are asynchronous barriers: 1 + address; the oldest make way. */
    uint32_t barriers[MOST_BARRIERS];
    uint32_t barrier_count;
    struct flags flags;
    struct events events;
    struct findings findings;
};

/* The number in its block of a warp's first thread. */
static inline uint32_t first_thread(const struct block *b, uint32_t warp) {
    return 32 * bits_count64(b->warp_slots & ((1ull << warp) - 1));
}

/* Begin an epoch; returns the smallest tag of accesses from now on. */
uint32_t check_epoch(struct check *c);
/* Let an access to shared memory publish what its warp has done, or look what others have. */
void check_flags(const struct memop *op);
/* Count a finding in a block at cycle t. */
void check_report(struct sm *sm, const struct block *b, uint64_t t, struct finding found);

#endif

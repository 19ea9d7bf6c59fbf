/* Lanes of a warp that go their own ways, in compiled code for CC 7.0 and above: groups of lanes at
 * one instruction each, of which one is active, and barrier registers at which groups meet (US
 * 10,067,768; spec/sass.md 4.6). The groups that are not active lie in the warp's stack, oldest
 * first. */
#ifndef SMMUX_CONVERGE_H
#define SMMUX_CONVERGE_H

#include "kernel/decode.h"
#include "sm/warp.h"

/* What a group that is not active waits for, in `rpc` of its entry. */
enum group_state {
    GROUP_READY,        /* for its turn */
    GROUP_YIELDED,      /* for its turn; barriers count it as there */
    GROUP_WARPSYNC,     /* for the lanes of `others` to come to a warpsync */
    GROUP_EXCLUSIVE,    /* the same, to go on without others that come to it */
    GROUP_COLLECTIVE,   /* for the lanes of `others` to come to a copy of the same collective */
    GROUP_COLLECTED,    /* for the end of the collective, in which its lanes act */
    GROUP_BLOCK,        /* for the other lanes to come to the barrier of the block */
    GROUP_BARRIER = 16, /* + number of the barrier register: for the other lanes of that */
};

/* What a warp of compiled code has beside what all have. */
struct convergence {
    uint32_t turns;   /* how often the active lanes have gone back */
    uint32_t served;  /* lanes of a generic access that are done */
    uint64_t until;   /* how long it waits for a barrier that it tries; 0: it does not */
    uint32_t tries;   /* in vain, one after the other */
    uint32_t reduced; /* what its last barrier that reduces has found */
    bool deferred;    /* the newest group that is ready has parted from the active one */
    uint16_t loading[MAX_REGS + MAX_UNIFORM_REGS]; /* loads into each register under way (obey.h) */
    uint32_t barriers[CONVERGENCE_BARRIERS][32];   /* whom each lane meets there */
    uint8_t kept[CONVERGENCE_BARRIERS][32];        /* views that it keeps elsewhere, in functions */
    uint32_t keepers[CONVERGENCE_BARRIERS];        /* lanes that keep any */
    uint32_t gone[CONVERGENCE_BARRIERS][32]; /* lanes of kept views that wait there no more... */
    uint8_t first[CONVERGENCE_BARRIERS][32]; /* ... and how many views lie below the lowest... */
    uint8_t last[CONVERGENCE_BARRIERS][32];  /* ... and the highest of those */
};

/* A warp begins: it has no groups, none of so many barrier registers has lanes, and two predicates
 * are true. No loads of another warp in its place are under way. */
void converge_begin(struct warp *w, uint32_t barriers);
/* Let the lanes `taken` of the active ones go on at target, the others behind the branch. */
void converge_branch(struct warp *w, uint32_t taken, uint32_t target);
/* Let each active lane go on at an address of its own, which are those of instructions. */
void converge_scatter(struct warp *w, const uint32_t target[32]);
/* Let only some of the active lanes do what comes now; the others go on behind it. */
void converge_leave(struct warp *w, uint32_t lanes);
/* The active lanes will meet at a barrier register. Each lane has a view of its own of who that is,
 * since lanes that have parted use one register at the same time. */
void converge_enter(struct warp *w, uint32_t barrier);
/* Lanes will not come to a barrier register. */
void converge_break(struct warp *w, uint32_t barrier, uint32_t lanes);
/* The active lanes wait at a barrier register; whoever can goes on. Nobody may be active then, here
 * and below: w->mask is 0. */
void converge_wait(struct warp *w, uint32_t barrier);
/* Lanes copy their views of a barrier register to a row, where functions keep those of who calls
 * them, or to none, and perhaps clear the register; or back from there. */
void converge_keep(struct warp *w, uint32_t barrier, uint32_t lanes, uint32_t *row, bool clear);
void converge_restore(struct warp *w, uint32_t barrier, uint32_t lanes, const uint32_t *row);
/* Each active lane waits until the lanes that it names have come to a warpsync, too. Who is freed
 * at one instruction goes on as one group, at an exclusive one only who has named the same lanes.
 */
void converge_sync(struct warp *w, const uint32_t lanes[32], bool exclusive);
/* The active lanes, and those that wait for the lanes of a mask. */
uint32_t converge_met(const struct warp *w, uint32_t named);
/* The same at a copy of a collective, in which they act as one up to its end. */
void converge_collect(struct warp *w, const uint32_t lanes[32]);
/* The end of a collective: each lane goes on behind its own copy, at the target of the instruction
 * where it came. */
void converge_disperse(struct warp *w, const struct uop *code);
/* Let the other groups have their turn first. */
void converge_yield(struct warp *w);
/* The active lanes wait for what others do: at their next branch back those have their turn. */
void converge_tire(struct warp *w);
/* The lanes, some of the active ones, are no more; false if that was the last. */
bool converge_exit(struct warp *w, uint32_t lanes);
/* The active lanes wait at a barrier of the block. */
void converge_block(struct warp *w);
/* Nobody is active: do all lanes wait at a barrier of the block? If so, its pc is that of the warp,
 * and each goes on behind its own when that lets the warp go: the first group becomes the active
 * one. */
bool converge_gather(struct warp *w);

#endif

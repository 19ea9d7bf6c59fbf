/* Lanes of a warp that go their own ways, in compiled code for CC 7.0 and above: groups of lanes at
 * one instruction each, of which one is active, and barrier registers at which groups meet (US
 * 10,067,768; spec/sass.md 4.6). The groups that are not active lie in the warp's stack, oldest
 * first. */
#ifndef SMMUX_CONVERGE_H
#define SMMUX_CONVERGE_H

#include "sm/warp.h"

/* What a group that is not active waits for, in `rpc` of its entry. */
enum group_state {
    GROUP_READY,        /* for its turn */
    GROUP_YIELDED,      /* for its turn; barriers count it as there */
    GROUP_WARPSYNC,     /* for the lanes of `others` to come to a warpsync */
    GROUP_BLOCK,        /* for the other lanes to come to the barrier of the block */
    GROUP_BARRIER = 16, /* + number of the barrier register: for the other lanes of that */
};

/* A warp begins: it has no groups, no barrier register has lanes, and two predicates are true. */
void converge_begin(struct warp *w);
/* Let the lanes `taken` of the active ones go on at target, the others behind the branch. */
void converge_branch(struct warp *w, uint32_t taken, uint32_t target);
/* Let each active lane go on at an address of its own, which are those of instructions. */
void converge_scatter(struct warp *w, const uint32_t target[32]);
/* The active lanes wait at a barrier register; whoever can goes on. Nobody may be active then, here
 * and below: w->mask is 0. */
void converge_wait(struct warp *w, uint32_t barrier);
/* The active lanes wait until those lanes have come to a warpsync, too. */
void converge_sync(struct warp *w, uint32_t lanes);
/* Let the other groups have their turn first. */
void converge_yield(struct warp *w);
/* The lanes, some of the active ones, are no more; false if that was the last. */
bool converge_exit(struct warp *w, uint32_t lanes);
/* Some of the active lanes wait at a barrier of the block; the others go on. */
void converge_block(struct warp *w, uint32_t lanes);
/* Nobody is active: do all lanes wait at a barrier of the block? If so, its pc is that of the warp,
 * and each goes on behind its own when that lets the warp go: the first group becomes the active
 * one. */
bool converge_gather(struct warp *w);

#endif

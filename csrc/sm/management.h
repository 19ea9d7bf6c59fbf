/* How an SM hands out its shared memory: one struct of functions per management, each in a file of
 * its own under sm/management/ and a row of policies.def.
 *
 * Blocks that want shared memory wait in the SM's queue, in order of arrival: for their static part
 * before they start, and for an allocation at a barrier. Whenever somebody comes or memory becomes
 * free, block.c asks the management who is next, whether that block may start and where its part
 * lies. Once a start finds no place, no other start is asked until something has changed; likewise
 * with allocations, but a start and an allocation may overtake each other: were nobody to overtake,
 * a start could wait for ever for the end of blocks that queue behind it
 * (tests/models/test_dispatch.py). */
#ifndef SMMUX_MANAGEMENT_H
#define SMMUX_MANAGEMENT_H

#include "base/policies.h"
#include "sm/sm.h"

struct management {
    /* Dynamic memory is a block's from bar.sync +1 to bar.sync -1 only. Without that both are plain
     * barriers, and a block holds all its memory from start to end. */
    bool dynamic;
    /* May a block start that waits for its static part, if that has a place? */
    bool (*may_start)(struct sm *sm, const struct block *b);
    /* Where the part that the block waits for is to lie; false: the block waits on. Not asked for a
     * static part of 0 bytes. */
    bool (*place)(struct sm *sm, const struct block *b, uint32_t *at);
    /* The index of the one to be asked next among `count` slots of blocks that wait, in order of
     * arrival; called for two or more. */
    uint32_t (*next)(struct sm *sm, const uint32_t *slots, uint32_t count);
};

/* All of them, by enum management_policy. */
extern const struct management *const managements[MANAGEMENT_COUNT];

/* Bytes that a waiting block asks for: its static part, or what its last allocation says. */
uint32_t management_bytes(const struct sm *sm, const struct block *b);

/* ---- what most managements do ------------------------------------------------------------ */

/* May start: always. */
bool management_any(struct sm *sm, const struct block *b);
/* Place: static parts first fit from address 0 up, allocations at the highest free address. */
bool management_two_ends(struct sm *sm, const struct block *b, uint32_t *at);
/* Next: who came first. */
uint32_t management_first_come(struct sm *sm, const uint32_t *slots, uint32_t count);

#endif

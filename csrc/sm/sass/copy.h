/* Asynchronous copies from global to shared memory (LDGSTS): loads whose answers go there, and the
 * groups of them for which a warp may wait. */
#ifndef SMMUX_COPY_H
#define SMMUX_COPY_H

#include "sm/memop.h"

#define COPY_GROUPS 64u /* that a warp keeps apart; the last one takes what more there are */

/* What a copy is, in `sub` of its instruction. */
enum copy_kind {
    COPY_PLAIN = 1,   /* a predicate says which lanes copy; the others write zeros */
    COPY_NEGATED = 2, /* the predicate is negated */
    COPY_ZFILL = 4,   /* low bits of the global address say how many bytes at the end are zeros */
};

/* A warp's copies: those under way, by group. Groups from `first` to `open` are not complete. */
struct copies {
    uint32_t first, open;
    uint32_t goal; /* the warp waits until that group is the first one; 0: it does not wait */
    uint16_t pending[COPY_GROUPS];
};

/* Where an access under way goes. */
struct copy {
    uint32_t to[32];         /* bytes of the SM's shared memory */
    uint16_t group, arrival; /* of those of its warp, the one for which it counts */
    uint8_t keep[32];        /* bytes of each lane that are no zeros */
};

/* Issue a copy. False if it has to wait, or faulted. */
bool copy_issue(struct memop *op);
/* The access of a copy has been issued. */
void copy_begin(struct memop *op, struct access *a);
/* A segment of one has come. */
void copy_answered(struct sm *sm, struct access *a, uint64_t t);
/* The copies that have been issued are a group. */
void copy_commit(struct sm *sm, uint32_t warp);
/* Are all groups but the last `left` complete? If not, the warp sleeps until they are. */
bool copy_wait(struct sm *sm, uint32_t warp, uint32_t left);

#endif

/* An access to shared memory under examination, and its place in shadow memory (shadow.h). */
#ifndef SMMUX_RACES_H
#define SMMUX_RACES_H

#include "sm/shadow.h"

/* One warp instruction under examination. */
struct visit {
    struct check *check;
    const struct memop *op;
    const struct block *b;
    uint32_t start, fresh;       /* of the block's interval */
    const uint32_t (*known)[32]; /* of the warp */
    const uint32_t *heard;       /* by warp slot: what flags have told the warp of it */
    uint32_t tag;                /* of the instruction: lane 0 */
    uint32_t base;               /* of the part in the SM's shared memory */
    uint32_t skew;               /* of its pieces: the base's remainder */
    uint32_t pieces;             /* per lane, side by side */
    const uint32_t *data[4];     /* what a store stores */
    bool recorded; /* a store whose tags are there already, since it races with nothing before it */
};

/* The piece at an address. Pieces count from the start of the block's memory, which a small
 * `smm_unit` puts anywhere. */
static inline uint32_t piece_of(const struct visit *v, uint32_t address) {
    return (address - v->skew) >> v->check->shift;
}

static inline uint32_t address_of(const struct visit *v, uint32_t piece) {
    return (piece << v->check->shift) + v->skew;
}

static inline uint32_t *tag_at(const struct check *c, enum access_class class, uint32_t which,
                               uint32_t piece) {
    if (class == BY_ATOMIC) return &c->atomic[which][piece];
    return &(which ? c->second : c->first)[piece].tag[class];
}

static inline uint16_t *pc_at(const struct check *c, enum access_class class, uint32_t which,
                              uint32_t piece) {
    if (class == BY_ATOMIC) return &c->atomic_pc[which][piece];
    return &(which ? c->second_pc : c->first_pc)[piece].pc[class];
}

/* Has the lane met, since then, the lane of its warp that left the tag? */
static inline bool known(const struct visit *v, uint32_t tag, uint32_t lane) {
    return tag < v->known[lane][tag & TAG_LANE];
}

/* Does a barrier or a flag order the earlier access before all that the warp does now? */
static inline bool before(const struct visit *v, uint32_t tag) {
    return tag < v->start || tag < v->heard[(tag & TAG_WARP) >> 5];
}

/* Does a barrier, a flag or a syncwarp stand between the earlier access and this lane's? */
static inline bool ordered(const struct visit *v, uint32_t tag, uint32_t lane) {
    if (before(v, tag)) return true;
    if ((tag ^ v->tag) & TAG_WARP) return false;
    return (tag & TAG_LANE) == lane || known(v, tag, lane);
}

/* Is a tag not needed to find races any more, given this lane's access? */
static inline bool replaceable(const struct visit *v, uint32_t tag, uint32_t lane) {
    if (before(v, tag) || !((tag ^ (v->tag | lane)) & TAG_THREAD)) return true;
    return !((tag ^ v->tag) & TAG_WARP) && known(v, tag, lane);
}

/* Leave the tag of a lane's access. One of two threads of a warp makes way for a thread of another
 * warp, since neither lockstep nor a syncwarp orders those. */
static inline void leave_tag(const struct visit *v, enum access_class class, uint32_t piece,
                             uint32_t lane) {
    struct check *c = v->check;
    uint32_t *first = tag_at(c, class, 0, piece), *second = tag_at(c, class, 1, piece);
    const uint32_t tag = v->tag | lane;
    if (replaceable(v, *first, lane)) {
        *first = tag | (*first < v->start ? 0 : *first & TAG_SEVERAL);
        *pc_at(c, class, 0, piece) = (uint16_t)v->op->pc;
    } else if (replaceable(v, *second, lane) ||
               (!((*first ^ *second) & TAG_WARP) && ((*first ^ tag) & TAG_WARP))) {
        *second = tag;
        *first |= TAG_SEVERAL;
        *pc_at(c, class, 1, piece) = (uint16_t)v->op->pc;
    }
}

/* Examine a load or a store of all lanes at once, as nearly all accesses have nothing to report.
 * True if this one has nothing either: then it is recorded. Else it is to be examined lane by lane.
 */
bool races_none(struct visit *v, const uint8_t shape[2]);

#endif

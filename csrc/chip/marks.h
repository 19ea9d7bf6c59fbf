/* Shadow memory of arrays: who accessed each piece of them last, and when. Only what may race has
 * marks: arrays that the program never writes have none, and those that it only writes have none of
 * loads. Views of one memory have theirs in common. */
#ifndef SMMUX_MARKS_H
#define SMMUX_MARKS_H

#include "chip/order.h"

/* An access that was there; epoch 0: none. */
struct mark {
    uint32_t epoch, block;
    uint32_t who;        /* warp slot of the chip | lane | flags */
    uint16_t pc, thread; /* the latter counts in the block */
};

#define MARK_LANE   0x1fu
#define MARK_SLOT   5u         /* shift of the warp slot */
#define MARK_SM     19u        /* shift of its SM */
#define MARK_WHO    0xfffffffu /* both */
#define MARK_FENCE  (1u << 28) /* a store directly behind a fence */
#define MARK_POLL   (1u << 29) /* a load that decides whether its loop goes on */
#define MARK_ASKS   (1u << 30) /* an atomic whose value is taken, or a strong load */
#define MARK_STRONG (1u << 31) /* of compiled code: an atomic, or a volatile or atomic variable */

_Static_assert((uint64_t)MOST_sm_count *MAX_WARPS << MARK_SLOT <= MARK_WHO, "slots have room");

/* What may be accessed at once, since no other array shares its memory. The first mark of loads and
 * of atomics is followed by one of another thread: of another block where there is such, else of
 * another warp. So whoever comes next differs from one of them. */
struct extent {
    uint64_t low, high; /* device addresses */
    uint32_t shift;     /* log2 of the bytes that the narrowest access covers, a piece: 2 at most */
    bool loads, stores, atomics; /* the program has such */
    bool sparse;                 /* the heap of compiled code, of which little is used */
    struct mark *store, (*load)[2], (*atomic)[2]; /* per piece, NULL where they cannot race */
    uint32_t *value;                              /* that was stored last, per piece */
};

struct marks {
    struct extent *extents;
    struct extent **of; /* by buffer */
    uint32_t count;
    uint8_t *polls;   /* enum poll, by instruction */
    uint8_t *watched; /* by instruction: its accesses may race, or order others */
};

#define MARKS_MOST (4ull << 30) /* bytes that the check may take */

/* Set them up for a launch; where they take too much, `fault` says so. */
enum error marks_init(struct marks *m, const struct machine *machine, struct fault *fault);
void marks_free(struct marks *m);

/* The extent to which a lane of an access goes, which is within an array. */
struct extent *marks_extent(const struct marks *m, const struct machine *machine,
                            const struct uop *u, uint32_t address);

/* Forget all accesses to so many bytes of an array, from an address in it on. */
void marks_forget(const struct marks *m, const struct machine *machine, uint32_t address,
                  uint32_t bytes);

/* Does the program have threads that look at what others publish? */
bool marks_look(const struct program *p, const struct marks *m);

#endif

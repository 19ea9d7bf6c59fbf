/* What an SM tells the check of global memory: its accesses, and what orders them, as they happen.
 * One that looks at all SMs (chip/observer.h) reads them when the window has ended: threads of
 * different SMs race, and windows of SMs run side by side. */
#ifndef SMMUX_EVENTS_H
#define SMMUX_EVENTS_H

#include "sm/memop.h"

enum event_kind {
    EVENT_START,     /* a block begins */
    EVENT_BARRIER,   /* all its warps have met */
    EVENT_GRID,      /* and those of all other blocks, too */
    EVENT_FENCE,     /* a warp waits until all see what it has stored */
    EVENT_SYNCWARP,  /* its lanes have met */
    EVENT_ACCESS,    /* it loads, stores or does an atomic; addresses follow, 32 bits per lane, and
                      * what a store stores, 32 lanes of each word */
    EVENT_FLAG,      /* it publishes, or looks, in shared memory: addresses follow */
    EVENT_HEAP_FREE, /* it gives memory of the heap back */
};

struct event {
    uint64_t cycle;
    uint64_t warps; /* bit per warp slot of the block */
    uint32_t block; /* its number in the grid */
    union {
        uint32_t active;  /* lanes of the access */
        uint32_t address; /* of the memory that is given back */
    };
    uint16_t pc, size; /* the latter in 64-bit words, with what follows */
    uint8_t kind, warp;
    union {
        bool settled;     /* the warp waits for no load and no atomic: it knows what they said */
        bool publishes;   /* of a flag, */
        uint8_t log_size; /* of the memory that is given back: log2 of its bytes */
    };
    bool looks; /* and this too */
};

#define EVENT_WORDS  (sizeof(struct event) / 8)
#define LANE_WORDS   16u                            /* 64-bit words of a value per lane */
#define ACCESS_WORDS (EVENT_WORDS + 5 * LANE_WORDS) /* of the widest store */

_Static_assert(sizeof(struct event) % 8 == 0, "events lie side by side");

/* Addresses of an access, and word i of what it stores. */
static inline const uint32_t *event_addresses(const struct event *e) {
    return (const uint32_t *)(e + 1);
}

static inline const uint32_t *event_data(const struct event *e, uint32_t i) {
    return event_addresses(e) + 32 * (1 + i);
}

/* Those of an SM in the order in which they happened. Two halves take turns: the SM writes one
 * while what it wrote in the window before is read. */
struct events {
    uint64_t *words[2];
    size_t used[2], capacity;
    uint32_t half; /* that the SM writes */
};

#define EVENTS_CLOCKS 512u /* the most clocks of a window */

/* Room for what can happen in a window; false: there is no memory. The host hands out pages as they
 * are touched. */
bool events_init(struct events *e, const struct config *cfg);
void events_free(struct events *e);

/* Note what happened to a block, or to one of its warps. */
void events_add(struct events *e, const struct sm *sm, const struct block *b, enum event_kind kind,
                uint32_t warp);
/* Note that a block's warp gives 2^log_size bytes of the heap back. */
void events_heap_free(struct events *e, const struct sm *sm, const struct block *b,
                      uint32_t address, uint32_t log_size);
/* Note an access to global memory that issues. */
void events_access(struct events *e, const struct memop *op);
/* Note that an access to shared memory publishes, or looks. */
void events_flag(struct events *e, const struct memop *op, bool publishes, bool looks);

#endif

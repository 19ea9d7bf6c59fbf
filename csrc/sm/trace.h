/* The time line of an SM: events of its blocks, and a sample of its counters per interval.
 *
 * Both have a bound. A sample that finds no room doubles the interval, and neighbours become one:
 * nothing is lost but resolution. Events come in groups that belong together, such as all of a
 * block's start and end; a group that finds no room is left out as a whole, and counted. */
#ifndef SMMUX_TRACE_H
#define SMMUX_TRACE_H

#include "sm/sm.h"

enum trace_kind {
#define TRACE(id, name, doc) TRACE_##id,
#include "tables/trace.def"
    TRACE_COUNT
};

/* One event. Python reads it: no padding. */
struct traced {
    uint32_t cycle_low;
    uint16_t cycle_high;
    uint8_t kind; /* enum trace_kind */
    uint8_t warp; /* number in the block; 0 where the event is the block's */
    uint32_t block, value;
};

/* One interval, which ends at that cycle. Python reads it: no padding. */
struct sample {
    uint64_t cycle;
    uint32_t interval, sm;
#define TRACED(counter, unit) uint32_t counter;
#include "tables/trace.def"
#define WAIT(id, counter, words, doc) uint32_t counter;
#include "tables/waits.def"
#define STATE(name, unit, doc) uint32_t name;
#include "tables/trace.def"
};

_Static_assert(sizeof(struct traced) == 16, "no padding");
_Static_assert(sizeof(struct sample) % sizeof(uint64_t) == 0, "no padding");

#define TRACE_MOST     (1u << 20) /* events of an SM that may be asked for */
#define TRACE_SAMPLES  1024u
#define TRACE_INTERVAL 64u /* of the first samples */

/* A bounded trace takes a byte per warp instruction, beyond room for so many events and samples. */
#define TRACE_BOUNDED       1u
#define TRACE_FLOOR         512u
#define TRACE_FLOOR_SAMPLES 32u

struct trace {
    uint64_t next; /* where the interval ends */
    uint32_t interval;
    uint32_t count, most, promised; /* events; those that are to come of groups that have begun */
    uint32_t sample_count;
    bool bounded;
    /* A bit per slot of a block: such a group has begun. */
    uint32_t blocks, allocations, barriers, tiles;
    uint32_t owed[MAX_BLOCKS]; /* events that are left of its barrier's group */
    uint64_t lost;
    struct counters before; /* at the last sample */
    struct sample sample[TRACE_SAMPLES];
    struct traced row[];
};

/* Room for so many events, or TRACE_BOUNDED; NULL if there is no memory. */
struct trace *trace_create(uint32_t most);
/* Take a sample: the SM has run to the end of the interval. */
void trace_sample(struct sm *sm);
/* Take the last sample: the counters are complete, the grid has ended. */
void trace_close(struct sm *sm, uint64_t end);

/* ---- events, on an SM that is traced ------------------------------------------------------- */

void trace_come(struct sm *sm, const struct block *b, uint64_t t);
/* Something about a block that has come, PLACE, BEGIN or END, with its value. */
void trace_block(struct sm *sm, const struct block *b, enum trace_kind kind, uint32_t value,
                 uint64_t t);
void trace_exit(struct sm *sm, const struct block *b, uint32_t warp, uint64_t t);
void trace_arrive(struct sm *sm, const struct block *b, uint32_t warp, uint64_t t);
void trace_barrier(struct sm *sm, const struct block *b, uint64_t t);
void trace_ask(struct sm *sm, const struct block *b, uint64_t t);
void trace_grant(struct sm *sm, const struct block *b, uint64_t t);
void trace_release(struct sm *sm, const struct block *b, uint64_t t);
void trace_tile(struct sm *sm, const struct block *b, enum trace_kind kind, uint64_t t);

#endif

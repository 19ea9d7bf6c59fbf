/* The state of the machine while one launch runs on it: gpu.c advances it, and collect.c collects
 * the launch's results from it. */
#ifndef SMMUX_WHOLE_H
#define SMMUX_WHOLE_H

#include "base/gpcs.h"
#include "base/pool.h"
#include "chip/dispatch.h"
#include "chip/launch.h"
#include "chip/observer.h"
#include "chip/supply.h"
#include "chip/third.h"
#include "chip/watch.h"

/* SMs that run side by side: a TPC, or several that share a second level of instructions and
 * constants. */
struct group {
    uint16_t first, count;    /* its SMs, in `member` below */
    uint16_t second, seconds; /* its second levels */
};

/* What the main loop needs to know of a group after a pass. */
struct report {
    _Alignas(64) uint64_t next; /* no event before this cycle, except replies to come */
    uint64_t reach;             /* all its SMs have run to this cycle; NEVER: they have faults */
    bool finished, faulty;      /* an ended block is to be replaced; an SM has a fault */
    bool late;                  /* stores of blocks that have ended are not yet answered */
    bool supplied;              /* instructions or constants are on their way to its SMs */
};

struct gpu {
    const struct launch *l;
    struct machine machine;
    struct program program;
    struct sm *sms;
    struct port *ports;
    uint8_t *used, *sparse; /* memory of the SMs' arrays, sm_bytes for each SM */
    struct memsys *mem;
    struct pool *pool;
    struct dispatch dispatch;
    struct observer *observer; /* of races in global memory; NULL: not wanted */
    struct report *reports;    /* per group */
    struct second **seconds;   /* NULL: the machine has none */
    uint8_t *second_lines;     /* the state of their lines */
    struct third *third;       /* NULL: the machine has none */
    uint32_t groups, second_count;
    struct group group[MOST_sm_count];
    uint16_t member[MOST_sm_count]; /* SMs, group by group, whole TPCs one after the other */
    uint32_t partitions;            /* partitions that take part in the pass */
    uint64_t window_end;
    struct host_work host;
    struct watch watch;
};

#endif

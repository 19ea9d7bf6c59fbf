/* The machine while one launch runs on it: what the clockwork (gpu.c) moves, and what the launch
 * gave is collected from (collect.c). */
#ifndef SMMUX_WHOLE_H
#define SMMUX_WHOLE_H

#include "base/pool.h"
#include "chip/constants.h"
#include "chip/dispatch.h"
#include "chip/launch.h"
#include "chip/observer.h"
#include "chip/supply.h"
#include "chip/watch.h"

/* What the clock wants to know of a group's SMs after a pass. A group is a TPC, or more of them if
 * they share a second level of instructions and constants. */
struct report {
    _Alignas(64) uint64_t next; /* nothing happens before this cycle, replies to come apart */
    uint64_t reach;             /* all have run to this cycle; NEVER: they have faults */
    bool finished, faulty; /* a block that has ended awaits the dispatcher; an SM has a fault */
    bool late;             /* stores of blocks that have ended are */
    bool supplied;         /* instructions or constants are on their way to its SMs, */
    bool asked;            /* constants that nobody has answered for yet */
};

struct gpu {
    const struct launch *l;
    struct machine machine;
    struct program program;
    struct sm *sms;
    struct port *ports;
    uint8_t *used, *sparse; /* places of the SMs, sm_bytes each */
    struct memsys *mem;
    struct pool *pool;
    struct dispatch dispatch;
    struct observer *observer;          /* of global memory; NULL: not wanted */
    struct report *reports;             /* per group */
    struct second **seconds;            /* NULL: the machine has none */
    uint8_t *second_lines;              /* what is known of their lines */
    struct third *third;                /* the same */
    struct constant_servers *constants; /* the same; or the program obeys no control bits */
    uint32_t groups, group_sms, group_tpcs, second_count;
    uint32_t partitions; /* that take part in the pass */
    uint64_t window_end;
    struct host_work host;
    struct watch watch;
};

#endif

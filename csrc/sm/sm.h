/* One streaming multiprocessor: scoreboard, sub-cores, barriers, shared memory.
 * It touches the rest of the chip only through its port and its lists of blocks. */
#ifndef SMMUX_SM_H
#define SMMUX_SM_H

#include "base/counters.h"
#include "kernel/decode.h"
#include "memory/buffers.h"
#include "memory/memsys.h"
#include "sm/ask.h"
#include "sm/block.h"
#include "sm/fetch.h"
#include "sm/pipe.h"
#include "sm/smcache.h"
#include "sm/smm.h"
#include "sm/subcore.h"
#include "sm/warp.h"

#define MAX_WARPS     64u
#define MAX_BLOCKS    32u
#define LOCAL_BASE    0xc0000000u /* device address of local memory; arrays lie below */
#define CONST_BASE    0xfe000000u /* device address of constant memory */
#define CODE_BASE     0xff000000u /* device address of the program */
#define PATTERNS      64u
#define SMEM_BESIDE   16u /* bytes behind shared memory that a wide load may reach (lsu.c) */
#define NEVER         UINT64_MAX
#define READY_PENDING UINT64_MAX /* a register that a memory reply will write */

/* Why a warp cannot issue, generated from waits.def. */
enum wait {
#define WAIT(id, counter, words, doc) WAIT_##id,
#include "tables/waits.def"
    WAIT_COUNT
};

struct check;
struct prints;
struct records;
struct trace;
struct management;
struct managers;
struct preload;
struct tag;
struct barrier;
struct heap;
struct copies;
struct arrivals;
struct counter;
struct dependences;
struct copy;
struct scheduler_policy;
struct smem_pattern;

/* What is counted per instruction, generated from pc_counters.def. */
struct pc_counters {
#define PC_COUNTER(name, unit, doc) uint64_t name;
#include "tables/pc_counters.def"
};

/* What all SMs share and nobody changes during a run. */
struct machine {
    const struct config *cfg;
    const struct program *program;
    struct launch_dims dims;
    const struct buffer *buffers;
    uint32_t buffer_count;
    struct buffers all;  /* all buffers in order of address, for accesses that name no array */
    struct buffer mixed; /* stands for the buffers of an access whose lanes go to several */
    uint8_t *local;      /* local memory of all warp slots */
    struct buffer local_buffer;
    uint32_t local_slots; /* warp slots of an SM for which there is local memory */
    const struct management *management;
    struct managers *managers; /* for a management that is not one of the core's */
    struct preload *preload;   /* NULL: there is no preload table */
    uint32_t flights;          /* transactions that an SM can have in flight */
    bool dynamic;              /* bar.sync +1, -1 take effect */
    bool values;               /* only values count (issue.c) */
    uint32_t static_smem;      /* bytes allocated at dispatch */
    uint32_t max_waiting; /* blocks at an allocation, above which the throttled management starts no
                             other one */
    uint32_t warps_per_block;
    bool per_pc;            /* count per instruction */
    uint32_t accesses;      /* of a block to be recorded on each SM */
    uint32_t trace;         /* events of a time line on each SM, see trace.h */
    uint32_t check;         /* enum check_mode */
    const uint8_t *polls;   /* per instruction: enum poll; NULL: none does */
    const uint8_t *watched; /* per instruction: whether the check of global memory looks at it;
                               NULL: at none */
};

#define STORE_PLACES    64u   /* the most that store_queue can be */
#define STORE_SECTORS   1024u /* the most sectors on their way to memory */
#define STORE_LINE_BITS 8     /* of the hash of a line that finds its last place */
#define SECTOR_BYTES    32u   /* of what leaves an SM under coalesce_rule = 90 */

/* The stores of an SM that wait at its port, where each line takes a place (store_queue of them),
 * and those that are on their way to memory: send.c. */
struct store_queue {
    uint64_t leaves[STORE_PLACES]; /* ring: when the last stores leave, or are due to leave */
    uint64_t entered;              /* when the last store got its place */
    uint64_t pace;                 /* the next store is due no earlier: the port's rate */
    uint64_t due;                  /* staying stores may be joined until then */
    uint64_t count;                /* stores that have taken a place so far */
    uint32_t sent, answered;       /* stores that have left so far, and that have been answered */
    uint32_t flying;               /* sectors on their way to memory, not yet answered */
    uint32_t stay;                 /* places with stores that others may still join */
    uint32_t held;                 /* places with stores that are due and wait for answers */
    uint32_t tail;                 /* packets at the end of the port that stay or are held, */
    uint32_t back;                 /* and of these, packets that stay */
    uint32_t placed[1u << STORE_LINE_BITS]; /* by hash of a line: its last place */
    bool drains;                            /* all places were taken: some stores leave early */
    uint8_t sectors[STORE_SECTORS]; /* ring: sectors of each store under way, oldest first */
};

/* Fields that are used together lie together, and the first ones on lines of their own.
 * NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct sm {
    /* hot: scanned at every issue */
    _Alignas(64) struct subcore subcores[MAX_SUBCORES];
    struct units units;
    uint64_t users[UNIT_COUNT];   /* by `unit`: warps whose next instruction takes it */
    uint64_t ready_at[MAX_WARPS]; /* scoreboard and waits, not units; NEVER for a sleeping warp */
    uint64_t held[MAX_WARPS];     /* a warp issues no earlier (warp_interval; stall counts) */
    uint8_t wait[MAX_WARPS];      /* enum wait */
    uint8_t next_unit[MAX_WARPS];
    uint64_t
        jumped_at[MAX_WARPS];    /* under gty: a warp's last jump, in the order of its sub-core's */
    uint32_t fetch_mask;         /* warp w's buffer is fetched[w & mask]: its own, or that of all */
    uint32_t fetched[MAX_WARPS]; /* the piece of the program in a buffer, or CACHE_NONE */
    uint32_t stale;              /* bit per sub-core: its choice must be made again */
    uint32_t turn; /* the scheduler that goes first of those that can issue in the same cycle */
    uint32_t warp_limit; /* all warp slots in use lie below */
    uint32_t order_count;
    uint64_t order[MAX_BLOCKS]; /* warp slots of the blocks that have started, oldest first */
    uint8_t subcore_of[MAX_WARPS];
    uint8_t place[MAX_WARPS]; /* %warpid: its sub-core plus a multiple of their number */
    uint32_t turn_of_warps;   /* under warp_turns: the sub-core of the next block's first warp */
    const struct machine *m;
    const struct scheduler_policy *policy; /* scheduler.h */
    uint64_t (*issue)(struct sm *sm);      /* issue.h: the one for this machine and program */
    struct counters count;
    struct pc_counters *pc_count;            /* per instruction, NULL if not wanted */
    struct check *check;                     /* NULL if not wanted */
    uint64_t policy_memory[MAX_SUBCORES][2]; /* by scheduler, 0 at first */
    /* warm */
    struct warp warps[MAX_WARPS];
    struct pipe pipe; /* queues of memory accesses, if the machine has them (lsu_queue) */
    struct port *port;
    struct reply *replies;      /* in order, from reply_first to reply_end */
    uint64_t port_free;         /* when the port can take the next packet: they leave in order */
    struct store_queue stores;  /* at the port, and on their way to memory */
    uint16_t tenant[MAX_WARPS]; /* earlier warps of a slot that left accesses under way */
    uint32_t late;              /* accesses of ended blocks that are not yet answered */
    int32_t credits; /* below 0 after an access of more transactions than there are credits */
    struct access *accesses;
    uint16_t *access_next;              /* links of the list of accesses that are free again */
    uint32_t access_free, access_fresh; /* its head, or machine.flights; first unused access */
    uint32_t reply_first, reply_end;
    bool observed;                       /* there are counts per instruction, or checks */
    bool replaced;                       /* another block starts where one ends */
    struct sm_cache caches[CACHE_COUNT]; /* by enum sm_cache_id */
    struct waiter *waiters;
    uint32_t waiter_free, waiter_fresh; /* free list through waiter.next; first unused one */
    uint32_t ask_count;
    struct ask *asks;     /* of the second level (chip/supply.h), in order; as they come (ask.h) */
    struct claim *claims; /* per warp: an access that found no room (room.h) */
    uint64_t *claimed;    /* by a hash of a line of the L1: warps with a claim on that line */
    uint64_t reckoned;    /* warps whose claim's `absence` is up to date */
    uint64_t claiming;    /* warps with a claim: their next instruction is that access */
    uint64_t starved;     /* warps with a claim that sleep until a reply makes room */
    int32_t wake_credits; /* with fewer credits than that no starved warp can go on */
    uint64_t now;         /* cycle of the event being processed */
    uint64_t paid;        /* under sfu_slots: issue time is accounted for up to here */
    uint64_t floor[MAX_WARPS];   /* earliest issue of a warp whose instruction is being fetched */
    uint32_t awaited[MAX_WARPS]; /* the line of the program that such a warp waits for */
    uint32_t piece_bytes, last_piece; /* size of a piece of the program; the last piece */
    struct settled settled[16];       /* lines known to be cached, by their low bits */
    uint8_t *shared;
    uint8_t *l1_data;              /* data of the lines of the L1 */
    struct smem_pattern *patterns; /* of its accesses, by the low bits of their pc */
    /* mostly for compiled code; pointers are NULL where program and machine need none */
    struct dependences *dependences; /* per warp: its dependence counters (obey.h) */
    struct counter *counters;        /* per warp and counter: the further loads that it counts */
    uint64_t *before_last;           /* per warp and counter: when it drops to 1, 2, ... */
    struct operands *operands;       /* constants that are operands (operands.h) */
    struct asking asking;            /* for lines of constants */
    uint64_t fence_free;             /* when the next fence that waits for accesses can be served */
    uint64_t accessed;               /* warps that have accessed memory since their last fence */
    uint64_t cbu_free;               /* when the convergence barrier unit is free (cbu.h) */
    uint64_t alone;                  /* warps that have issued one of control_bits.alone */
    struct copies *copies;           /* per warp: its asynchronous copies */
    struct copy *copying;            /* per access: where an asynchronous copy writes */
    struct heap *heap;               /* memory of routines that the code calls, such as malloc */
    struct arrivals *arrivals;       /* per warp: arrivals at barriers that wait for its copies */
    uint64_t trying;                 /* warps that wait for an asynchronous barrier (mbarrier.h) */
    struct barrier *named;           /* per block slot: its BARRIERS numbered barriers */
    struct tag *tags; /* per line of shared memory; NULL: there is no preload table */
    /* cold: blocks */
    struct block blocks[MAX_BLOCKS];
    struct smm smm;
    uint32_t queue[MAX_BLOCKS]; /* slots of blocks that wait for shared memory, first come first */
    uint32_t queue_count;
    uint32_t id;
    struct prints *prints;                   /* NULL: the program prints nothing */
    struct records *records;                 /* NULL if not wanted */
    struct trace *trace;                     /* NULL if not wanted */
    struct coming_block pending[MAX_BLOCKS]; /* in order */
    uint64_t finished[MAX_BLOCKS];           /* when blocks ended that are yet to be replaced */
    uint32_t pending_count, finished_count;
    uint32_t grid_arrived;  /* blocks that wait at a barrier of the whole grid */
    uint64_t grid_arrival;  /* cycle at which the last of them came */
    uint64_t last_end;      /* cycle at which the last block ended */
    uint64_t last_activity; /* that, or the cycle at which its last access was acknowledged */
    uint64_t next;          /* earliest cycle at which the SM can do something without a reply */
    uint64_t reach;     /* the SM has run, or is to run, to this cycle (exclusive); NEVER: fault */
    struct fault fault; /* code != OK: this SM has stopped */
};

/* The bytes of an SM's arrays: those `used`, and `sparse` ones, of which it uses the beginning. */
struct sm_bytes {
    size_t used, sparse;
};

struct sm_bytes sm_bytes(const struct machine *m);
/* Set up an SM in zeroed memory; `used` and `sparse` are zeroed memory of sm_bytes. */
enum error sm_init(struct sm *sm, uint32_t id, const struct machine *m, struct port *port,
                   void *used, void *sparse);
void sm_free(struct sm *sm);
/* Advance the SM alone to cycle end (exclusive). If blocks that finish are replaced, it stops at
 * the first cycle at which a block may start in the place of one that has finished. */
void sm_run(struct sm *sm, uint64_t end, bool replaced);
/* The cycle at which the SM has something to do, as far as it knows: replies may come earlier. */
uint64_t sm_next(const struct sm *sm);
/* Account for the schedulers' time from their last issue to the end of the grid. */
void sm_close(struct sm *sm, uint64_t end);

static inline bool sm_has_reply(const struct sm *sm) { return sm->reply_first < sm->reply_end; }

/* The cycle of the next reply or block start. */
static inline uint64_t sm_event(const struct sm *sm) {
    const uint64_t reply = sm_has_reply(sm) ? sm->replies[sm->reply_first].cycle : NEVER;
    const uint64_t start = sm->pending_count ? sm->pending[0].cycle : NEVER;
    return reply < start ? reply : start;
}

/* Record a fault at the warp's current instruction; the SM stops. */
void sm_fault(struct sm *sm, uint32_t warp, uint32_t lane, uint64_t cycle, enum error code);

#endif

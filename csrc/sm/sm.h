/* One streaming multiprocessor: scoreboard, sub-cores, barriers, shared memory.
 * It touches the rest of the chip only through its port and its lists of blocks. */
#ifndef SMMUX_SM_H
#define SMMUX_SM_H

#include "base/counters.h"
#include "kernel/decode.h"
#include "memory/buffers.h"
#include "memory/memsys.h"
#include "sm/block.h"
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
    struct buffers all;  /* the same by address, for accesses that name none */
    struct buffer mixed; /* stands for several of them */
    uint8_t *local;      /* local memory of all warp slots */
    struct buffer local_buffer;
    uint32_t local_slots; /* of an SM, for which there is local memory */
    const struct management *management;
    struct managers *managers; /* for a management that is not one of the core's */
    struct preload *preload;   /* NULL: there is no preload table */
    uint32_t flights;          /* transactions that an SM can have in flight */
    bool dynamic;              /* bar.sync +1, -1 take effect */
    bool values;               /* only values count (issue.c) */
    uint32_t static_smem;      /* bytes allocated at dispatch */
    uint32_t max_waiting; /* blocks at an allocation, above which the throttled management starts
                             no other one */
    uint32_t warps_per_block;
    bool per_pc;            /* count per instruction */
    uint32_t accesses;      /* of a block to be recorded on each SM */
    uint32_t trace;         /* events of a time line on each SM, see trace.h */
    uint32_t check;         /* enum check_mode */
    const uint8_t *watched; /* per instruction: whether the check of global memory looks at it;
                               NULL: at none */
};

#define STORE_PLACES  64u   /* as many as there may be */
#define STORE_SECTORS 1024u /* under way, as many as there may be */
#define STORE_LINES   256u
#define SECTOR_BYTES  32u /* of what leaves an SM under coalesce_rule = 90 */

/* Stores of an SM that wait for the way to memory, where they take places (send.c). */
struct store_queue {
    uint64_t leaves[STORE_PLACES];  /* when the last ones leave, or are due */
    uint64_t entered, pace;         /* when the last one got a place; when the next may be due */
    uint64_t due;                   /* those that stay do until then */
    uint64_t count;                 /* of all that have taken a place */
    uint32_t sent, answered;        /* how many have left; how many of those are answered */
    uint32_t flying;                /* sectors of those that are not */
    uint32_t stay, held;            /* those that others may join; behind it, wait for answers */
    uint32_t tail, back;            /* packets of both, with what has joined; of those that stay */
    uint32_t placed[STORE_LINES];   /* numbers of the last places of lines, by a hash of these */
    bool drains;                    /* all places were taken: some need not stay */
    uint8_t sectors[STORE_SECTORS]; /* of those under way, in the order in which they left */
};

/* Fields that are used together lie together, and the first ones on lines of their own.
 * NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct sm {
    /* hot: scanned at every issue */
    _Alignas(64) struct subcore subcores[MAX_SUBCORES];
    struct units units;
    uint64_t users[UNIT_COUNT];   /* warps whose next instruction takes such a unit */
    uint64_t ready_at[MAX_WARPS]; /* scoreboard and waits, not units; NEVER for a sleeping warp */
    uint64_t held[MAX_WARPS];     /* a warp issues not before, having issued (warp_interval) */
    uint8_t wait[MAX_WARPS];      /* enum wait */
    uint8_t next_unit[MAX_WARPS];
    uint32_t fetch_mask;         /* which of the next row a warp looks at: its own, or the first */
    uint32_t fetched[MAX_WARPS]; /* piece of the program in a warp's buffer; without buffers the one
                                    most recently used in [0]; or CACHE_NONE */
    uint32_t stale;              /* bit per sub-core: its choice must be made again */
    uint32_t turn;               /* the scheduler that is first of those that issue at one time */
    uint32_t warp_limit;         /* warp slots in use are below */
    uint32_t order_count;
    uint64_t order[MAX_BLOCKS]; /* warp slots of the blocks that have started, oldest first */
    uint8_t subcore_of[MAX_WARPS];
    uint8_t place[MAX_WARPS]; /* of a warp, as %warpid has it: a multiple of the schedulers away
                                 from its sub-core */
    uint32_t turn_of_warps;   /* sub-core of the next block's first warp, under warp_turns */
    const struct machine *m;
    const struct scheduler_policy *policy; /* scheduler.h */
    uint64_t (*issue)(struct sm *sm);      /* issue.h: the one for this machine and program */
    struct counters count;
    struct pc_counters *pc_count;            /* per instruction, NULL if not wanted */
    struct check *check;                     /* NULL if not wanted */
    uint64_t policy_memory[MAX_SUBCORES][2]; /* what it keeps per scheduler, 0 at first */
    /* warm */
    struct warp warps[MAX_WARPS];
    struct pipe pipe; /* of memory accesses, if the machine has queues in front of it */
    struct port *port;
    struct reply *replies;      /* in order, from reply_first to reply_end */
    uint64_t port_free;         /* packets leave in order */
    struct store_queue stores;  /* that wait for the way to memory, or are under way */
    uint16_t tenant[MAX_WARPS]; /* how many have left the slots with accesses on their way */
    uint32_t late;              /* accesses of blocks that have ended */
    int32_t credits; /* below 0 after an access of more transactions than there are credits */
    struct access *accesses;
    uint16_t *access_next;              /* list of those that are free again, apart: */
    uint32_t access_free, access_fresh; /* its head, or machine.flights; those never used yet */
    uint32_t reply_first, reply_end;
    bool observed;                       /* there are counts per instruction, or checks */
    bool replaced;                       /* a block that ends makes room for another one */
    struct sm_cache caches[CACHE_COUNT]; /* by enum sm_cache_id */
    struct waiter *waiters;
    uint32_t waiter_free, waiter_fresh; /* list through waiter.next; those never used yet */
    uint32_t ask_count;
    struct ask *asks;     /* not yet looked at (chip/supply.h), in order; room for 2 * MAX_MISSES */
    struct claim *claims; /* per warp, */
    uint64_t *claimed;    /* and by a hash of the lines of the L1 that some are for (room.h) */
    uint64_t reckoned;    /* claims of which it is known how many lines they lack there */
    uint64_t claiming;    /* warps with a claim: their next instruction is that access */
    uint64_t starved;     /* warps with a claim that sleep until a reply makes room */
    int32_t hunger;       /* with fewer credits a reply makes none for sure */
    uint64_t now;         /* cycle of the event being processed */
    uint64_t paid; /* where the SFU has slots: the scheduler's time is accounted for up to here;
                      elsewhere it is up to its slot */
    uint64_t floor[MAX_WARPS];   /* earliest issue of a warp whose instruction is being fetched */
    uint32_t awaited[MAX_WARPS]; /* line that such a warp waits for */
    uint32_t piece_bytes, last_piece; /* of the program, as it is fetched */
    struct settled settled[16];       /* by the low bits of the line */
    uint8_t *shared;
    uint8_t *l1_data;                /* of the lines of the L1, for its cache */
    struct smem_pattern *patterns;   /* of accesses to it, by the low bits of the instruction */
    struct dependences *dependences; /* of code whose control bits are obeyed, per warp; */
    struct counter *counters;        /* per warp DEPENDENCE_COUNTERS, */
    uint64_t *before_last;           /* and for each program.counted - 1 */
    struct operands *operands;       /* of code that names constants, if these have to come */
    uint64_t *constant_at;           /* per way of the cache of constants: when its line comes, if
                                        that is not as if it were there at once */
    uint64_t constants_free;         /* when what serves misses of constants is, */
    uint64_t fence_free;             /* fences that wait for accesses are, */
    uint64_t match_free;             /* and what compares the values of lanes */
    uint64_t alone;                  /* warps that have had an instruction that lets none overlap */
    struct copies *copies;           /* of code with asynchronous copies, per warp, */
    struct copy *copying;            /* and where each of the accesses goes */
    struct heap *heap;               /* of code that calls routines outside of it */
    struct arrivals *arrivals;       /* of code where some wait for copies, per warp */
    uint64_t trying;                 /* warps that wait for an asynchronous barrier (mbarrier.h) */
    struct barrier *named;           /* of compiled code: per block slot its BARRIERS */
    struct tag *tags;                /* per line of shared memory, if there is a preload table */
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
    uint32_t grid_arrived;  /* blocks that wait for those of other SMs */
    uint64_t grid_arrival;  /* cycle at which the last of them came */
    uint64_t last_end;      /* cycle at which the last block has ended, */
    uint64_t last_activity; /* or at which its last access was acknowledged, if that is later */
    uint64_t next;          /* earliest cycle at which it can do something by itself */
    uint64_t reach;     /* it has run, or is to run, to this cycle (exclusive); NEVER: a fault */
    struct fault fault; /* code != OK: this SM has stopped */
};

/* How many bytes an SM takes for a launch beside struct sm: those it uses, and those of which it
 * uses the beginning. */
struct sm_bytes {
    size_t used, sparse;
};

struct sm_bytes sm_bytes(const struct machine *m);
/* Set up an SM, which is zeroed memory so far, with so many bytes of zeros of its own at two
 * places. */
enum error sm_init(struct sm *sm, uint32_t id, const struct machine *m, struct port *port,
                   void *used, void *sparse);
void sm_free(struct sm *sm);
/* Advance the SM alone to cycle end (exclusive). If the blocks that finish are replaced, it stops
 * earlier: where the one in the place of the first to finish may start. */
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

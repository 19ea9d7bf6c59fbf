/* One streaming multiprocessor: scoreboard, schedulers, units, barriers, shared memory.
 * It touches the rest of the chip only through its port and its lists of blocks. */
#ifndef SMMUX_SM_H
#define SMMUX_SM_H

#include "base/counters.h"
#include "kernel/decode.h"
#include "memory/cache.h"
#include "memory/coalesce.h"
#include "memory/memsys.h"
#include "sm/smm.h"
#include "sm/warp.h"

#define MAX_WARPS      64u
#define MAX_BLOCKS     32u
#define MAX_SCHEDULERS 4u
#define MAX_MISSES     64u
#define NO_MISS        0xffu
#define LOCAL_BASE     0xc0000000u /* device address of local memory; arrays lie below */
#define CONST_BASE     0xfe000000u /* device address of constant memory */
#define CODE_BASE      0xff000000u /* device address of the program */
#define NEVER          UINT64_MAX
#define READY_PENDING  UINT64_MAX /* a register that a memory reply will write */

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
struct scheduler_policy;

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
    uint8_t *local; /* local memory of all warp slots */
    struct buffer local_buffer;
    const struct management *management;
    struct managers *managers; /* for a management that is not one of the core's */
    struct preload *preload;   /* NULL: there is no preload table */
    uint32_t flights;          /* transactions that an SM can have in flight */
    bool dynamic;              /* bar.sync +1, -1 take effect */
    uint32_t static_smem;      /* bytes allocated at dispatch */
    uint32_t max_waiting; /* blocks at an allocation, above which the throttled management starts
                             no other one */
    uint32_t warps_per_block;
    bool per_pc;       /* count per instruction */
    uint32_t accesses; /* of a block to be recorded on each SM */
    uint32_t trace;    /* events of a time line on each SM, see trace.h */
    uint32_t check;    /* enum check_mode */
};

/* A slot for a block that is resident: what its warps have in common. */
struct block {
    bool used, started;     /* used but not started: waits for its static part */
    bool holds;             /* dynamic shared memory */
    bool region;            /* between an opening and a closing barrier (Figure 1) */
    bool isolating;         /* the barrier being assembled bears INSN_ISOLATE */
    bool synced;            /* has completed a barrier */
    bool released;          /* all blocks have arrived at the barrier of the grid */
    bool held;              /* has all its resources, but waits for its tile */
    uint32_t dynamic_bytes; /* asked for by its last allocation */
    uint8_t barrier;        /* enum bar_option of the barrier being assembled */
    uint32_t id;
    uint32_t warps_live, arrived;
    uint32_t accesses_pending;
    uint32_t static_base, dynamic_base; /* in the SM's shared memory */
    uint64_t start;                     /* cycle */
    uint64_t arrival;                   /* cycle at which it last began to wait for shared memory */
    uint64_t opened;                    /* cycle at which its region began */
    uint64_t arrivals;                  /* sum of the cycles at which warps reached the barrier */
    uint64_t first_define, last_use;    /* cycles of shared-memory accesses, NEVER and 0: none */
    uint64_t warp_slots;                /* bit per warp slot */
    uint32_t barrier_pc;
    uint32_t tile_lines; /* of its tile, or of what it wants before it starts; 0: none */
    uint32_t tile_base, tile_pending; /* in shared memory; lines on their way */
    uint64_t tile_users;              /* bit per warp slot: the warp may still load from the tile */
};

/* A block that is to start, and when; or the end of a barrier of the whole grid. */
#define GRID_RELEASE UINT32_MAX
struct coming_block {
    uint64_t cycle;
    uint32_t block;
};

/* What a scheduler would issue next, and when. */
struct choice {
    uint64_t t;
    uint32_t warp;
    uint32_t units; /* bit per unit_free that it may take */
};

/* A warp scheduler. Its warps are bits of masks: ready ones want an issue slot and their unit,
 * waiting ones are ready at ready_at, all others sleep until something happens. */
struct scheduler {
    uint64_t slot; /* earliest next issue */
    uint64_t ready, waiting;
    uint64_t wake;              /* no waiting warp is ready before */
    struct choice choice;       /* valid unless the SM's stale bit says otherwise */
    uint32_t last;              /* warp slot that issued last */
    uint8_t unit[4];            /* index into unit_free for enum unit SP, SFU, LSU */
    uint16_t units[UNIT_COUNT]; /* bits of those that an enum unit may take */
};

/* The caches of an SM; 0 stands for none. */
enum sm_cache_id { CACHE_DATA = 1, CACHE_TEXTURE, CACHE_CODE, CACHE_CONST, CACHE_COUNT };
#define CACHE_TILES CACHE_COUNT /* what fills a tile, which is no cache (preload.h) */

/* A line on its way to a cache of the SM. */
struct miss {
    uint32_t line;    /* number */
    uint32_t waiters; /* list of accesses that want words of it */
    uint8_t next;     /* in its bucket, where it is while open; NO_MISS: the last one */
    bool open;        /* a store to the line closes it: later loads must ask again */
};

/* Lanes of an access that wait for a line. */
struct waiter {
    struct access *access;
    uint32_t lanes, next;
};

/* The transactions of an access that found too few credits or pending misses. */
struct claim {
    uint32_t cache, count; /* enum sm_cache_id or 0; segments */
    uint32_t need;         /* credits, CACHE_NONE: too many misses are pending */
    uint64_t fills; /* of the cache until then; without a further one the need does not fall */
    struct segment segment[COALESCE_MAX_SEGMENTS];
};

/* L1, texture, instruction or constant cache with its pending misses (smcache.c). */
struct sm_cache {
    struct cache cache;
    bool present;
    uint32_t miss_limit, miss_count;
    uint64_t fills;                /* lines that have come so far */
    uint64_t miss_free;            /* bit per entry that is not in use */
    uint8_t open_miss[MAX_MISSES]; /* the open ones, by a hash of the line */
    struct miss miss[MAX_MISSES];
};

/* A line that an SM asks of the level behind its caches of instructions and constants. */
struct ask {
    uint64_t cycle;
    struct access *access;
};

/* A line of the program that has been looked up and was there. Until the next line comes into the
 * cache the same look-up finds it in the same way, and has nothing more to ask for ahead. */
struct settled {
    uint64_t fills; /* of the cache so far */
    uint32_t line, way;
};

struct sm {
    /* hot: scanned at every issue */
    _Alignas(64) struct scheduler sched[MAX_SCHEDULERS];
    uint64_t unit_free[16];
    uint64_t users[UNIT_COUNT];   /* warps whose next instruction takes such a unit */
    uint64_t ready_at[MAX_WARPS]; /* scoreboard and waits, not units; NEVER for a sleeping warp */
    uint64_t held[MAX_WARPS];     /* a warp issues not before, having issued (warp_interval) */
    uint8_t wait[MAX_WARPS];      /* enum wait */
    uint8_t next_unit[MAX_WARPS];
    uint32_t fetch_mask;         /* which of the next row a warp looks at: its own, or the first */
    uint32_t fetched[MAX_WARPS]; /* piece of the program in a warp's buffer; without buffers the one
                                    most recently used in [0]; or CACHE_NONE */
    uint32_t stale;              /* bit per scheduler: its choice must be made again */
    uint32_t common_units;       /* bits of unit_free that several schedulers take */
    uint32_t turn;               /* the scheduler that is first of those that issue at one time */
    uint32_t warp_limit;         /* warp slots in use are below */
    uint32_t order_count;
    uint64_t order[MAX_BLOCKS]; /* warp slots of the blocks that have started, oldest first */
    uint8_t scheduler_of[MAX_WARPS];
    const struct machine *m;
    const struct scheduler_policy *policy; /* scheduler.h */
    struct counters count;
    struct pc_counters *pc_count;              /* per instruction, NULL if not wanted */
    struct check *check;                       /* NULL if not wanted */
    uint64_t policy_memory[MAX_SCHEDULERS][2]; /* what it keeps per scheduler, 0 at first */
    /* warm */
    struct warp warps[MAX_WARPS];
    struct port *port;
    struct reply *replies; /* in order, from reply_first to reply_end */
    uint64_t port_free;    /* packets leave in order */
    uint32_t seq;
    int32_t credits; /* below 0 after an access of more transactions than there are credits */
    struct access *accesses;
    uint16_t *access_next; /* list of free accesses, apart: most are never touched */
    uint32_t access_free;
    uint32_t reply_first, reply_end;
    bool observed;                       /* there are counts per instruction, or checks */
    bool replaced;                       /* a block that ends makes room for another one */
    struct sm_cache caches[CACHE_COUNT]; /* by enum sm_cache_id */
    struct waiter *waiters;
    uint32_t waiter_free; /* list through waiter.next */
    uint32_t ask_count;
    struct ask *asks;     /* not yet looked at (chip/supply.h), in order; room for 2 * MAX_MISSES */
    struct claim *claims; /* per warp */
    uint64_t claiming;    /* warps with a claim: their next instruction is that access */
    uint64_t starved;     /* warps with a claim that sleep until a reply makes room */
    uint64_t now;         /* cycle of the event being processed */
    uint64_t paid; /* where the SFU has slots: the scheduler's time is accounted for up to here;
                      elsewhere it is up to its slot */
    uint64_t floor[MAX_WARPS];   /* earliest issue of a warp whose instruction is being fetched */
    uint32_t awaited[MAX_WARPS]; /* line that such a warp waits for */
    uint32_t piece_bytes, last_piece; /* of the program, as it is fetched */
    struct settled settled[16];       /* by the low bits of the line */
    uint8_t *shared;
    struct tag *tags; /* per line of shared memory, if there is a preload table */
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
    uint64_t last_activity; /* cycle of the last exit or acknowledgement */
    uint64_t next;          /* earliest cycle at which it can do something by itself */
    uint64_t reach;     /* it has run, or is to run, to this cycle (exclusive); NEVER: a fault */
    struct fault fault; /* code != OK: this SM has stopped */
    void *arena;        /* what the pointers above point into */
};

/* Set up an SM, which is zeroed memory so far. */
enum error sm_init(struct sm *sm, uint32_t id, const struct machine *m, struct port *port);
void sm_free(struct sm *sm);
/* Advance the SM alone to cycle end (exclusive). If the blocks that finish are replaced, it stops
 * earlier: where the one in the place of the first to finish may start. */
void sm_run(struct sm *sm, uint64_t end, bool replaced);
/* The cycle at which the SM has something to do, as far as it knows: replies may come earlier. */
uint64_t sm_next(const struct sm *sm);
/* Let a block start at that cycle, to which the SM has yet to run. */
void sm_add_block(struct sm *sm, uint32_t block, uint64_t cycle);
/* Account for the schedulers' time from their last issue to the end of the grid. */
void sm_close(struct sm *sm, uint64_t end);

/* ---- between the SM's own files ---------------------------------------------------------- */

/* Record a fault at the warp's current instruction; the SM stops. */
void sm_fault(struct sm *sm, uint32_t warp, uint32_t lane, uint64_t cycle, enum error code);

/* What the scheduler would issue next (sched.c). */
struct choice sched_pick(struct sm *sm, struct scheduler *s);
/* The warps that can issue in the scheduler's slot. */
uint64_t sched_able(struct sm *sm, struct scheduler *s);
/* Those of some warps that could take the slot whose turn comes before that of any others that
 * could. */
uint64_t sched_before(const struct sm *sm, const struct scheduler *s, uint64_t warps,
                      uint64_t others);
/* Are the warp's operands and its unit ready at cycle t? */
bool sched_can_issue(const struct sm *sm, const struct scheduler *s, uint32_t warp, uint64_t t);
/* Say what the scheduler's time [from, to), idle until this warp issued, was spent waiting for
 * (idle.c). */
void idle_account(struct sm *sm, uint32_t warp, uint64_t from, uint64_t to);

/* Let the choice of that scheduler take its slot. */
typedef void issue_slot(struct sm *sm, uint32_t scheduler);
/* The one for this SM's machine, with counts per instruction and checks if it is observed
 * (issue.c). */
issue_slot *issue_of(const struct sm *sm);

/* Blocks and barriers (block.c). */
void block_start_due(struct sm *sm);
/* The SM stops, at the barrier where the block waits or before its first instruction. */
void block_fault(struct sm *sm, const struct block *b, enum error code);
void block_await_next(struct sm *sm, uint64_t end);
void block_arrive(struct sm *sm, uint32_t warp, const struct uop *u, uint64_t t);
void block_warp_exit(struct sm *sm, uint32_t warp, uint64_t t);
void block_access_done(struct sm *sm, uint32_t block, uint64_t t);
/* A line of the block's tile has come, or nobody will use the tile any more. */
void block_tile_moved(struct sm *sm, uint32_t block, uint64_t t);

/* Issue a memory instruction, and hold its unit (lsu.c); false if it has to wait, or faulted. */
bool lsu_issue(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active, uint32_t unit,
               uint64_t t);

/* Accesses on their way to memory and back (global.c). A record of an access comes from the SM's
 * list of free ones, which holds enough, and goes back there. */
struct access *global_new_access(struct sm *sm);
void global_free_access(struct sm *sm, struct access *a);
/* Send a packet for these lanes of the access, at cycle `at` or as soon as the port is free. */
void global_send(struct sm *sm, struct access *a, uint32_t addr, uint32_t bytes, uint32_t lanes,
                 uint64_t at);
/* A reply has come: it fills a line of a cache, or answers a segment of an access. */
void global_reply(struct sm *sm, const struct reply *r);
/* One segment of an access has its values: give its credit back, perhaps complete the access. */
void global_segment_done(struct sm *sm, struct access *a, uint64_t t);

/* The SM's own caches (smcache.c). */
enum error smcache_init(struct sm *sm);
void smcache_free(struct sm *sm);
/* Check all that holds of the caches and their pending misses between two events. */
#ifdef SMMUX_CHECK
void smcache_check(const struct sm *sm);
#else
static inline void smcache_check(const struct sm *sm) { (void)sm; }
#endif
/* Can the warp have that piece of the program? If not, it has been asked for. */
bool smcache_fetch(struct sm *sm, uint32_t warp, uint32_t piece);
/* The warp begins: its buffer is empty. */
static inline void smcache_begin_warp(struct sm *sm, uint32_t warp) {
    if (sm->fetch_mask) sm->fetched[warp] = CACHE_NONE;
}
/* The further latency of a constant access to these addresses, where no second level is. */
uint32_t smcache_const(struct sm *sm, const uint32_t addr[32], uint32_t lanes);
/* How many lines a load would have to wait for; CACHE_NONE if too many misses are pending for it.
 */
uint32_t smcache_missing(const struct sm *sm, enum sm_cache_id id, const struct segment *seg,
                         uint32_t n);
/* Take the lines that are there, and wait for the others, which are asked for from cycle `at` on,
 * so many clocks apart; returns how many those are. */
uint32_t smcache_load(struct sm *sm, enum sm_cache_id id, struct access *a,
                      const struct segment *seg, uint32_t n, uint64_t at, uint32_t apart);
/* Let the L1 forget the lines that a store or an atomic changes. */
void smcache_store(struct sm *sm, const struct segment *seg, uint32_t n);
/* Let some lanes of an access wait for a line, as the first of the list. */
void smcache_wait(struct sm *sm, uint32_t *waiters, struct access *a, uint32_t lanes);
/* The line has come: take all from the list, first come first, and let their accesses go on. */
void smcache_serve(struct sm *sm, uint32_t *waiters, uint64_t t);
/* Put a line that has come into its cache, and serve the accesses that wait for it. */
void smcache_fill(struct sm *sm, struct access *fill, uint64_t t);

#endif

/* The timestamped port between the SMs and the rest of the chip.
 *
 * The main loop (chip/gpu.c) advances every SM alone through a window [t, t1). A packet sent at
 * cycle s never causes a reply before s + min_reply(), so the memory system, advanced to t0, knows
 * every reply before t0 + min_reply(). It may lag: while SMs run from t to t1, the partitions serve
 * what was sent before t, if t1 <= t0 + min_reply(). One pass does both, TPC by TPC and partition
 * by partition on any thread: begin, then for each TPC receive, its SMs, send, and for each
 * partition partition.
 *
 * Values: a partition reads and writes memory in order of arrival (cycle, SM, sequence);
 * loads write their registers at that moment; the scoreboard lets no instruction read them
 * until the last reply is in. Scheduling (FR-FCFS) decides only when
 * replies leave.
 */
#ifndef SMMUX_MEMSYS_H
#define SMMUX_MEMSYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/config.h"
#include "base/counters.h"
#include "base/errors.h"
#include "base/pool.h"

/* What an access does; a fetch is one of instructions, a preload of a line for a block that is to
 * start. */
enum access_kind {
    ACCESS_LOAD,
    ACCESS_STORE,
    ACCESS_ATOM,
    ACCESS_FETCH,
    ACCESS_TEXTURE,
    ACCESS_PRELOAD
};

/* What the answers of an access go to, in the order of sinks.def. */
enum sink {
#define SINK(id, function, doc) SINK_##id,
#include "tables/sinks.def"
    SINK_COUNT
};

#define MAX_LINE 256u /* bytes of the largest line with data; arrays begin at multiples of it */

struct buffers;

/* One device array, or a view of one. Device addresses come from the launcher, never from the host.
 */
struct buffer {
    uint8_t *host;
    uint32_t address, bytes;
    bool writable;
    /* Views that share lines form a ring, which has a number; launch.c joins it. */
    uint32_t ring;
    struct buffer *next_view;
    const struct buffers *all; /* not NULL: of lanes that go to several of these, this is none */
};

/* The host's address of a device address; NULL if that lies outside of the array, as the begin of
 * an aligned segment may. */
static inline uint8_t *buffer_at(const struct buffer *b, uint32_t address) {
    const uint32_t offset = address - b->address;
    return offset < b->bytes ? b->host + offset : NULL;
}

/* Flag of an access that fills a cache with addr[1] bytes of a line from addr[0] on, the sectors
 * `sub`. If that is the L1, a load, it copies them to access->data[0]; other caches hold no data,
 * so nothing moves. */
#define ACCESS_FILL 0x80u
/* Flag of an access of all lanes to words side by side. */
#define ACCESS_WHOLE 0x40u

/* One memory instruction of one warp, alive until its last transaction is answered.
 *
 * Loaded values go to the warp's registers when the memory reads them: no instruction reads a
 * register before its reply is in. */
struct access {
    uint32_t *rows; /* the registers: word i of a load goes to row dst[i] */
    const struct buffer *buffer;
    uint32_t mask;                  /* lanes that take part */
    uint16_t warp;                  /* warp slot in the SM */
    uint16_t pending;               /* transactions not yet answered */
    uint16_t dst[4];                /* destination registers, OPERAND_NONE where unused */
    uint8_t kind;                   /* enum access_kind */
    uint8_t width;                  /* bytes per lane, 1..16 */
    uint8_t sub;                    /* enum atom_op; sectors of a fill */
    uint8_t flags;                  /* INSN_SIGNED and those above */
    uint8_t sink;                   /* enum sink */
    uint8_t cache;                  /* of a SINK_CACHE: which enum sm_cache_id, 0 for others */
    uint16_t miss;                  /* its pending miss there */
    uint16_t tenant;                /* which of the warps that had the slot sent it */
    uint16_t joined;                /* of its stores: unanswered ones that ride on others */
    _Alignas(64) uint32_t addr[32]; /* device address per lane */
    uint32_t data[4][32]; /* store and atomic operands, word-major; or the line of a fill */
};

/* Where word i of a load goes, one per lane. */
static inline uint32_t *access_row(const struct access *a, uint32_t i) {
    return a->rows + a->dst[i] * 32u;
}

/* One transaction: an aligned segment of device memory and the lanes it serves. */
struct packet {
    uint64_t cycle; /* at which it leaves the SM */
    struct access *access;
    uint32_t addr;  /* first byte of the segment */
    uint32_t lanes; /* lanes of the access it serves */
    uint16_t bytes; /* 32, 64, 128 (or the fetch line) */
    uint16_t sm;
    bool whole; /* a store that writes all of its segment together with those that have joined it */
    bool rides; /* a store that has joined the one in front of it, and takes no place and no time */
    bool shares; /* a store in the place of a store to another part of its line */
};

struct reply {
    uint64_t cycle;
    struct access *access;
};

#define MAX_MISSES     64u /* lines on their way to one cache of an SM, unless that says how many */
#define SUPPLY_PACKETS 64u /* packets of the second level of instructions and constants */

/* How many transactions an SM can have in flight beyond its credits: the last access may overdraw
 * them by a warp's segments, of each of four words if it is local, and those that fill its caches,
 * sector by sector at most, take none.
 */
uint32_t port_extra(const struct config *cfg);
/* How many pending misses a cache of an SM can have. */
uint32_t misses_of(const struct cache_shape *shape);

/* What an SM shows to the memory system: the packets that it has sent in the window, sorted by
 * cycle, and a place for replies, which may come in any order since the SM sorts them. */
struct port {
    _Alignas(64) struct packet *out;
    uint32_t out_first, out_count, out_capacity; /* those from out_first on have yet to leave */
    struct reply *in;
    uint32_t in_count, in_capacity;    /* capacity covers all credits: never overflows */
    struct packet *ahead;              /* preloads: they leave past the port, and take no credits */
    uint32_t ahead_first, ahead_count; /* those from ahead_first on have yet to leave */
};

/* Check the invariants of a port between two events. */
#ifdef SMMUX_CHECK
void port_check(const struct port *port);
#else
static inline void port_check(const struct port *port) { (void)port; }
#endif
/* Move the packets that have yet to leave to the front of the array. */
void port_trim(struct port *port);

struct dram;
struct memsys;

/* The functions of a model of memory that the main loop calls. */
struct memory_model {
    void (*destroy)(struct memsys *m);
    /* The least time from packet.cycle to reply.cycle. */
    uint32_t (*min_reply)(const struct memsys *m);
    /* Keep a time line of each DRAM channel, if there are any. */
    enum error (*trace)(struct memsys *m);
    /* The DRAM channel of a partition; NULL: there are none. */
    const struct dram *(*dram)(const struct memsys *m, uint32_t partition);

    /* Begin a pass to cycle t, before which all packets have been sent, in which SMs go on from
     * there if `tpcs`; returns how many partitions take part, 0 if the memory is there already. */
    uint32_t (*begin)(struct memsys *m, uint64_t t, bool tpcs);
    /* Let a partition that takes part in the pass serve what was sent to it before the pass. */
    void (*partition)(struct memsys *m, uint32_t partition);
    /* Put every reply with cycle < t + min_reply into the ports of a TPC, in order of time, before
     * its SMs run; t is that of the last pass. */
    void (*receive)(struct memsys *m, uint32_t tpc, struct port *ports);
    /* Take the packets of a TPC's SMs with cycle < t1, after they have run; later packets stay in
     * their port, in order, for the next window. */
    void (*send)(struct memsys *m, uint32_t tpc, struct port *ports, uint64_t t1);
    /* Take the preloads of all SMs, after all have run to the end of the window. */
    void (*preload)(struct memsys *m, struct port *ports);

    /* ---- between passes, while the SMs are at cycle t ---- */

    /* Did one partition alone have more than one of so many threads' share of the last pass? That
     * is partition camping. */
    bool (*is_camped)(const struct memsys *m, uint32_t threads);
    /* Has the memory yet to be advanced to t? */
    bool (*lags)(const struct memsys *m, uint64_t t);
    /* Advance a memory that lags to t, in a pass of its own. */
    void (*catch_up)(struct memsys *m, struct port *ports, uint64_t t, struct pool *pool);
    /* The cycle before which every reply is known; UINT64_MAX when nothing is in flight. */
    uint64_t (*known)(const struct memsys *m, uint64_t t);
    /* A cycle before which no reply comes that the SMs do not have yet; replies to packets that are
     * still in ports count. */
    uint64_t (*next_reply)(const struct memsys *m);
    /* Let what is still on its way to DRAM after the last reply arrive, so that counters do not
     * depend on windows, and add the counters. */
    void (*finish)(struct memsys *m, struct counters *into);
};

/* Memory as the machine has it: the head of a struct memflat or a struct memdetail. */
struct memsys {
    const struct memory_model *model;
};

/* Memory for so many SMs, each with so many preloads under way at most. */
enum error memsys_create(struct memsys **out, const struct config *cfg, uint32_t ports,
                         uint32_t preloads);

/* ---- what an access does to memory (access.c) ----------------------------------------------- */

/* Read or write memory for some lanes of an access: one transaction. The SM itself reads textures,
 * when they issue; fetches move nothing. */
void access_perform(struct access *a, uint32_t lanes);
/* Put what one or more lanes of a load ask for into its registers; `from` holds the memory from
 * device address `base` on. Only the SM may call it: it writes the other lanes of a row, too. */
void access_read(const struct access *a, uint32_t lanes, const uint8_t *from, uint32_t base);

#endif

/* A memory partition: the L2 slices (or the bare ROP on GT200) and the DRAM channel.
 *
 * A partition is simulated alone, event by event, in the order of interconnect clocks: a
 * request leaves the ROP pipeline of its slice, or a DRAM access completes. Only requests
 * and the reply streams connect it with the rest, so partitions can run on any thread.
 *
 *   request stream -> slice input port (1 flit/clk, write_bytes of data/clk) -> ROP latency -> (L2)
 *     -> DRAM latency -> FIFO and window of the channel -> reply -> slice output port
 *
 * Preloads come from the dispatcher without passing the input port, and have priority: whenever the
 * slice's pipeline is free it takes the first preload, and a request of a TPC only if there is
 * none. They bypass the L2 unless preload_lookup.
 *
 * Where a chip has two halves, a partition has a slice in each, for the same addresses. A line
 * belongs to one half, its home. Loads go to the slice of their own half, which keeps what it
 * fetches: a line of the other half it fetches through the line's home slice, which keeps the line,
 * too. If the home slice has no room, DRAM's answer passes it by. Stores and atomics go to the home
 * slice, and make the other one forget what they write.
 *
 * Values are read and written when a packet leaves the request streams: in order of
 * arrival, ties by SM. Atomics lock their 32-byte sectors [ATOM-STR] for atom_interval per
 * lane of the most contended address, and one that finds a lock waits in the slice; without
 * L2 they read from DRAM, answer, and write back. */
#ifndef SMMUX_PARTITION_H
#define SMMUX_PARTITION_H

#include "memory/dram.h"
#include "memory/l2.h"
#include "memory/xbar.h"

#define PARTITION_MAX_SLICES 4u

/* How many locks a slice has for atomics; sectors that many apart share a lock. [EST] No source
 * says how many there are. Atomics in flight on a slice should rarely share a lock by chance, and
 * its state should fit into a few lines of the host's cache. A histogram of 2^15 values takes as
 * long with 4096 locks where it has 1024 counters, on all machines; with 65536, 5 % less on GT200
 * and as long elsewhere. */
#define ATOM_LOCKS       64u
#define ATOM_RECENT_BITS 5
#define ATOM_LOCK_SHIFT  5 /* 32-byte sectors [ATOM-STR] */

/* What a partition counts beside its L2 and DRAM. */
struct partition_stats {
    uint64_t atomics, preloads, request_flits, reply_flits;
};

/* Values of slice.tpc beside the number of a TPC: there is no next request, or it is a preload. */
#define TPC_NONE  XBAR_NONE
#define TPC_AHEAD (XBAR_NONE - 1)

/* One L2 slice with its ports; without an L2, the ROP of a partition. */
struct slice {
    struct streams *requests;   /* a stream per TPC */
    struct batch *ahead;        /* preloads */
    uint64_t in_free, out_free; /* ticks at which the input and the output port are free */
    uint64_t free;              /* tick at which the pipeline behind the ROP is free */
    uint64_t due;               /* tick at which the next request leaves the ROP */
    uint32_t number;            /* of the slice, among those of all partitions */
    uint32_t tpc;               /* whose request that is: a TPC, TPC_NONE or TPC_AHEAD */
    bool blocked; /* the next request cannot be served before the next completion of DRAM */
    struct l2 l2;
    uint32_t *echo;     /* by pending miss: the tag of a fill that the slice of the other half waits
                           for; 0: none */
    uint64_t written;   /* tick up to which the L2 writes data of stores and of fills */
    uint32_t atom_left; /* hundredths of a clock of atomics not yet charged to the pipeline */
    uint32_t recent[1u << ATOM_RECENT_BITS]; /* by a hash: the last sector with an atomic, plus 1 */
    uint64_t unlocked[ATOM_LOCKS];           /* by lock: tick at which the last atomic is done */
};

/* A message between the two halves of the chip. */
struct hop {
    uint64_t tick; /* at which it arrives */
    uint32_t tag;  /* as that of an access to DRAM (tags.h) */
};

struct partition {
    _Alignas(64) struct xbar *xbar; /* the pool of requests, the batches of its slices, constants */
    struct slice slice[PARTITION_MAX_SLICES];
    struct dram dram;
    uint64_t done;    /* tick of the oldest completion; XBAR_NEVER: none known */
    struct hop *hops; /* ring of messages, oldest first: all take equally long */
    uint64_t hop_due; /* tick of the first message; XBAR_NEVER: none is under way */
    struct clock_ratio to_dram, to_icnt;
    struct partition_stats stats;
    uint32_t hop_first, hop_end, hop_mask;
    uint32_t sides, crossing; /* number of halves; ticks from one to the other and back */
    uint32_t slices, rop_latency, dram_latency, dram_return;
    uint32_t atom_interval, atom_float, atom_unit, atom_whole, atom_sector, store_mask, write_queue;
    uint32_t burst_shift, write_shift;
    uint32_t events; /* processed in the last run, for the host's work balance */
    uint32_t atoms;  /* atomics without an L2 that have yet to write to DRAM what they have read */
    uint32_t turnaround; /* least DRAM clocks from a command to a request that its completion may
                            cause */
    bool cached, texture_only;
    bool bypass;                   /* requests that bypass the L2 are served together (bypass.c) */
    bool preloads, preload_lookup; /* there may be preloads; they look the L2 up */
};

/* Set up partition n. An SM has at most `preloads` preloads under way; `lines` are the bytes of its
 * slices' lines, l2_bytes for each slice. */
enum error partition_init(struct partition *p, struct xbar *x, const struct config *cfg, uint32_t n,
                          uint32_t preloads, uint8_t *lines);
void partition_free(struct partition *p);
/* Process every event before `end`. All requests that reach the slices before `arrivals` must have
 * been sent, and `end` is no later than `arrivals` plus the least time from the input port to the
 * L2. */
void partition_run(struct partition *p, uint64_t arrivals, uint64_t end);
/* Check that a partition that has processed every event has nothing under way. */
void partition_drained(const struct partition *p);

#endif

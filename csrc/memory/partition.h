/* A memory partition: the L2 slices (or the bare ROP on GT200) and the DRAM channel.
 *
 * A partition is simulated alone, event by event, in the order of interconnect clocks: a
 * request leaves the ROP pipeline of its slice, or a DRAM access completes. Only requests
 * and the reply streams connect it with the rest, so partitions can run on any thread.
 *
 *   request stream -> slice input port (1 flit/clk, write_bytes of data/clk) -> ROP latency -> L2
 * or not
 *     -> DRAM latency -> FIFO and window of the channel -> reply -> slice output port
 *
 * Preloads come from the dispatcher, past the input port, and have priority: as soon as the slice's
 * pipeline is free it takes the first of them, and only then a request of a TPC. They bypass the L2
 * unless preload_lookup.
 *
 * Where a chip has two halves the slices are one of each, with the same addresses. The one that
 * loads find beside them keeps what it fetches; a clean line that it replaces goes to the other
 * one, if there is room, so that both hold twice as much. What the other one has, or has asked for,
 * crosses over, and so does DRAM's answer for the half to which a line does not belong; stores and
 * atomics go to the one to which it does, and make the other one forget.
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

/* Locks of a slice; sectors this many apart share one. [EST] Nobody tells how many there are: the
 * atomics in flight on a slice should rarely meet by chance, and its state should fit a few lines
 * of the host's cache. A histogram of 2^15 values takes as long with 4096 locks where it has 1024
 * counters, on all machines; with 65536, 5 % less on GT200 and as long elsewhere. */
#define ATOM_LOCKS       64u
#define ATOM_RECENT_BITS 5
#define ATOM_LOCK_SHIFT  5 /* 32-byte sectors [ATOM-STR] */

/* What a partition counts beside its L2 and DRAM. */
struct partition_stats {
    uint64_t atomics, preloads, request_flits, reply_flits;
};

/* Whose a slice's oldest request is: a TPC's, nobody's that is known, or the dispatcher's. */
#define TPC_NONE  XBAR_NONE
#define TPC_AHEAD (XBAR_NONE - 1)

/* One L2 slice with its ports; without an L2, the ROP of a partition. */
struct slice {
    struct streams *requests;   /* per TPC */
    struct batch *ahead;        /* preloads */
    uint64_t in_free, out_free; /* ports */
    uint64_t free;              /* the pipeline behind the ROP */
    uint64_t due;               /* when the next request leaves the ROP */
    uint32_t number;            /* of the slices of all partitions */
    uint32_t tpc;               /* whose it is, see above */
    bool blocked;               /* until the next completion */
    struct l2 l2;
    uint32_t *echo;   /* by pending miss: what the slice of the other half waits for, 0: nothing */
    uint64_t written; /* until when the L2 writes data of stores and of DRAM */
    uint32_t atom_left; /* hundredths of a clock that atomics still hold the pipeline */
    uint32_t recent[1u << ATOM_RECENT_BITS]; /* sectors with atomics, and 1 */
    uint64_t unlocked[ATOM_LOCKS];           /* when the last atomic there is done */
};

/* What comes from the other half of the chip, and when. */
struct hop {
    uint64_t tick;
    uint32_t tag; /* as of an access to DRAM */
};

struct partition {
    _Alignas(64) struct xbar *xbar; /* constants, the request pool, its own slices' side */
    struct slice slice[PARTITION_MAX_SLICES];
    struct dram dram;
    uint64_t done;    /* tick of the oldest completion; XBAR_NEVER: none known */
    struct hop *hops; /* a ring, in order of time: all take as long */
    uint64_t hop_due; /* tick of the first; XBAR_NEVER: none is under way */
    struct clock_ratio to_dram, to_icnt;
    struct partition_stats stats;
    uint32_t hop_first, hop_end, hop_mask;
    uint32_t sides, crossing; /* halves; ticks there and back */
    uint32_t slices, rop_latency, dram_latency, dram_return;
    uint32_t atom_interval, atom_float, atom_unit, atom_whole, atom_sector, store_mask, write_queue;
    uint32_t burst_shift, write_shift;
    uint32_t events;     /* of the last run */
    uint32_t atoms;      /* past the L2 in DRAM, to write there when they have read */
    uint32_t turnaround; /* DRAM command to the request its completion may cause, at least */
    bool cached, texture_only;
    bool past; /* requests go past the L2 all at once, if nothing is in the way (past.c) */
    bool preloads, preload_lookup; /* there may be any; they look the L2 up */
};

/* Set up partition n, for so many preloads of an SM under way; `lines` are of its slices, l2_bytes
 * each. */
enum error partition_init(struct partition *p, struct xbar *x, const struct config *cfg, uint32_t n,
                          uint32_t preloads, uint8_t *lines);
void partition_free(struct partition *p);
/* Process every event before `end`; all requests that reach the slices before `arrivals`
 * have been sent, and end <= arrivals + least time from there to the L2. */
void partition_run(struct partition *p, uint64_t arrivals, uint64_t end);
/* Check that nothing is on its way in a partition that has processed every event. */
void partition_drained(const struct partition *p);

#endif

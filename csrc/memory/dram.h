/* One DRAM channel at command level: banks, open rows, bus and bank-group timing, refresh,
 * requests in a finite window. Event-driven: the time of the next command is computed,
 * idle clocks are skipped. All times are command clocks of the channel.
 *
 * As in GPGPU-Sim (dram.cc, dram_sched.cc), at the start of a clock the window fills from the
 * FIFO of waiting requests, then every bank without a request takes from the window the one
 * that the DRAM policy chooses; this repeats until nothing moves. One command per clock: the
 * first bank, in round-robin order from the one after the last activated or precharged, whose
 * next command is legal. The last access of a request may close the row too, as the page policy
 * decides (dram_policy.h). With dram_row_slots activates and precharges have slots of their own,
 * one per clock, beside that of reads and writes. When refresh is due nothing else issues until all
 * banks are precharged and refreshed; with dram_refresh_single a bank is, once it has served the
 * request that its row is open for, and others go on.
 *
 * Requests arrive in order of time, and dram_advance(limit) issues only commands before
 * limit: the caller must have pushed every request that arrives before limit. Then the
 * schedule does not depend on how the limits were chosen. */
#ifndef SMMUX_DRAM_H
#define SMMUX_DRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "base/errors.h"

#define DRAM_MAX_BANKS  64u
#define DRAM_MAX_GROUPS 32u
#define DRAM_NEVER      UINT64_MAX
#define DRAM_NONE       UINT32_MAX

enum dram_command_kind {
    DRAM_READ,
    DRAM_WRITE,
    DRAM_ACTIVATE,
    DRAM_PRECHARGE,
    DRAM_PRECHARGE_ALL,
    DRAM_REFRESH,
    DRAM_READ_CLOSING, /* with auto-precharge */
    DRAM_WRITE_CLOSING,
    DRAM_REFRESH_BANK /* with the precharge of an open row before it */
};

/* Command clocks, from the t_* rows of config.def. */
struct dram_timing {
    uint32_t rcd, rp, ras, rc, rrd, faw; /* rows */
    uint32_t cl, wl, burst;              /* data */
    uint32_t ccd, ccdl, step;            /* column to column: channel, bank group, one bank */
    uint32_t rtw, wtr;                   /* read to write; write to read: command to command */
    uint32_t group_rtw, group_wtr;       /* the same in a bank group */
    uint32_t rtp, rtpl, wtp;             /* to precharge: read in bank, read in group, write */
    uint32_t refi, rfc;                  /* refresh; refi 0: none */
};

#define DRAM_MAX_BURSTS UINT8_MAX

/* See dram_policy.h. */
struct dram_policy;
struct page_policy;

struct dram_request {
    uint64_t arrival; /* never before that of the request pushed before */
    uint32_t tag;     /* the caller's */
    uint32_t row;
    uint8_t bank;
    uint8_t bursts; /* column commands, 1 to DRAM_MAX_BURSTS */
    bool write;
};

/* A request from push to pop. */
struct dram_entry {
    uint64_t time; /* arrival; once served, the last data beat */
    uint32_t tag, row;
    uint32_t next;
    uint8_t bank, bursts;
    bool write;
};

struct dram_list {
    uint32_t head, tail; /* DRAM_NONE: empty */
};

struct dram_command {
    uint64_t clock;
    uint32_t row; /* activate: row; column commands: the caller's tag */
    uint8_t kind, bank;
};

/* An optional record of every command, for checkers; entries beyond capacity are only counted.
 * Refreshes of single banks come when the bank is used next, and of many in a row the last one. */
struct dram_log {
    struct dram_command *entries;
    uint64_t count, capacity;
};

/* What a channel counts per interval, for a time line: banks[b]: rows opened. */
struct dram_sample {
    uint32_t reads, writes, hits, misses, conflicts, banks[DRAM_MAX_BANKS];
};

#define DRAM_SAMPLES 128u

/* The intervals begin at clock 0 and are of 2^shift clocks; they double when there are too many. */
struct dram_trace {
    uint32_t shift, count;
    struct dram_sample sample[DRAM_SAMPLES];
};

/* What a channel counts. */
struct dram_stats {
    uint64_t reads, writes, activates, precharges, refreshes; /* commands */
    uint64_t hits, misses, conflicts; /* requests whose bank had their row, none, another */
    uint64_t busy;                    /* clocks of the data bus */
};

/* The state of one bank, apart from what choosing the next command reads. */
struct dram_bank {
    uint64_t act_ready, pre_ready, col_ready;
    uint64_t refresh_due;        /* DRAM_NEVER: not alone */
    uint32_t row;                /* open, unless in dram.closed */
    uint32_t entry;              /* being served */
    uint8_t bursts;              /* left of it */
    struct dram_list candidates; /* its requests in the window, oldest first */
};

struct dram {
    /* Hot: what finding the next command reads. */
    uint64_t wake;                  /* no command before this clock */
    uint64_t now;                   /* clock of the next decision */
    uint64_t admits;                /* when the next request enters the window; DRAM_NEVER: that is
                                       full, or there is none */
    uint64_t column_free, row_free; /* clock after the last read or write; activate or precharge */
    uint64_t row_bound;             /* no activate or precharge of a serving bank before this */
    uint64_t ready[DRAM_MAX_BANKS]; /* bank's next command: bank-local constraints */
    uint64_t bus_ready[4];          /* constraints of the channel, by kind */
    uint64_t group_ready[2][DRAM_MAX_GROUPS]; /* for reads and for writes */
    uint64_t group_pre_ready[DRAM_MAX_GROUPS];
    uint64_t column, row; /* serving banks whose next command is a read or write; the others */
    uint64_t writing;     /* banks whose request is a write */
    uint64_t closed;      /* banks without an open row */
    uint64_t waiting;     /* banks with requests in the window */
    uint32_t first;       /* round-robin start */
    uint64_t refresh_due; /* of all banks together; DRAM_NEVER: they are not */
    uint32_t wanted[DRAM_MAX_BANKS]; /* row of the request being served */

    struct dram_timing t;
    uint32_t banks, group_mask; /* group of bank b: b & group_mask */
    uint32_t window, window_used;
    uint32_t age_cap; /* dram_age_cap */
    bool row_slots;   /* dram_row_slots */
    const struct dram_policy *policy;
    const struct page_policy *page;
    uint64_t act_times[4];
    uint32_t act_index;

    struct dram_entry *pool;
    uint32_t free, fresh, capacity; /* free entries: a list, and those never used */
    struct dram_list fifo;          /* waiting for the window */
    struct dram_list done;          /* completed, not yet popped */
    uint64_t last_end;              /* time of the last of all of these */

    struct dram_bank bank[DRAM_MAX_BANKS];
    struct dram_stats stats;
    struct dram_log *log;
    struct dram_trace *trace; /* NULL if not wanted */
};

/* The timing of a machine's channels (dram_timing.c). */
struct dram_timing dram_timing(const struct config *cfg);
/* Make an idle channel, which holds as many requests between push and pop as its capacity. Its
 * refresh is staggered by `phase` clocks against those of other channels. */
enum error dram_init(struct dram *d, const struct config *cfg, uint32_t capacity, uint32_t phase);
void dram_free(struct dram *d);
/* Keep a time line from now on (dram_trace.c). */
enum error dram_trace(struct dram *d);
/* The interval of the time line, which is kept, with that clock. */
struct dram_sample *dram_sample_at(struct dram *d, uint64_t clock);
/* Put a request into the channel's queue. */
void dram_push(struct dram *d, const struct dram_request *r);
/* Issue every command before limit. */
void dram_advance(struct dram *d, uint64_t limit);

/* The clock of the oldest completion not yet popped, DRAM_NEVER when there is none; they are in
 * order of time. */
static inline uint64_t dram_done(const struct dram *d) {
    return d->done.head == DRAM_NONE ? DRAM_NEVER : d->pool[d->done.head].time;
}

/* Pop the oldest completion and return its tag. */
uint32_t dram_pop(struct dram *d);

/* Check all that holds of a channel between two commands (dram_check.c). */
#ifdef SMMUX_CHECK
void dram_check(const struct dram *d);
#else
static inline void dram_check(const struct dram *d) { (void)d; }
#endif

#endif

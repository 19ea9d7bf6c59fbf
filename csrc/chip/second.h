/* The state of the second level of caches for instructions and constants (supply.h). */
#ifndef SMMUX_SECOND_H
#define SMMUX_SECOND_H

#include "chip/supply.h"
#include "memory/cache.h"

#define PACKET_BYTES 128u /* the largest one */
#define MAX_FILLS    8u   /* lines on their way at a time */
#define LATE_LINES   32u  /* lines that are on their way to a TPC and can be told of again */
#define NOBODY       UINT32_MAX

_Static_assert(MAX_FILLS == MOST_icache2_fills &&
                   SUPPLY_PACKETS >= MAX_FILLS * MOST_icache2_line / PACKET_BYTES,
               "there is a record for every packet");

/* A request that waits for a line. */
struct waiting {
    struct access *access;
    uint64_t cycle; /* no answer before */
    uint32_t sm, next;
};

/* A line that is on its way, or is to be asked for when its turn comes. */
struct fill {
    uint32_t line;
    uint32_t sm;          /* that asked first */
    uint32_t first, last; /* of those who wait, in order */
    uint32_t packets;     /* not yet answered */
    uint64_t start;       /* when it was asked for */
    uint64_t done;        /* when it comes; NEVER: not known yet */
};

/* The lines of instructions that the port of a TPC has sent last. */
struct to_tpc {
    uint32_t next;
    struct {
        uint32_t addr;
        uint64_t at;
    } line[LATE_LINES];
};

struct second {
    struct cache cache;
    const struct config *cfg;
    struct served served;   /* its SMs, which are numbered among themselves */
    uint32_t last_line;     /* of the program */
    uint32_t per_line;      /* packets */
    struct fill *fill;      /* those on their way, and behind them the others, in order */
    uint32_t on_way, fills; /* how many are on their way, and in all */
    struct waiting *pool;
    uint32_t free, fresh; /* list; first unused one */
    uint64_t turn;        /* the next request is taken then, or later */
    struct to_tpc tpc[MOST_icache2_sms];
    uint8_t tpc_of[MOST_icache2_sms]; /* of each SM, numbered among themselves */
    bool twins;                       /* lines go to all SMs of a TPC */
    uint32_t unanswered[MOST_icache2_sms];
    uint64_t answer; /* no SM that waits for a line hears before, if memory has it to say later */
    uint64_t packets_free;          /* bit per record below */
    uint32_t owner[SUPPLY_PACKETS]; /* the line of each */
    struct access *packet;          /* one each, of the lines that memory is asked for */
};

static inline struct sm *sm_of(const struct second *s, uint32_t i) {
    return &s->served.sms[s->served.member[i]];
}

static inline struct port *port_of(const struct second *s, uint32_t i) {
    return &s->served.ports[s->served.member[i]];
}

static inline uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t latest(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Is it known when the line of a fill comes? */
static inline bool fill_is_known(const struct fill *f) { return !f->packets && f->done != NEVER; }

#endif

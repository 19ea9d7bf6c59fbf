/* The memory models alone, for callers outside a launch: a DRAM channel that serves a list
 * of requests, a cache that sees a list of addresses, and the whole memory side fed with
 * packets from SMs that do nothing but send. */
#ifndef SMMUX_REPLAY_H
#define SMMUX_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/config.h"
#include "base/counters.h"
#include "base/errors.h"
#include "memory/cache.h"
#include "memory/dram.h"

/* A request to one DRAM channel, as Python writes it. */
struct dram_replay_request {
    uint64_t arrival; /* command clock, not decreasing */
    uint32_t address; /* the channel's own */
    uint16_t bytes;
    uint8_t write, unused;
};

_Static_assert(sizeof(struct dram_replay_request) == 16 &&
                   offsetof(struct dram_replay_request, write) == 14,
               "the layout of smmux.machines.models_memory.DRAM_REQUEST");
_Static_assert(sizeof(struct dram_command) == 16 && offsetof(struct dram_command, kind) == 12 &&
                   offsetof(struct dram_command, bank) == 13,
               "the layout of smmux.machines.models_memory.COMMAND");

/* Clocks and cycles of records lie below: minutes of simulated time. */
#define REPLAY_LAST (1ull << 40)

/* Asked now and then by a replay, which then ends with ERROR_INTERRUPTED. */
struct replay_watch {
    bool (*interrupted)(void *context);
    void *context;
};

/* What is wrong where a replay ends with ERROR_BAD_LAUNCH: with the record of that index, or
 * (REPLAY_WHOLE) with no one of them. */
#define REPLAY_WHOLE UINT64_MAX
struct replay_refusal {
    uint64_t index;
    const char *what;
    uint32_t bytes, address; /* of that record, and its arrival or cycle */
    uint64_t time;
};

/* Serve n requests on one channel. done[i]: clock of the last data beat of request i.
 * log may be NULL. ERROR_BAD_LAUNCH: a request is out of order, empty, too long or too late. */
enum error dram_replay(const struct config *cfg, const struct dram_replay_request *requests,
                       uint64_t n, uint64_t *done, struct dram_stats *stats, struct dram_log *log,
                       const struct replay_watch *watch, struct replay_refusal *refused);

/* Look up n byte addresses in order in a cache of a possible shape; a miss replaces. hit[i]: 1 or
 * 0. evicted (or NULL): dirty lines thrown out; write (or NULL): 1 where the access is a store. */
enum error cache_replay(const struct cache_shape *shape, const uint32_t *addresses,
                        const uint8_t *write, uint64_t n, uint8_t *hit, uint64_t *evicted,
                        const struct replay_watch *watch);

/* A packet that an SM sends, as Python writes it. */
struct memory_packet {
    uint64_t cycle; /* not sent before */
    uint32_t address, bytes;
    uint16_t sm;
    uint8_t kind;  /* enum access_kind */
    uint8_t lanes; /* atomics: lanes on that address; others: 0 */
    uint32_t unused;
};

_Static_assert(sizeof(struct memory_packet) == 24 && offsetof(struct memory_packet, kind) == 18,
               "the layout of smmux.machines.models_memory.PACKET");

struct memory_replay {
    uint32_t credits;  /* outstanding packets per SM */
    uint32_t interval; /* shader clocks between two packets of an SM */
    uint32_t window;   /* 0: the largest */
};

/* Send n packets, each SM its own in their order in the list. sent[i], replied[i]: cycles.
 * counters: those of the memory system. ERROR_BAD_LAUNCH: malformed packet. */
enum error memory_replay(const struct config *cfg, const struct memory_replay *how,
                         const struct memory_packet *packets, uint64_t n, uint64_t *sent,
                         uint64_t *replied, struct counters *counters,
                         const struct replay_watch *watch, struct replay_refusal *refused);

#endif

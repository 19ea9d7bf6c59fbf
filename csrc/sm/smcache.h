/* The caches of an SM: L1 with data, texture, instructions, constants.
 *
 * Lines come in when their reply does. L1 values are those of the partition when the line
 * was read there, whatever happens to the line afterwards; texture and constant values are
 * those at launch, so that their caches need tags alone. */
#ifndef SMMUX_SMCACHE_H
#define SMMUX_SMCACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errors.h"
#include "memory/cache.h"
#include "memory/coalesce.h"

#define MAX_MISSES 64u
#define NO_MISS    0xffu

struct access;
struct sm;

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
void smcache_begin_warp(struct sm *sm, uint32_t warp);
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

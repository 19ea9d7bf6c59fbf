/* The caches of an SM: L1 with data, texture, instructions, constants.
 *
 * Sectors of lines come in when their reply does; those of one line that one access misses and that
 * lie side by side are one transaction. L1 values are those of the partition when the line
 * was read there, whatever happens to the line afterwards; texture and constant values are
 * those at launch, so that their caches need tags alone. */
#ifndef SMMUX_SMCACHE_H
#define SMMUX_SMCACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errors.h"
#include "memory/cache.h"
#include "memory/coalesce.h"
#include "memory/misses.h"

struct access;
struct sm;

/* The caches of an SM; 0 stands for none. */
enum sm_cache_id { CACHE_DATA = 1, CACHE_TEXTURE, CACHE_CODE, CACHE_CONST, CACHE_COUNT };

static inline struct cache_shape smcache_shape(const struct config *cfg, uint32_t id) {
    static const uint8_t which[CACHE_COUNT] = {[CACHE_DATA] = SHAPE_l1,
                                               [CACHE_TEXTURE] = SHAPE_tex,
                                               [CACHE_CODE] = SHAPE_icache,
                                               [CACHE_CONST] = SHAPE_const};
    return config_shape(cfg, which[id]);
}

/* Lanes of an access that wait for sectors of a line, or for a line of a tile. */
struct waiter {
    struct access *access;
    uint32_t lanes, next;
    uint8_t want; /* sectors that have not come */
};

/* L1, texture, instruction or constant cache with its pending misses. */
struct sm_cache {
    struct cache cache;
    struct misses misses;
    void *place;     /* memory of its lines' state */
    uint32_t *words; /* of each way: a bit for each word that stores have left there, also where its
                        sector is not valid; NULL: they leave none */
    bool present;
    uint32_t miss_limit;
    uint64_t fills; /* number of times that sectors have come */
};

/* The number of the line that holds an address. */
static inline uint32_t smcache_line(const struct sm_cache *c, uint32_t addr) {
    return addr >> c->cache.line_shift;
}

static inline bool smcache_sectored(const struct sm_cache *c) {
    return c->cache.sector_shift != c->cache.line_shift;
}

/* The sectors of a line that some lanes ask for; an access never touches two. */
uint32_t smcache_sectors(const struct sm_cache *c, const uint32_t addr[32], uint32_t lanes);

/* Of wanted sectors of a line those that are not there. */
static inline uint32_t smcache_absent(const struct sm_cache *c, uint32_t index, uint32_t want) {
    return index == CACHE_NONE ? want : want & ~(uint32_t)c->cache.lines[index].valid;
}

enum error smcache_init(struct sm *sm);
void smcache_free(struct sm *sm);
/* Invalidate the lines of the L1, so that later loads read what other SMs have written. Accesses
 * that wait for a line on its way still get it. */
void smcache_invalidate(struct sm *sm);
/* Check all that holds of the caches and their pending misses between two events. */
#ifdef SMMUX_CHECK
void smcache_check(const struct sm *sm);
#else
static inline void smcache_check(const struct sm *sm) { (void)sm; }
#endif
/* Ask for all of a line from cycle `at` on; there must be a free entry for its pending miss. */
void smcache_ask_line(struct sm *sm, enum sm_cache_id id, uint32_t line, uint64_t at);
/* Load the sectors that are there, and wait for the others, which are asked for from cycle `at` on,
 * line by line, `apart` clocks after each other. Returns how many lines lack sectors. */
uint32_t smcache_load(struct sm *sm, enum sm_cache_id id, struct access *a,
                      const struct segment *seg, uint32_t n, uint64_t at, uint32_t apart);
/* Update the L1 for a store, an atomic or a load that bypasses it. keeps: what a store writes comes
 * into the L1. */
void smcache_write(struct sm *sm, const struct access *a, const struct segment *seg, uint32_t n,
                   bool keeps);
/* Put lanes of an access at the front of a list of waiters for a line. */
void smcache_wait(struct sm *sm, uint32_t *waiters, struct access *a, uint32_t lanes);
/* A line has come: empty its list of waiters, in the order in which they came, and let their
 * accesses go on. */
void smcache_serve(struct sm *sm, uint32_t *waiters, uint64_t t);
/* Sectors of a line have come: put them into the cache, and serve the accesses that wait for them.
 */
void smcache_fill(struct sm *sm, struct access *fill, uint64_t t);

#endif

/* A set-associative cache: tags, LRU, valid and dirty sectors, pending misses.
 *
 * What a cache does on a miss, a store or a fill is its owner's business (l2.c, the SM);
 * this file finds, replaces and remembers. A miss reserves its line at once and ties it
 * to a pending-miss entry (MSHR); a tied line is never evicted. Lines are numbers
 * (address / line size). Line data are optional. */
#ifndef SMMUX_CACHE_H
#define SMMUX_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/config.h"
#include "base/errors.h"
#include "memory/sets.h"

#define CACHE_NONE    UINT32_MAX
#define CACHE_NO_MSHR 0xffffu

/* How lines share room, where a set has more ways than the cache has places for lines: each bank of
 * sets has so many. One that is full lets a line of the next set go that has any. */
struct cache_room {
    uint32_t most; /* 0: there is room for all ways */
    uint32_t held[SET_BANKS], coming[SET_BANKS], next[SET_BANKS];
};

/* The state of one line, or way, apart from its number: numbers lie side by side for the search.
 * All of an empty way is zero, so that a large cache is there as soon as the host gives zeroed
 * memory, and takes as much of that as is used. */
struct cache_line {
    uint64_t used;
    uint16_t tie;         /* pending miss, complemented: see cache_mshr */
    uint8_t valid, dirty; /* sector masks */
    bool used_again;      /* since it came, or since all lines of its set had been */
};

struct cache {
    uint32_t *tag; /* of each way, set by set: the number of its line, complemented */
    struct cache_line *lines;
    uint8_t *data;  /* NULL: lines hold none */
    uint64_t clock; /* how often a line has been used */
    uint32_t sets, ways, line_shift, sector_shift;
    uint32_t set_mask; /* sets - 1 when sets is a power of two, else 0 */
    uint32_t set_shift;
    uint64_t set_inverse; /* 2^64 / sets, rounded up: division by multiplication */
    bool hashed, owned;   /* lines and tags are its own */
    struct cache_room room;
};

/* Why no cache has that shape; NULL: one has. */
const char *cache_refusal(const struct cache_shape *shape);
/* How many ways a cache of that shape has, in all its sets. */
uint32_t cache_ways(const struct cache_shape *shape);
/* How many bytes what is known of its lines takes. */
size_t cache_bytes(const struct cache_shape *shape);
/* An empty cache of a possible shape. `place` holds so many bytes of zeros for what is known of its
 * lines, and `data` what they hold; both stay the caller's. NULL: the cache gets a place of its
 * own; lines hold no data. */
enum error cache_init(struct cache *c, const struct cache_shape *shape, void *place, uint8_t *data);
void cache_free(struct cache *c);

/* Check every line: in its set, there once, and empty or not in all respects. */
#ifdef SMMUX_CHECK
void cache_check(const struct cache *c);
#else
static inline void cache_check(const struct cache *c) { (void)c; }
#endif

/* The index of the way that holds the line, or CACHE_NONE. */
uint32_t cache_find(const struct cache *c, uint32_t line);
/* Ask the host for the set of that line. */
void cache_prefetch(const struct cache *c, uint32_t line);
/* The index of the way to replace for `line`: an empty one, else the least recently used that
 * no miss is pending on; CACHE_NONE when all ways are tied. Where lines share room, those that have
 * not been used again since they came go first. */
uint32_t cache_victim(struct cache *c, uint32_t line);
/* Where lines share room, and those that are there and that are coming leave none for this one: let
 * another one go. Its number, or CACHE_NONE. */
uint32_t cache_make_room(struct cache *c, uint32_t line);
/* The line is coming, or no longer. */
void cache_expect(struct cache *c, uint32_t line, bool coming);
/* Put `line`, with no sector valid, in that way and make it the most recently used. */
void cache_put(struct cache *c, uint32_t index, uint32_t line);
/* Drop sectors of the line if it is present, and the line with the last one that is valid. */
void cache_drop(struct cache *c, uint32_t line, uint32_t sectors);
/* Drop all lines. No miss may be pending. */
void cache_clear(struct cache *c);

/* The number of the line in a way; CACHE_NONE: it is empty. */
static inline uint32_t cache_number(const struct cache *c, uint32_t index) {
    return ~c->tag[index];
}

/* The pending miss that a line is tied to, or CACHE_NO_MSHR. */
static inline uint32_t cache_mshr(const struct cache_line *l) { return (uint16_t)~l->tie; }

/* Tie a line to a pending miss, or let it go with CACHE_NO_MSHR. */
static inline void cache_tie(struct cache_line *l, uint32_t mshr) { l->tie = (uint16_t)~mshr; }

/* Make that way the most recently used. */
static inline void cache_touch(struct cache *c, uint32_t index) {
    c->lines[index].used = ++c->clock;
    c->lines[index].used_again = true;
}

/* The mask of the sectors that [addr, addr + bytes) touches; the range lies in one line. */
static inline uint32_t cache_sectors(const struct cache *c, uint32_t addr, uint32_t bytes) {
    uint32_t inside = addr & ((1u << c->line_shift) - 1);
    uint32_t first = inside >> c->sector_shift, last = (inside + bytes - 1) >> c->sector_shift;
    return ((2u << last) - 1) & ~((1u << first) - 1);
}

/* The mask of all sectors of a line. */
static inline uint32_t cache_all(const struct cache *c) {
    return (2u << ((1u << (c->line_shift - c->sector_shift)) - 1)) - 1;
}

/* Where the data of that way lie. */
static inline uint8_t *cache_data(const struct cache *c, uint32_t index) {
    return c->data + ((uint64_t)index << c->line_shift);
}

#endif

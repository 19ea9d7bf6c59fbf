/* One L2 slice: write-back, write-allocate, with pending misses (MSHRs). On GT200 it serves
 * textures alone.
 *
 * A load that misses fetches the missing sectors, rounded out to l2_fetch bytes, and waits with the
 * line's pending miss. A store fetches nothing: it marks its sectors dirty, and those valid that it
 * covers (byte masks go to DRAM with the write-back, as GDDR's data mask allows); with l2_words a
 * sector is valid, too, once several stores have written all of its words. Dirty lines are written
 * when they are replaced, or earlier, together with others of their DRAM page (cleaner.h). Atomics
 * are loads that leave the line dirty.
 * Under l2_parts DRAM takes no byte masks: a sector that is dirty and not valid, since stores have
 * written parts of it, is read before it is written back. A set keeps no more than l2_parts lines
 * with such sectors, and l2_dirty dirty ones.
 * The pipeline is in order: a request that finds no MSHR, no way to replace, no room to merge or no
 * write-back buffer holds up those behind it. */
#ifndef SMMUX_L2_H
#define SMMUX_L2_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "base/errors.h"
#include "memory/cache.h"
#include "memory/cleaner.h"
#include "memory/misses.h"
#include "memory/xbar.h"

struct l2_stats {
    uint64_t accesses, hits, merges, misses, writebacks;
};

struct l2 {
    struct cache cache;
    struct cleaner cleaner;
    struct misses misses; /* each is tied to a way of the cache (cache_tie) */
    uint32_t writebacks;  /* write-back buffers that are free */
    uint32_t buffers;     /* write-back buffers in all */
    uint32_t merge_limit, fetch_shift;
    uint32_t parts, dirty; /* l2_parts, l2_dirty */
    bool posts;            /* l2_atom_posted */
    uint32_t
        *words; /* per way: a bit for each word written since its line came; NULL unless l2_words */
    /* Lines that are being completed, by write-back buffer, and the free places there; NULL unless
     * l2_parts. */
    struct l2_span *held;
    uint16_t *free_held;
    uint32_t free_count, fresh_held; /* free places; first one that was never used */
    struct l2_stats stats;
};

/* What became of a request; see l2_access. */
enum l2_answer { L2_HIT, L2_MISS, L2_BLOCKED };

/* Part of a line. */
struct l2_span {
    uint32_t addr, bytes; /* address in the slice */
};

/* A line to be written back. Sectors that are not complete are read first, if there are any:
 * `held` is where what is to be written is kept meanwhile (l2_complete). */
struct l2_write {
    struct l2_span span, lacks;
    uint32_t held;
};

/* Where a line lies in DRAM. */
struct l2_place {
    uint32_t bank, row;
};

/* What DRAM has to do for a request; fetch.bytes is 0 if there is no fetch. */
struct l2_work {
    struct l2_span fetch;
    uint32_t fetch_mshr, fetch_sectors;
    uint32_t writes;
    struct l2_write write[CLEANER_MAX_LINES + 2]; /* lines of a page or a set, and victims */
};

/* The bytes of memory that the lines' state of a slice takes; 0 without an L2. */
size_t l2_bytes(const struct config *cfg);
/* Set up a slice in l2_bytes of zeros, which the caller frees. */
enum error l2_init(struct l2 *l, const struct config *cfg, uint8_t *place);
void l2_free(struct l2 *l);
/* Check that every pending miss is free or has a line of its own. */
#ifdef SMMUX_CHECK
void l2_check(const struct l2 *l);
#else
static inline void l2_check(const struct l2 *l) { (void)l; }
#endif

/* Look a request up, whose line lies at `place` in DRAM. L2_HIT: answer it now. L2_MISS: it waits
 * for sectors. L2_BLOCKED: nothing has changed, try again after the next completion of DRAM.
 * `covers`: it is a store that writes every byte of its segment. */
enum l2_answer l2_access(struct l2 *l, struct request *pool, uint32_t node, struct l2_place place,
                         bool covers, struct l2_work *work);

/* Note the words of a store that rides on the one right before it (send.c), which has taken the
 * time of both; always L2_HIT. */
enum l2_answer l2_ride(struct l2 *l, const struct request *r);
/* Look up sectors of a line that the slice of the other half asks for. L2_HIT: they are here.
 * L2_MISS: they come with pending miss *number. L2_BLOCKED: nothing has changed, there is no room
 * for them. */
enum l2_answer l2_ask(struct l2 *l, uint32_t line, uint32_t sectors, uint32_t *number,
                      struct l2_work *work);
/* What was missing of a line that is held has come: the part of it that is to be written. */
struct l2_span l2_complete(struct l2 *l, uint32_t held);
/* Drop sectors of a line, which the other half's slice has written. A line with a fetch under way
 * keeps them, since requests that wait count on them; that is a matter of time alone, as values
 * always come from memory. */
void l2_forget(struct l2 *l, uint32_t line, uint32_t sectors);

/* Fetched sectors of a pending miss have come: return the requests that now have all their sectors
 * as a list through request.next, oldest first (XBAR_NONE: none). */
uint32_t l2_fill(struct l2 *l, struct request *pool, uint32_t mshr, uint32_t sectors);

#endif

/* One L2 slice: write back, allocate on miss, pending misses; texture only on GT200.
 *
 * A load that misses fetches the missing sectors, rounded out to l2_fetch bytes, and waits
 * with the line's pending-miss entry (MSHR). A store needs no fetch: it marks its sectors
 * dirty, and valid where it covers them (byte masks go to DRAM with the write-back, as
 * GDDR's data mask allows), or with l2_words where others have written what it does not. Dirty
 * lines are written when they are replaced, or before that together with others of their DRAM page
 * (cleaner.h). Atomics are loads that leave the line dirty.
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
    struct misses misses; /* each with a line of its own, which is tied to it */
    uint32_t writebacks;  /* write-back buffers free */
    uint32_t buffers;     /* all of them */
    uint32_t merge_limit, fetch_shift;
    bool posts;      /* l2_atom_posted */
    uint32_t *words; /* of each line: those written since it came; NULL unless l2_words */
    struct l2_stats stats;
};

/* What became of a request; see l2_access. */
enum l2_answer { L2_HIT, L2_MISS, L2_BLOCKED };

/* Part of a line. */
struct l2_span {
    uint32_t addr, bytes; /* the slice's address */
};

/* Where a line lies in DRAM. */
struct l2_place {
    uint32_t bank, row;
};

/* What DRAM has to do for a request; no bytes: no fetch. */
struct l2_work {
    struct l2_span fetch;
    uint32_t fetch_mshr, fetch_sectors;
    uint32_t writes;
    struct l2_span write[CLEANER_MAX_LINES + 1]; /* lines of a page, and a victim */
};

/* How many bytes what is known of the lines of a slice takes, 0 without an L2. */
size_t l2_bytes(const struct config *cfg);
/* Set up a slice, with so many bytes of zeros that stay the caller's. */
enum error l2_init(struct l2 *l, const struct config *cfg, uint8_t *place);
void l2_free(struct l2 *l);
/* Check that every pending miss is free or has a line of its own. */
#ifdef SMMUX_CHECK
void l2_check(const struct l2 *l);
#else
static inline void l2_check(const struct l2 *l) { (void)l; }
#endif

/* Look the request up, whose line lies at that place. L2_HIT: answer it now. L2_MISS: it
 * waits in the cache. L2_BLOCKED: nothing changed, ask again after the next completion. `covers`: a
 * store writes every byte of its segment. */
enum l2_answer l2_access(struct l2 *l, struct request *pool, uint32_t node, struct l2_place place,
                         bool covers, struct l2_work *work);

/* A store has joined the one right before it, which has written for it, too. */
enum l2_answer l2_ride(struct l2 *l, const struct request *r);
/* Let the other half's slice have sectors of a line. L2_HIT: they are here. L2_MISS: they come
 * with that pending miss. L2_BLOCKED: nothing changed, there is no room for them. */
enum l2_answer l2_ask(struct l2 *l, uint32_t line, uint32_t sectors, uint32_t *number,
                      struct l2_work *work);
/* Sectors of a line are out of date. One with a fetch under way keeps them, since requests wait
 * that count on those it has; values are those of memory all the same. */
void l2_forget(struct l2 *l, uint32_t line, uint32_t sectors);

/* The fetched sectors of an MSHR are back: unlink the requests that are now complete and
 * return them as a list through request.next, oldest first (XBAR_NONE: none). */
uint32_t l2_fill(struct l2 *l, struct request *pool, uint32_t mshr, uint32_t sectors);

#endif

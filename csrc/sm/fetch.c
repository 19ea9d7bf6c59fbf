#include "sm/fetch.h"

#include <string.h>

#include "base/hints.h"
#include "sm/scoreboard.h"

void fetch_init(struct sm *sm) {
    const struct config *cfg = sm->m->cfg;
    const struct program *p = sm->m->program;
    if (!cfg->icache_bytes) return;
    sm->fetch_mask = cfg->fetch_bytes ? MAX_WARPS - 1 : 0;
    sm->piece_bytes = cfg->fetch_bytes ? cfg->fetch_bytes : cfg->icache_line;
    sm->last_piece = p->deps[p->count - 1].piece & ~PIECE_SPECIAL;
    memset(sm->fetched, 0xff, sizeof sm->fetched);
}

void fetch_begin_warp(struct sm *sm, uint32_t warp) {
    if (sm->fetch_mask) sm->fetched[warp] = CACHE_NONE;
}

/* The line of the instruction cache that holds a piece of the program. */
static uint32_t line_of(const struct sm *sm, uint32_t piece) {
    return smcache_line(&sm->caches[CACHE_CODE], CODE_BASE + piece * sm->piece_bytes);
}

/* Is there a free entry for a further line? */
static bool has_entry(const struct sm_cache *c) { return c->misses.count < MAX_MISSES; }

/* Look a piece of the program up and ask for its line if it is not there; where the cache
 * prefetches, for those behind it too. Inlined: a warp looks up each piece that it comes to. */
static ALWAYS_INLINE bool look_up(struct sm *sm, uint32_t piece) {
    struct sm_cache *c = &sm->caches[CACHE_CODE];
    const uint32_t line = line_of(sm, piece);
    struct settled *known = &sm->settled[line % (sizeof sm->settled / sizeof *sm->settled)];
    if (known->line == line && known->fills == c->fills) {
        cache_touch(&c->cache, known->way);
        return true;
    }
    const uint32_t last = line_of(sm, sm->last_piece), index = cache_find(&c->cache, line);
    const uint64_t at = sm->now + sm->m->cfg->lat_global;
    if (index != CACHE_NONE) {
        cache_touch(&c->cache, index);
    } else if (has_entry(c) && misses_find(&c->misses, line) == MISS_NONE) {
        smcache_ask_line(sm, CACHE_CODE, line, at);
        sm->count.icache_misses++;
    }
    for (uint32_t ahead = line + 1, most = line + sm->m->cfg->icache_prefetch;
         ahead <= most && ahead <= last && has_entry(c); ahead++) {
        if (cache_find(&c->cache, ahead) != CACHE_NONE ||
            misses_find(&c->misses, ahead) != MISS_NONE)
            continue;
        smcache_ask_line(sm, CACHE_CODE, ahead, at);
        sm->count.icache_prefetches++;
    }
    /* Without a free entry for a miss the next lines could not be asked for. */
    if (index != CACHE_NONE && has_entry(c))
        *known = (struct settled){.fills = c->fills, .line = line, .way = index};
    return index != CACHE_NONE;
}

bool fetch_piece(struct sm *sm, uint32_t warp, uint32_t piece) {
    if (!look_up(sm, piece)) {
        sm->awaited[warp] = line_of(sm, piece);
        return false;
    }
    sm->fetched[warp & sm->fetch_mask] = piece;
    /* While a buffer's instructions issue, the fetch of those behind them is under way. */
    if (sm->fetch_mask && piece < sm->last_piece) look_up(sm, piece + 1);
    return true;
}

void fetch_line_came(struct sm *sm, uint32_t line, uint64_t t) {
    const struct sm_cache *c = &sm->caches[CACHE_CODE];
    if (!sm->fetch_mask) sm->fetched[0] = CACHE_NONE; /* of all warps, which the line may replace */
    for (uint32_t w = 0; w < sm->warp_limit; w++)
        if (warp_is_fetching(sm, w) &&
            (sm->awaited[w] == line || misses_find(&c->misses, sm->awaited[w]) == MISS_NONE))
            warp_look_again(sm, w, t);
}

/* The tiles of an SM: their place in shared memory, and the tags of its lines. */
#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "sm/global.h"
#include "sm/preload.h"
#include "sm/trace.h"

static uint32_t line_bytes(const struct sm *sm) { return sm->m->cfg->preload_line; }

/* The first tag of a block's tile. */
static struct tag *tags_of(const struct sm *sm, const struct block *b) {
    return &sm->tags[b->tile_base / line_bytes(sm)];
}

/* Find a place for a tile above what static parts may want, as high as there is one. */
static bool find_place(const struct sm *sm, const struct block *b, uint32_t *at) {
    return smm_find_above(&sm->smm, b->tile_lines * line_bytes(sm), sm->m->preload->floor,
                          line_bytes(sm), at);
}

/* Would a tile of so many lines have a place if nobody held any memory? */
static bool can_fit(const struct sm *sm, uint32_t lines) {
    uint32_t at;
    struct smm empty = sm->smm;
    empty.used = 0;
    return lines <= preload_tags(sm->m->cfg) &&
           smm_find_above(&empty, lines * line_bytes(sm), sm->m->preload->floor, line_bytes(sm),
                          &at);
}

/* ---- begin and end ------------------------------------------------------------------------ */

void tiles_measure(struct sm *sm, struct block *b) {
    struct line_span spans[MAX_ENTRIES];
    uint32_t skipped;
    const uint32_t count = preload_spans(sm->m, b->id, spans, &skipped);
    uint32_t lines = 0;
    for (uint32_t i = 0; i < count; i++) lines += spans[i].last - spans[i].first + 1;
    sm->count.preload_skipped += skipped;
    if (!can_fit(sm, lines)) {
        sm->count.preload_unfit++;
        lines = 0;
    }
    b->tile_lines = lines;
}

bool tiles_wait(const struct sm *sm, const struct block *b) {
    uint32_t at;
    return b->tile_lines && sm->m->cfg->preload_wait && !find_place(sm, b, &at);
}

/* Request a line from memory without using the SM's port, as the dispatcher does the fetching. */
static void request_line(struct sm *sm, const struct block *b, uint32_t line, uint32_t tag,
                         uint64_t t) {
    struct port *port = sm->port;
    struct access *a = global_new_access(sm);
    a->buffer = NULL;
    a->mask = tag;
    a->kind = ACCESS_PRELOAD;
    a->sink = SINK_TILE;
    a->warp = (uint16_t)(b - sm->blocks);
    assert(port->ahead_count < preload_tags(sm->m->cfg));
    port->ahead[port->ahead_count++] = (struct packet){.cycle = t,
                                                       .access = a,
                                                       .addr = line * line_bytes(sm),
                                                       .bytes = (uint16_t)line_bytes(sm),
                                                       .sm = (uint16_t)sm->id};
}

void tiles_open(struct sm *sm, struct block *b, uint64_t t) {
    const struct preload_policy *policy = sm->m->preload->policy;
    struct line_span spans[MAX_ENTRIES];
    uint32_t skipped;
    if (!b->tile_lines) return;
    if (!find_place(sm, b, &b->tile_base)) {
        sm->count.preload_unfit++;
        b->tile_lines = 0;
        return;
    }
    smm_take(&sm->smm, b->id, b->tile_lines * line_bytes(sm), false, b->tile_base);
    if (sm->trace) trace_tile(sm, b, TRACE_TILE, t);
    const uint32_t count = preload_spans(sm->m, b->id, spans, &skipped);
    uint32_t tag = b->tile_base / line_bytes(sm);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t line = spans[i].first; line <= spans[i].last; line++, tag++) {
            sm->tags[tag] = (struct tag){line, CACHE_NONE, !policy->fetches};
            if (policy->fetches) request_line(sm, b, line, tag, t);
        }
    assert(tag == b->tile_base / line_bytes(sm) + b->tile_lines);
    b->tile_pending = policy->fetches ? b->tile_lines : 0;
    b->tile_users = b->warp_slots;
    b->held = policy->holds;
    sm->count.preload_blocks++;
    sm->count.preload_lines += b->tile_lines;
}

void tiles_close(struct sm *sm, struct block *b, uint64_t t) {
    assert(b->tile_lines && !b->tile_pending);
    const bool found = smm_release(&sm->smm, b->tile_base);
    assert(found);
    (void)found;
    if (sm->trace) trace_tile(sm, b, TRACE_TILE_END, t);
    b->tile_lines = 0;
}

void tiles_fill(struct sm *sm, struct access *fill, uint64_t t) {
    struct tag *tag = &sm->tags[fill->mask];
    const uint32_t slot = fill->warp;
    assert(!tag->ready && sm->blocks[slot].used && sm->blocks[slot].tile_pending);
    tag->ready = true;
    global_free_access(sm, fill);
    smcache_serve(sm, &tag->waiters, t);
    sm->blocks[slot].tile_pending--;
    block_tile_moved(sm, slot, t);
}

/* ---- the last use ------------------------------------------------------------------------- */

/* Does a load that may find a tile's line follow, for some lanes of the warp? */
static bool loads_later(const struct sm *sm, const struct warp *w) {
    const uint8_t *later = sm->m->preload->later;
    bool found = later[w->pc];
    for (uint32_t i = 0; i < w->depth; i++) found |= later[w->stack[i].pc];
    return found;
}

/* The warp has done with its block's tile. */
static void end_use(struct sm *sm, uint32_t warp) {
    struct block *b = &sm->blocks[sm->warps[warp].block];
    if (!(b->tile_users >> warp & 1)) return;
    b->tile_users &= ~(1ull << warp);
    if (!b->tile_users) block_tile_moved(sm, sm->warps[warp].block, sm->now);
}

void tiles_pass(struct sm *sm, uint32_t warp) {
    const struct warp *w = &sm->warps[warp];
    if (sm->blocks[w->block].tile_lines && sm->m->preload->early && !loads_later(sm, w))
        end_use(sm, warp);
}

void tiles_exit(struct sm *sm, uint32_t warp) {
    if (sm->blocks[sm->warps[warp].block].tile_lines && sm->m->preload->early) end_use(sm, warp);
}

/* ---- loads -------------------------------------------------------------------------------- */

/* The tag of a line in a tile, whose lines ascend; NULL: the tile lacks it. */
static struct tag *find_tag(struct tag *tags, uint32_t count, uint32_t line) {
    struct tag *low = tags, *end = tags + count;
    while (low < end) {
        struct tag *middle = low + (end - low) / 2;
        if (middle->line < line) low = middle + 1;
        else end = middle;
    }
    return low < tags + count && low->line == line ? low : NULL;
}

void tiles_look(struct memop *op, struct tile_share *share) {
    const struct sm *sm = op->sm;
    const struct block *b = &sm->blocks[op->w->block];
    const struct config *cfg = sm->m->cfg;
    const bool awaits = sm->m->preload->policy->awaits;
    struct tag *tags = tags_of(sm, b);
    struct segment seg[COALESCE_MAX_SEGMENTS];
    uint32_t at[32]; /* where the lanes' words lie in shared memory */
    const uint32_t n = coalesce_lines(op->addr, op->active, line_bytes(sm), seg);
    share->lanes = share->hits = share->waits = share->misses = share->busy = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct tag *tag = find_tag(tags, b->tile_lines, seg[i].addr / line_bytes(sm));
        if (!tag) {
            share->misses++;
            continue;
        }
        const uint32_t number = (uint32_t)(tag - sm->tags);
        if (awaits && !tag->ready)
            share->wait[share->waits++] = (struct segment){number, line_bytes(sm), seg[i].lanes};
        else share->hits++;
        share->lanes |= seg[i].lanes;
        for (uint32_t left = seg[i].lanes; left; left &= left - 1) {
            const uint32_t lane = bits_lowest(left);
            at[lane] = number * line_bytes(sm) + op->addr[lane] % line_bytes(sm);
        }
    }
    if (!share->lanes) return;
    for (uint32_t lane = 0; lane < 32; lane++)
        if (!(share->lanes >> lane & 1)) at[lane] = 0;
    share->cost = smem_passes(cfg, at, share->lanes, op->u->width);
    share->busy = share->cost.passes * cfg->smem_clk_per_way;
    if (share->busy < cfg->issue_shared) share->busy = cfg->issue_shared;
}

uint32_t tiles_read(struct memop *op, struct access *a, const struct tile_share *share) {
    struct sm *sm = op->sm;
    struct counters *n = &sm->count;
    n->preload_hits += share->hits;
    n->preload_waits += share->waits;
    n->preload_misses += share->misses;
    if (!share->lanes) return 0;
    n->preload_passes += share->cost.passes;
    n->preload_conflicts += share->cost.passes - share->cost.ideal;
    access_perform(a, share->lanes);
    for (uint32_t i = 0; i < share->waits; i++)
        smcache_wait(sm, &sm->tags[share->wait[i].addr].waiters, a, share->wait[i].lanes);
    return share->waits;
}

/* ---- checks ------------------------------------------------------------------------------- */

#ifdef SMMUX_CHECK
static void check_tile(const struct sm *sm, const struct block *b) {
    const struct tag *tags = tags_of(sm, b);
    uint32_t pending = 0;
    assert(b->tile_base % line_bytes(sm) == 0 && b->tile_base >= sm->m->preload->floor);
    assert(b->tile_base + b->tile_lines * line_bytes(sm) <= sm->smm.capacity - sm->smm.reserved);
    for (uint32_t i = 0; i < b->tile_lines; i++) {
        assert(!i || tags[i - 1].line < tags[i].line);
        assert(!tags[i].ready || tags[i].waiters == CACHE_NONE);
        pending += !tags[i].ready;
    }
    assert(pending == b->tile_pending && (!b->held || pending));
    assert(!(b->tile_users & ~b->warp_slots));
}

void tiles_check(const struct sm *sm) {
    if (!sm->m->preload) return;
    for (uint32_t slot = 0; slot < MAX_BLOCKS; slot++) {
        const struct block *b = &sm->blocks[slot];
        if (!b->used || (!b->started && !b->held)) continue;
        if (b->tile_lines) check_tile(sm, b);
        else assert(!b->tile_pending && !b->held);
    }
}
#endif

#include "sm/ahead.h"

#include <stddef.h>

#include "base/lines.h"
#include "sm/converge.h"
#include "sm/obey.h"

static void ask(const void *place, size_t bytes) {
    for (size_t at = 0; at < bytes; at += LINE_BYTES)
        __builtin_prefetch((const uint8_t *)place + at, 1);
}

/* What each instruction looks at: of the SM itself, and of its warps. */
static void state(const struct sm *sm) {
    ask(sm, offsetof(struct sm, warps));
    ask(&sm->pipe, offsetof(struct sm, settled) - offsetof(struct sm, pipe));
    for (uint32_t warp = 0; warp < sm->warp_limit; warp++) {
        ask(&sm->warps[warp], LINE_BYTES);
        ask(&sm->dependences[warp], sizeof *sm->dependences);
    }
}

/* ---- replies ----------------------------------------------------------------------------- */

/* The pending miss that a line answers; NULL: it is no line. */
static const struct miss *miss_of(const struct sm *sm, const struct access *a) {
    return a->sink == SINK_CACHE ? &sm->caches[a->cache].misses.miss[a->miss] : NULL;
}

/* A line that has come: what it holds, its set, and its pending miss. */
static void line(const struct sm *sm, const struct access *fill) {
    const struct cache *c = &sm->caches[fill->cache].cache;
    cache_prefetch(c, fill->addr[0] >> c->line_shift);
    ask(miss_of(sm, fill), sizeof(struct miss));
    ask(fill->data, fill->addr[1]);
}

/* Where the lanes of an access that waits go. */
static void lanes(const struct sm *sm, const struct access *a) {
    (void)sm;
    ask(a, offsetof(struct access, data));
}

/* The warp of an access, and the registers that it loads. */
static void registers(const struct sm *sm, const struct access *a) {
    if (a->warp >= MAX_WARPS) return;
    const struct warp *w = &sm->warps[a->warp];
    ask(w, LINE_BYTES);
    for (uint32_t i = 0; i < 4 && a->dst[i] != OPERAND_NONE; i++)
        ask(access_row(a, i), 32 * sizeof *a->rows);
    if (a->dst[0] == OPERAND_NONE) return;
    ask(&w->ready[a->dst[0]], 1);
    ask(&w->producer[a->dst[0]], 1);
    ask(&w->own->loading[a->dst[0]], 1);
}

/* Do that for all accesses which wait for a reply. */
static void for_waiting(const struct sm *sm, const struct access *reply,
                        void (*what)(const struct sm *sm, const struct access *a)) {
    const struct miss *m = miss_of(sm, reply);
    if (!m) {
        what(sm, reply);
        return;
    }
    uint32_t node = m->first;
    for (uint32_t i = 0; i < m->waiting; i++, node = sm->waiters[node].next)
        what(sm, sm->waiters[node].access);
}

/* Each look finds where the next one goes, so they follow each other for all replies. */
static void replies(const struct sm *sm) {
    const struct reply *first = sm->replies + sm->reply_first, *end = sm->replies + sm->reply_end;
    for (const struct reply *r = first; r < end; r++)
        if (miss_of(sm, r->access)) line(sm, r->access);
    for (const struct reply *r = first; r < end; r++) {
        const struct miss *m = miss_of(sm, r->access);
        if (m && m->waiting) ask(&sm->waiters[m->first], 1);
    }
    for (const struct reply *r = first; r < end; r++) for_waiting(sm, r->access, lanes);
    for (const struct reply *r = first; r < end; r++) for_waiting(sm, r->access, registers);
}

void ahead_window(const struct sm *sm) {
    state(sm);
    replies(sm);
}

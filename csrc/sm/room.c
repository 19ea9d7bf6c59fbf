#include "sm/room.h"

#include <string.h>

#include "sm/scheduler.h"
#include "sm/scoreboard.h"

/* Let a warp with a claim sleep until a reply makes room. */
static void starve(struct sm *sm, uint32_t warp) {
    warp_sleep(sm, warp, WAIT_CREDITS);
    sm->starved |= 1ull << warp;
}

bool room_claim(struct memop *op, enum sm_cache_id cache, const struct segment *seg, uint32_t n,
                uint32_t need) {
    struct claim *c = &op->sm->claims[op->warp];
    c->cache = cache;
    c->count = n;
    c->need = need;
    c->fills = op->sm->caches[cache].fills;
    memcpy(c->segment, seg, n * sizeof *seg);
    if (cache) memcpy(c->addr, op->addr, sizeof c->addr);
    op->sm->claiming |= 1ull << op->warp;
    starve(op->sm, op->warp);
    return false;
}

/* May there be room for a claim? If not, there is none for sure; else what it needs may have grown
 * since, which the attempt to issue finds out. */
static bool can_serve(const struct sm *sm, struct claim *c) {
    const uint64_t fills = sm->caches[c->cache].fills;
    if (c->fills != fills) {
        c->need = room_need(sm, (enum sm_cache_id)c->cache, c->addr, c->segment, c->count);
        c->fills = fills;
    }
    return room_suffices(sm, c->need, 0);
}

/* Let the warps whose turn comes next sleep at once if there is no room for their claims, either:
 * one after the other would take the slot only to find that. */
static void starve_next(struct sm *sm, struct subcore *s) {
    const uint64_t able = sched_able(sm, s);
    uint64_t hungry = 0;
    for (uint64_t left = able & sm->claiming; left; left &= left - 1)
        if (!can_serve(sm, &sm->claims[__builtin_ctzll(left)])) hungry |= left & (0 - left);
    if (!hungry) return;
    for (hungry = sched_before(sm, s, hungry, able & ~hungry); hungry; hungry &= hungry - 1)
        starve(sm, (uint32_t)__builtin_ctzll(hungry));
}

bool room_starves(struct sm *sm, uint32_t warp, uint64_t t) {
    struct subcore *s = &sm->subcores[sm->subcore_of[warp]];
    if (can_serve(sm, &sm->claims[warp])) {
        sm->claiming &= ~(1ull << warp);
        return false;
    }
    starve(sm, warp);
    if (s->slot == t) starve_next(sm, s); /* else it was to issue beside another instruction */
    return true;
}

void room_wake(struct sm *sm, uint64_t t) {
    for (uint64_t left = sm->starved; left; left &= left - 1) {
        const uint32_t w = (uint32_t)__builtin_ctzll(left);
        const struct claim *c = &sm->claims[w];
        if (c->fills == sm->caches[c->cache].fills && !room_suffices(sm, c->need, 0)) continue;
        sm->starved &= ~(1ull << w);
        warp_wait(sm, w, t, WAIT_CREDITS);
    }
}

#include "sm/room.h"

#include <string.h>

#include "base/bits.h"
#include "sm/scheduler.h"
#include "sm/scoreboard.h"
#include "sm/send.h"

/* ---- what an access needs ---------------------------------------------------------------- */

static struct absence absence_of(const struct sm_cache *c, const uint32_t addr[32],
                                 const struct segment *seg, uint32_t n) {
    struct absence a = {0, 0};
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t line = smcache_line(c, seg[i].addr), index = cache_find(&c->cache, line);
        if (index != CACHE_NONE &&
            !(smcache_sectored(c) &&
              smcache_absent(c, index, smcache_sectors(c, addr, seg[i].lanes))))
            continue;
        a.lines++;
        if (misses_find(&c->misses, line) == MISS_NONE) a.fresh++;
    }
    return a;
}

/* The credits for what is absent, a line each; CACHE_NONE if too many misses are pending. */
static uint32_t need_of(const struct sm_cache *c, struct absence a) {
    const uint32_t pending = c->misses.count;
    return pending + a.fresh > c->miss_limit && a.fresh && pending ? CACHE_NONE : a.lines;
}

uint32_t room_cached(const struct sm_cache *c, const uint32_t addr[32], const struct segment *seg,
                     uint32_t n) {
    return need_of(c, absence_of(c, addr, seg, n));
}

/* ---- claims ------------------------------------------------------------------------------ */

/* A warp sleeps that needs so many credits: it is to wake when they are free. One that needs fewer
 * pending misses (CACHE_NONE) wakes when a line has come, whatever the credits. */
static void wake_at(struct sm *sm, uint32_t need) {
    if (need != CACHE_NONE && room_enough(sm, need) < sm->wake_credits)
        sm->wake_credits = room_enough(sm, need);
}

/* Let a warp with a claim sleep until a reply makes room. A store that has found no place keeps all
 * accesses of its sub-core waiting until it has one. */
static void starve(struct sm *sm, uint32_t warp) {
    if (sm->claims[warp].stores)
        subcore_hold(sm, &sm->subcores[sm->subcore_of[warp]], sm->next_unit[warp], NEVER);
    warp_sleep(sm, warp, WAIT_CREDITS);
    sm->starved |= 1ull << warp;
    wake_at(sm, sm->claims[warp].need);
}

/* Note the lines of a claim on the L1, or forget them. */
static void note_lines(struct sm *sm, uint32_t warp, bool claimed) {
    const struct claim *c = &sm->claims[warp];
    const struct sm_cache *cache = &sm->caches[CACHE_DATA];
    const uint64_t bit = 1ull << warp;
    if (c->cache != CACHE_DATA) return;
    for (uint32_t i = 0; i < c->count; i++) {
        uint64_t *by = room_claimed(sm, smcache_line(cache, c->segment[i].addr));
        *by = claimed ? *by | bit : *by & ~bit;
    }
}

bool room_claim(struct memop *op, enum sm_cache_id cache, const struct segment *seg, uint32_t n,
                uint32_t need, uint32_t stores) {
    struct claim *c = &op->sm->claims[op->warp];
    c->cache = cache;
    c->count = n;
    c->need = need;
    c->stores = stores;
    c->fills = op->sm->caches[cache].fills;
    memcpy(c->segment, seg, n * sizeof *seg);
    if (cache) memcpy(c->addr, op->addr, sizeof c->addr);
    op->sm->claiming |= 1ull << op->warp;
    op->sm->reckoned &= ~(1ull << op->warp);
    note_lines(op->sm, op->warp, true);
    starve(op->sm, op->warp);
    return false;
}

/* A warp no longer keeps the other accesses of its sub-core waiting. */
static void free_unit(struct sm *sm, uint32_t warp, uint64_t t) {
    const struct subcore *s = &sm->subcores[sm->subcore_of[warp]];
    sm->units.free[s->unit[sm->next_unit[warp]]] = t;
}

static bool fits(struct sm *sm, const struct claim *c) {
    return room_suffices(sm, c->need, 0) && send_has_room(sm, c->stores);
}

/* May there be room for a claim? If not, there is none for sure; else what it needs may have grown
 * since, which the attempt to issue finds out. */
static bool can_serve(struct sm *sm, uint32_t warp) {
    struct claim *c = &sm->claims[warp];
    const struct sm_cache *cache = &sm->caches[c->cache];
    if (c->fills != cache->fills) {
        if (!(sm->reckoned >> warp & 1))
            c->absence = absence_of(cache, c->addr, c->segment, c->count);
        if (c->cache == CACHE_DATA) sm->reckoned |= 1ull << warp;
        c->need = need_of(cache, c->absence);
        c->fills = cache->fills;
    }
    return fits(sm, c);
}

/* Let the warps whose turn comes next sleep at once if there is no room for their claims, either:
 * one after the other would take the slot only to find that. */
static void starve_next(struct sm *sm, struct subcore *s) {
    const uint64_t able = sched_able(sm, s);
    uint64_t blocked = 0;
    for (uint64_t left = able & sm->claiming; left; left &= left - 1)
        if (!can_serve(sm, bits_lowest64(left))) blocked |= left & (0 - left);
    if (!blocked) return;
    for (blocked = sched_before(sm, s, blocked, able & ~blocked); blocked; blocked &= blocked - 1)
        starve(sm, (uint32_t)__builtin_ctzll(blocked));
}

bool room_starves(struct sm *sm, uint32_t warp, uint64_t t) {
    struct subcore *s = &sm->subcores[sm->subcore_of[warp]];
    if (can_serve(sm, warp)) {
        sm->claiming &= ~(1ull << warp);
        note_lines(sm, warp, false);
        return false;
    }
    starve(sm, warp);
    if (s->slot == t) starve_next(sm, s); /* else it was to issue beside another instruction */
    return true;
}

void room_wake(struct sm *sm, uint64_t t) {
    sm->wake_credits = INT32_MAX;
    for (uint64_t left = sm->starved; left; left &= left - 1) {
        const uint32_t w = (uint32_t)__builtin_ctzll(left);
        const struct claim *c = &sm->claims[w];
        if (c->fills == sm->caches[c->cache].fills && !fits(sm, c)) {
            wake_at(sm, c->need);
            continue;
        }
        sm->starved &= ~(1ull << w);
        if (c->stores) free_unit(sm, w, t);
        warp_wait(sm, w, t, WAIT_CREDITS);
    }
}

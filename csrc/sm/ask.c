#include "sm/ask.h"

#include <assert.h>

#include "sm/global.h"
#include "sm/sm.h"

void ask_put(struct sm *sm, struct ask a) {
    const uint64_t answer = a.cycle + ask_least(sm->m->cfg);
    uint32_t i = sm->ask_count++;
    assert(a.cycle >= sm->now && i < MAX_ASKS + sm->m->flights);
    for (; i && sm->asks[i - 1].cycle > a.cycle; i--) sm->asks[i] = sm->asks[i - 1];
    sm->asks[i] = a;
    if (answer < sm->reach) sm->reach = answer;
}

uint64_t ask_bound(const struct sm *sm, uint64_t end) {
    if (!sm->ask_count) return end;
    const uint64_t answer = sm->asks[0].cycle + ask_least(sm->m->cfg);
    return answer < end ? answer : end;
}

void ask_twin(struct sm *sm, struct access *a, uint64_t t) {
    struct sm_cache *c = &sm->caches[CACHE_CODE];
    const uint32_t line = smcache_line(c, a->addr[0]);
    (void)t;
    if (misses_find(&c->misses, line) == MISS_NONE && cache_find(&c->cache, line) == CACHE_NONE) {
        cache_put(&c->cache, cache_victim(&c->cache, line), line);
        c->fills++;
    }
    global_free_access(sm, a);
}

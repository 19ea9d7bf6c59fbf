#include "base/pool.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/lines.h"

/* Windows are short: look for some tens of microseconds before sleeping. */
#define SPINS 3000

#if defined(__x86_64__) || defined(__i386__)
static void relax(void) { __builtin_ia32_pause(); }
#else
static void relax(void) {}
#endif

/* What one thread is told. The items of its own that nobody has taken yet, in one word: number of
 * the work, end and begin. A late thread whose number is out of date cannot take anything. */
struct share {
    _Alignas(64) _Atomic uint64_t range;
    pool_fn *fn; /* for who has taken an item */
    void *context;
};

/* Items not finished: the line that everybody writes, once a pass. */
struct remainder {
    _Alignas(64) atomic_uint items;
};

struct pool {
    struct remainder left;
    atomic_uint generation; /* number of the work at hand */
    atomic_uint sleepers;
    atomic_uint joined; /* numbers handed to workers at their start */
    atomic_bool stop;
    uint32_t workers;
    struct share *share;
    pthread_t *thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

/* Items begin to end - 1 of the work with that number, in one word. */
static uint64_t range(uint32_t generation, uint32_t end, uint32_t begin) {
    return (uint64_t)generation << 32 | end << 16 | begin;
}

/* Take an item of a share: its owner from the front, others from the back. False: none is left. */
static bool take(struct share *s, uint32_t generation, bool own, uint32_t *item) {
    uint64_t seen = atomic_load(&s->range);
    for (;;) {
        const uint32_t begin = seen & 0xffffu, end = seen >> 16 & 0xffffu;
        if (seen >> 32 != generation || begin == end) return false;
        *item = own ? begin : end - 1;
        const uint64_t rest =
            own ? range(generation, end, begin + 1) : range(generation, *item, begin);
        if (atomic_compare_exchange_weak(&s->range, &seen, rest)) return true;
    }
}

/* Every thread begins with its own items, whose state is in its core's cache, and then helps
 * the others. Item i belongs to thread i mod threads. */
static void work(struct pool *p, uint32_t self, uint32_t generation) {
    const uint32_t threads = p->workers + 1;
    const struct share *mine = &p->share[self];
    uint32_t done = 0;
    for (uint32_t k = 0; k < threads; k++) {
        const uint32_t owner = (self + k) % threads;
        for (uint32_t i; take(&p->share[owner], generation, k == 0, &i); done++)
            mine->fn(mine->context, i * threads + owner);
    }
    if (done) atomic_fetch_sub(&p->left.items, done);
}

/* Return when there is work of another number than that. */
static void wait_for_work(struct pool *p, unsigned seen) {
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&p->generation) != seen) return;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    while (atomic_load(&p->generation) == seen) pthread_cond_wait(&p->wake, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
}

static void *worker(void *arg) {
    struct pool *p = arg;
    const uint32_t self = atomic_fetch_add(&p->joined, 1) + 1;
    for (unsigned seen = 0;;) {
        wait_for_work(p, seen);
        seen = atomic_load(&p->generation); /* first: the last one would not come again */
        if (atomic_load(&p->stop)) return NULL;
        work(p, self, seen);
    }
}

/* Let workers begin with the work of that number. A worker that is about to sleep counts itself
 * before it looks at the number again, so none sleeps through it. */
static void announce(struct pool *p, uint32_t generation) {
    atomic_store(&p->generation, generation);
    if (!atomic_load(&p->sleepers)) return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

enum error pool_create(struct pool **out, uint32_t threads) {
    struct pool *p = *out = lines_alloc(sizeof *p);
    if (!p) return ERROR_NO_MEMORY;
    *p = (struct pool){.thread = calloc(threads, sizeof *p->thread),
                       .share = lines_alloc(threads * sizeof *p->share)};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    if (!p->thread || !p->share) return ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < threads; i++) atomic_init(&p->share[i].range, 0);
    while (p->workers + 1 < threads && pthread_create(&p->thread[p->workers], NULL, worker, p) == 0)
        p->workers++; /* fewer threads than asked for give the same bits */
    return OK;
}

void pool_destroy(struct pool *p) {
    if (!p) return;
    atomic_store(&p->stop, true);
    announce(p, atomic_load(&p->generation) + 1);
    for (uint32_t i = 0; i < p->workers; i++) pthread_join(p->thread[i], NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    lines_free(p->share);
    free(p->thread);
    lines_free(p);
}

/* Who finds nothing left to take is not waited for: a worker that the host runs late, or not at
 * all, holds up nobody. */
void pool_run(struct pool *p, pool_fn *fn, void *context, uint32_t items) {
    const uint32_t threads = p->workers + 1;
    if (threads == 1 || items < 2) {
        for (uint32_t i = 0; i < items; i++) fn(context, i);
        return;
    }
    const uint32_t generation = atomic_load(&p->generation) + 1;
    assert(items <= 0xffffu && !atomic_load(&p->left.items)); /* 16 bits each for begin and end */
    atomic_store(&p->left.items, items);
    for (uint32_t t = 0; t < threads; t++) {
        struct share *s = &p->share[t];
        s->fn = fn;
        s->context = context;
        atomic_store(&s->range, range(generation, (items + threads - 1 - t) / threads, 0));
    }
    announce(p, generation);
    work(p, 0, generation);
    for (int i = 0; atomic_load(&p->left.items); i++) {
        if (i > SPINS) sched_yield();
        else relax();
    }
}

#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/* Windows are short: look for some tens of microseconds before sleeping. */
#define SPINS     3000
#define MAX_ITEMS 256

#if defined(__x86_64__) || defined(__i386__)
static void relax(void) { __builtin_ia32_pause(); }
#else
static void relax(void) {}
#endif

struct pool {
    uint32_t workers;
    pthread_t *thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_uint generation; /* number of the work at hand */
    atomic_uint sleepers;
    atomic_uint finished; /* workers through with this generation */
    atomic_uint joined;   /* numbers handed to workers at their start */
    atomic_bool stop;
    atomic_uint claimed[MAX_ITEMS]; /* generation in which the item was last taken */
    pool_fn *fn;
    void *context;
    uint32_t items;
};

/* Every thread begins with its own part of the items, whose state is in its core's cache, and
 * then helps the others. */
static void take_items(struct pool *p, uint32_t self) {
    const unsigned generation = atomic_load(&p->generation);
    const uint32_t first = self * p->items / (p->workers + 1);
    for (uint32_t k = 0; k < p->items; k++) {
        const uint32_t item = first + k < p->items ? first + k : first + k - p->items;
        if (atomic_load(&p->claimed[item]) != generation &&
            atomic_exchange(&p->claimed[item], generation) != generation)
            p->fn(p->context, item);
    }
}

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
    for (unsigned seen = 0;; seen++) {
        wait_for_work(p, seen);
        if (atomic_load(&p->stop)) return NULL;
        take_items(p, self);
        atomic_fetch_add(&p->finished, 1);
    }
}

/* A worker that is about to sleep counts itself before it looks at the generation again. */
static void announce(struct pool *p) {
    atomic_fetch_add(&p->generation, 1);
    if (!atomic_load(&p->sleepers)) return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

enum error pool_create(struct pool **out, uint32_t threads) {
    struct pool *p = *out = calloc(1, sizeof *p);
    if (!p) return ERROR_NO_MEMORY;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    p->thread = calloc(threads, sizeof *p->thread);
    if (!p->thread) return ERROR_NO_MEMORY;
    uint32_t started = 0;
    while (started + 1 < threads && pthread_create(&p->thread[started], NULL, worker, p) == 0)
        started++;
    p->workers = started; /* fewer threads than asked for give the same bits */
    return OK;
}

void pool_destroy(struct pool *p) {
    if (!p) return;
    atomic_store(&p->stop, true);
    announce(p);
    for (uint32_t i = 0; i < p->workers; i++) pthread_join(p->thread[i], NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p->thread);
    free(p);
}

void pool_run(struct pool *p, pool_fn *fn, void *context, uint32_t items) {
    if (p->workers == 0 || items > MAX_ITEMS) {
        for (uint32_t i = 0; i < items; i++) fn(context, i);
        return;
    }
    p->fn = fn;
    p->context = context;
    p->items = items;
    atomic_store(&p->finished, 0);
    announce(p);
    take_items(p, 0);
    for (int i = 0; atomic_load(&p->finished) < p->workers; i++) {
        if (i > SPINS) sched_yield();
        else relax();
    }
}

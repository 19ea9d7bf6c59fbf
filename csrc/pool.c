#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define SPINS 2000 /* windows are short: look a while before sleeping */

struct pool {
    uint32_t workers;
    pthread_t *thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_uint generation; /* odd steps of work; changes under the lock */
    atomic_uint running;    /* workers not yet finished with this generation */
    atomic_uint next;       /* next item */
    atomic_bool stop;
    pool_fn *fn;
    void *context;
    uint32_t items;
};

static void take_items(struct pool *p) {
    for (;;) {
        const uint32_t item = atomic_fetch_add(&p->next, 1);
        if (item >= p->items) return;
        p->fn(p->context, item);
    }
}

static void wait_for_work(struct pool *p, unsigned seen) {
    for (int i = 0; i < SPINS; i++)
        if (atomic_load(&p->generation) != seen) return;
    pthread_mutex_lock(&p->lock);
    while (atomic_load(&p->generation) == seen) pthread_cond_wait(&p->wake, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static void *worker(void *arg) {
    struct pool *p = arg;
    for (unsigned seen = 0;; seen++) {
        wait_for_work(p, seen);
        if (atomic_load(&p->stop)) return NULL;
        take_items(p);
        atomic_fetch_sub(&p->running, 1);
    }
}

static void announce(struct pool *p) {
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->generation, 1);
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
    while (p->workers + 1 < threads && pthread_create(&p->thread[p->workers], NULL, worker, p) == 0)
        p->workers++;
    return OK; /* fewer threads than asked for give the same bits */
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
    if (p->workers == 0) {
        for (uint32_t i = 0; i < items; i++) fn(context, i);
        return;
    }
    p->fn = fn;
    p->context = context;
    p->items = items;
    atomic_store(&p->next, 0);
    atomic_store(&p->running, p->workers);
    announce(p);
    take_items(p);
    for (int i = 0; atomic_load(&p->running); i++)
        if (i > SPINS) sched_yield();
}

#include "memsys.h"

#include <stdlib.h>

#include "memdetail.h"
#include "memflat.h"

struct memsys {
    struct memflat flat;
    struct memdetail *detail; /* NULL: the flat model serves */
};

enum error memsys_create(struct memsys **out, const struct config *cfg, uint32_t ports) {
    struct memsys *m = *out = calloc(1, sizeof *m);
    if (!m) return ERROR_NO_MEMORY;
    return cfg->mem_model ? memdetail_create(&m->detail, cfg) : memflat_init(&m->flat, cfg, ports);
}

void memsys_destroy(struct memsys *m) {
    if (!m) return;
    memdetail_destroy(m->detail);
    memflat_free(&m->flat);
    free(m);
}

uint32_t memsys_min_reply(const struct memsys *m) {
    return m->detail ? memdetail_min_reply(m->detail) : m->flat.cfg->flat_latency;
}

static void run_partition(void *context, uint32_t item) { memdetail_partition(context, item); }

void memsys_advance(struct memsys *m, struct port *ports, uint64_t t1, struct pool *pool) {
    if (!m->detail) {
        memflat_advance(&m->flat, ports, t1);
        return;
    }
    memdetail_route(m->detail, ports, t1);
    pool_run(pool, run_partition, m->detail, memdetail_partitions(m->detail));
    memdetail_deliver(m->detail, ports);
}

uint64_t memsys_next_event(const struct memsys *m) {
    return m->detail ? memdetail_next_event(m->detail) : m->flat.next_cycle;
}

void memsys_finish(struct memsys *m, struct counters *into) {
    if (!m->detail) return;
    memdetail_drain(m->detail);
    memdetail_counters(m->detail, into);
}

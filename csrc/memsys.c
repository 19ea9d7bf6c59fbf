#include "memsys.h"

#include <stdlib.h>

#include "memflat.h"

struct memsys {
    struct memflat flat;
};

enum error memsys_create(struct memsys **out, const struct config *cfg, uint32_t ports) {
    struct memsys *m = *out = calloc(1, sizeof *m);
    if (!m) return ERROR_NO_MEMORY;
    return memflat_init(&m->flat, cfg, ports);
}

void memsys_destroy(struct memsys *m) {
    if (!m) return;
    memflat_free(&m->flat);
    free(m);
}

uint32_t memsys_min_reply(const struct memsys *m) { return m->flat.cfg->flat_latency; }

void memsys_advance(struct memsys *m, struct port *ports, uint64_t t1) {
    memflat_advance(&m->flat, ports, t1);
}

uint64_t memsys_next_event(const struct memsys *m) {
    return m->flat.next_cycle; /* every reply to what was taken is delivered */
}

void memsys_counters(const struct memsys *m, struct counters *into) {
    (void)m, (void)into;
}

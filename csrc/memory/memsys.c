#include "memory/memsys.h"

#include <assert.h>
#include <string.h>

#include "memory/coalesce.h"
#include "memory/memdetail.h"
#include "memory/memflat.h"

#ifdef SMMUX_CHECK
void port_check(const struct port *port) {
    assert(port->out_first <= port->out_count && port->out_count <= port->out_capacity);
    for (uint32_t i = port->out_first; i < port->out_count; i++) {
        assert(port->out[i].access && port->out[i].bytes);
        assert(i == port->out_first || port->out[i - 1].cycle <= port->out[i].cycle);
    }
    assert(port->in_count <= port->in_capacity);
    for (uint32_t i = 0; i < port->in_count; i++) assert(port->in[i].access);
}
#endif

uint32_t misses_of(const struct cache_shape *shape) {
    return shape->mshrs > MAX_MISSES ? shape->mshrs : MAX_MISSES;
}

static uint32_t sectors_of(const struct cache_shape shape) { return shape.line / shape.sector; }

uint32_t port_extra(const struct config *cfg) {
    const struct cache_shape l1 = config_shape(cfg, SHAPE_l1);
    const uint32_t sectors = sectors_of(config_shape(cfg, SHAPE_tex)) +
                             sectors_of(config_shape(cfg, SHAPE_icache)) +
                             sectors_of(config_shape(cfg, SHAPE_const));
    return 4 * COALESCE_MAX_SEGMENTS + misses_of(&l1) * sectors_of(l1) + MAX_MISSES * sectors +
           SUPPLY_PACKETS + (cfg->icache_twins ? MAX_MISSES * (cfg->sms_per_tpc - 1) : 0);
}

void port_trim(struct port *port) {
    if (!port->out_first) return;
    if (port->out_first < port->out_count && 2 * port->out_first < port->out_capacity) return;
    port->out_count -= port->out_first;
    memmove(port->out, port->out + port->out_first, port->out_count * sizeof *port->out);
    port->out_first = 0;
    port_check(port);
}

enum error memsys_create(struct memsys **out, const struct config *cfg, uint32_t ports,
                         uint32_t preloads) {
    return cfg->mem_model ? memdetail_create(out, cfg, preloads) : memflat_create(out, cfg, ports);
}

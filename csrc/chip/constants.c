#include "chip/constants.h"

#include <stdlib.h>

#include "sm/operands.h"

enum error constants_create(struct constant_servers **out, const struct config *cfg) {
    struct gpcs gpcs;
    uint32_t tpcs[GPC_DIGITS + 1] = {0}, last[GPC_DIGITS + 1] = {0};
    if (!cfg->operand_miss) return OK;
    struct constant_servers *s = *out = calloc(1, sizeof *s);
    if (!s) return ERROR_NO_MEMORY;
    gpcs_init(&gpcs, cfg);
    for (uint32_t i = 0; i < cfg->sm_count; i++) {
        const uint32_t gpc = gpcs.of[i / cfg->sms_per_tpc];
        if (i % cfg->sms_per_tpc == 0 && tpcs[gpc]++ % cfg->operand_tpcs == 0)
            last[gpc] = s->count++;
        struct constant_server *server = &s->server[last[gpc]];
        server->sm[server->count++] = (uint16_t)i;
    }
    return OK;
}

/* The SM of a server that asks first; NULL if none does before that cycle. */
static struct sm *first_of(const struct constant_server *server, struct sm *sms, uint64_t reach) {
    struct sm *first = NULL;
    for (uint32_t i = 0; i < server->count; i++) {
        struct sm *sm = &sms[server->sm[i]];
        const struct operands *o = sm->operands;
        if (!o->ask_count || o->asks[0].cycle >= reach) continue;
        reach = o->asks[0].cycle;
        first = sm;
    }
    return first;
}

void constants_run(struct constant_servers *s, struct sm *sms, uint64_t reach) {
    for (uint32_t i = 0; i < s->count; i++) {
        struct constant_server *server = &s->server[i];
        struct sm *sm;
        while ((sm = first_of(server, sms, reach))) {
            const struct config *cfg = sm->m->cfg;
            const uint64_t asked = sm->operands->asks[0].cycle,
                           begin = asked > server->free ? asked : server->free;
            server->free = begin + cfg->operand_clk;
            operands_answer(sm, begin + cfg->operand_miss);
        }
    }
}

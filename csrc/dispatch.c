#include "dispatch.h"

#include <string.h>

void dispatch_fill(struct dispatch *d, struct sm *sms) {
    const struct config *cfg = d->cfg;
    const uint32_t tpcs = (cfg->sm_count + cfg->sms_per_tpc - 1) / cfg->sms_per_tpc;
    for (uint32_t round = 0; round < d->residency * cfg->sms_per_tpc; round++)
        for (uint32_t tpc = 0; tpc < tpcs && d->next < d->total; tpc++) {
            const uint32_t sm = tpc * cfg->sms_per_tpc + round % cfg->sms_per_tpc;
            if (sm < cfg->sm_count)
                sm_add_block(&sms[sm], d->next++, (uint64_t)round * cfg->dispatch_interval);
        }
}

/* The SM whose next block to be replaced finished first; NULL: none has before cycle `end`. */
static struct sm *first_finished(struct sm *sms, uint32_t count, const uint32_t *taken,
                                 uint64_t end) {
    struct sm *best = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (taken[i] == sms[i].finished_count || sms[i].finished[taken[i]].cycle >= end) continue;
        best = &sms[i];
        end = best->finished[taken[i]].cycle;
    }
    return best;
}

static void forget(struct sm *sm, uint32_t taken) {
    sm->finished_count -= taken;
    memmove(sm->finished, sm->finished + taken, sm->finished_count * sizeof *sm->finished);
}

void dispatch_replace(struct dispatch *d, struct sm *sms, uint64_t end) {
    uint32_t taken[256] = {0};
    for (struct sm *sm; (sm = first_finished(sms, d->cfg->sm_count, taken, end));) {
        const uint64_t finished = sm->finished[taken[sm->id]++].cycle;
        d->finished++;
        if (d->next < d->total) sm_add_block(sm, d->next++, finished + d->cfg->block_start);
    }
    for (uint32_t i = 0; i < d->cfg->sm_count; i++) forget(&sms[i], taken[i]);
}

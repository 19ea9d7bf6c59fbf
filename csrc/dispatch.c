#include "dispatch.h"

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

static struct sm *first_finished(struct sm *sms, uint32_t count, const uint32_t *taken) {
    struct sm *best = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (taken[i] == sms[i].finished_count) continue;
        if (!best || sms[i].finished[taken[i]].cycle < best->finished[taken[best->id]].cycle)
            best = &sms[i];
    }
    return best;
}

void dispatch_replace(struct dispatch *d, struct sm *sms) {
    uint32_t taken[256] = {0};
    for (struct sm *sm; (sm = first_finished(sms, d->cfg->sm_count, taken));) {
        const uint64_t end = sm->finished[taken[sm->id]++].cycle;
        d->finished++;
        if (d->next < d->total) sm_add_block(sm, d->next++, end + d->cfg->block_start);
    }
    for (uint32_t i = 0; i < d->cfg->sm_count; i++) sms[i].finished_count = 0;
}

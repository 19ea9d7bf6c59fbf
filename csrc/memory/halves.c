#include "memory/halves.h"

#include <stdlib.h>

bool halves_init(struct partition *p, const struct config *cfg) {
    uint32_t room = 1;
    while (room < 2 * 8 * cfg->l2_mshrs) room *= 2;
    p->hop_mask = room - 1;
    p->hops = malloc(room * sizeof *p->hops);
    for (uint32_t s = 0; s < p->slices; s++)
        p->slice[s].echo = calloc(cfg->l2_mshrs, sizeof *p->slice[s].echo);
    return p->hops && p->slice[0].echo && p->slice[1].echo;
}

void halves_tell(struct partition *p, uint32_t n, const struct request *r,
                 const struct l2_work *work) {
    struct l2 *other = &p->slice[n ^ 1].l2;
    if (work->dropped_sectors) l2_adopt(other, work->dropped, work->dropped_sectors);
    if (access_carries_data(r->kind))
        l2_forget(other, r->addr >> other->cache.line_shift,
                  cache_sectors(&other->cache, r->addr, r->bytes));
}

void halves_perform_older(struct partition *p, uint32_t n, const struct request *r) {
    const struct xbar *x = p->xbar;
    const struct slice *own = &p->slice[n], *other = &p->slice[n ^ 1];
    const uint32_t shift = own->l2.cache.line_shift;
    const uint64_t sent = r->tick - xbar_detour(x, r->tpc, own->number),
                   detour = xbar_detour(x, r->tpc, other->number);
    for (uint32_t i = other->requests->stream[r->tpc].head; i != XBAR_NONE; i = x->pool[i].next) {
        struct request *q = &x->pool[i];
        if (q->tick - detour >= sent) break;
        if (q->performed || q->addr >> shift != r->addr >> shift) continue;
        request_perform(q);
        q->performed = true;
    }
}

#include "memory/halves.h"

#include <stdlib.h>

#include "memory/serving.h"

bool halves_init(struct partition *p, const struct config *cfg) {
    uint32_t room = 1;
    while (room < 2 * 8 * cfg->l2_mshrs) room *= 2;
    p->hop_mask = room - 1;
    p->hops = malloc(room * sizeof *p->hops);
    for (uint32_t s = 0; s < p->slices; s++)
        p->slice[s].echo = calloc(cfg->l2_mshrs, sizeof *p->slice[s].echo);
    return p->hops && p->slice[0].echo && p->slice[1].echo;
}

enum l2_answer halves_ask(struct partition *p, uint32_t home, const struct l2_work *lacked,
                          uint32_t fill, struct l2_work *beyond, uint64_t tick) {
    struct slice *s = &p->slice[home];
    const uint32_t line = lacked->fetch.addr >> s->l2.cache.line_shift;
    uint32_t miss;
    const enum l2_answer answer = l2_ask(&s->l2, line, lacked->fetch_sectors, &miss, beyond);
    if (answer == L2_HIT) halves_hop(p, fill, tick);
    if (answer == L2_MISS) s->echo[miss] |= fill; /* a miss may be asked for further sectors */
    return answer;
}

void halves_echo(struct partition *p, struct slice *s, uint32_t miss, uint64_t tick) {
    if (!s->echo[miss] || s->l2.misses.miss[miss].used) return;
    halves_hop(p, s->echo[miss], tick);
    s->echo[miss] = 0;
}

void halves_tell(struct partition *p, uint32_t n, const struct request *r) {
    struct l2 *other = &p->slice[n ^ 1].l2;
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
    const struct batch *stream = &other->requests->stream[r->tpc];
    const bool data = access_carries_data(r->kind);
    const struct content *c =
        &stream->content[!data]; /* loads of a line go to one slice, stores to the other */
    if (!(c->lines & content_bit(r->addr))) return;
    for (uint32_t i = stream->head, left = c->count; left; i = x->pool[i].next) {
        struct request *q = &x->pool[i];
        const uint64_t then = q->tick - detour;
        if (then > sent || (then == sent && (int8_t)(q->number - r->number) > 0)) break;
        if (access_carries_data(q->kind) == data) continue;
        left--;
        if (q->performed || q->addr >> shift != r->addr >> shift) continue;
        request_perform(q);
        q->performed = true;
    }
}

void halves_hop(struct partition *p, uint32_t tag, uint64_t tick) {
    assert(p->hop_end - p->hop_first <= p->hop_mask);
    if (p->hop_first == p->hop_end) p->hop_due = tick + p->crossing;
    p->hops[p->hop_end++ & p->hop_mask] = (struct hop){tick + p->crossing, tag};
}

uint32_t halves_arrive(struct partition *p) {
    const uint32_t tag = p->hops[p->hop_first++ & p->hop_mask].tag;
    p->hop_due = p->hop_first == p->hop_end ? XBAR_NEVER : p->hops[p->hop_first & p->hop_mask].tick;
    return tag;
}

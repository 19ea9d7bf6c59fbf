#include "sm/sass/barrier.h"

#include <string.h>

#include "base/bits.h"
#include "sm/check.h"
#include "sm/converge.h"
#include "sm/exec.h"
#include "sm/sass/sass.h"
#include "sm/scoreboard.h"

/* What a barrier instruction says: bits of `imm` and `q`, or of its register. */
enum { BAR_ARRIVES = 1 << 9, BAR_REDUCES = 1 << 10, BAR_OF_ALL = 1 << 11, BAR_OF_ANY = 1 << 12 };

/* The barriers of a block. */
static struct barrier *of(struct sm *sm, const struct block *b) {
    return sm->named + (b - sm->blocks) * BARRIERS;
}

const struct barrier *barrier_of(const struct sm *sm, uint32_t warp, uint32_t *id) {
    const struct warp *w = &sm->warps[warp];
    if (w->state != WARP_NAMED) return NULL;
    const struct barrier *n = sm->named + w->block * BARRIERS;
    for (*id = 0; *id < BARRIERS; ++*id, n++)
        if (n->waiting >> warp & 1) return n;
    return NULL;
}

void barrier_begin(struct sm *sm, const struct block *b) {
    memset(of(sm, b), 0, BARRIERS * sizeof *sm->named);
}

struct wanted {
    uint32_t id, threads; /* 0: those of the whole block */
};

static struct wanted wanted_of(struct sm *sm, uint32_t warp, const struct uop *u) {
    struct warp *w = &sm->warps[warp];
    const struct lanes lanes = {w->rows, sm->m->program->uniforms, w->preds};
    const uint32_t value = operand_row(&lanes, u->a)[bits_lowest(w->live)];
    if (u->imm & BAR_COUNT) return (struct wanted){u->q & (BARRIERS - 1), value};
    return (struct wanted){(value | u->q) & (BARRIERS - 1), u->q >> 4 ? u->q >> 4 : value >> 16};
}

/* Note the predicate of those who come to a barrier that reduces. */
static void reduce(struct sm *sm, uint32_t warp, const struct uop *u, struct barrier *n) {
    const struct warp *w = &sm->warps[warp];
    const uint32_t number = sass_pred(u, SHIFT_PS0), lanes = w->preds[number & 15];
    const uint32_t holds = number & SASS_NOT ? ~lanes : lanes;
    n->asked = (uint32_t)u->imm;
    n->ones += bits_count(holds & w->live);
    n->lanes += bits_count(w->live);
}

/* Tell a warp what the barrier found, and let it go on. */
static void tell(struct warp *w, const struct barrier *n) {
    if (!(n->asked & BAR_REDUCES)) return;
    w->own->reduced = n->asked & BAR_OF_ALL   ? n->ones == n->lanes
                      : n->asked & BAR_OF_ANY ? n->ones != 0
                                              : n->ones;
}

void barrier_reduced(struct sm *sm, struct block *b) {
    struct barrier *n = of(sm, b);
    for (uint64_t left = b->warp_slots; left; left &= left - 1)
        tell(&sm->warps[__builtin_ctzll(left)], n);
    *n = (struct barrier){.named = false};
}

/* All whom a barrier waits for have come. */
static void complete(struct sm *sm, struct block *b, struct barrier *n, uint64_t t) {
    const struct barrier done = *n;
    *n = (struct barrier){.named = false};
    if (sm->check) check_named(sm, b, done.waiting, !done.threads, t);
    sm->count.barriers++;
    sm->count.barrier_wait_cycles += bits_count64(done.waiting) * t - done.arrivals;
    uint32_t gone = 0;
    for (uint64_t left = done.waiting; left; left &= left - 1) {
        const uint32_t warp = (uint32_t)__builtin_ctzll(left);
        struct warp *w = &sm->warps[warp];
        tell(w, &done);
        w->state = WARP_RUNNING;
        w->pc++;
        warp_refresh(sm, warp, block_leaves(sm, warp, t, gone++), WAIT_BARRIER);
    }
}

/* Has a barrier all whom it waits for? */
static bool is_complete(const struct block *b, const struct barrier *n) {
    if (!n->arrived) return false;
    return n->threads ? 32 * n->arrived >= n->threads : n->arrived >= b->warps_live;
}

void barrier_exited(struct sm *sm, struct block *b, uint64_t t) {
    struct barrier *n = of(sm, b);
    for (uint32_t id = 0; id < BARRIERS; id++, n++)
        if (n->named && !n->threads && is_complete(b, n)) complete(sm, b, n, t);
}

void barrier_arrive(struct sm *sm, uint32_t warp, const struct uop *u, uint64_t t) {
    static const struct uop plain = {.op = OP_BAR_SYNC, .sub = BAR_PLAIN};
    struct warp *w = &sm->warps[warp];
    struct block *b = &sm->blocks[w->block];
    const struct wanted to = wanted_of(sm, warp, u);
    struct barrier *n = of(sm, b) + to.id;
    if (u->imm & BAR_REDUCES) reduce(sm, warp, u, n);
    if (to.id >= BARRIER_ALLOC && !to.threads && sm->m->program->meta.dynamic_bytes) {
        const struct uop change = {.op = OP_BAR_SYNC,
                                   .sub = to.id == BARRIER_ALLOC ? BAR_ALLOC : BAR_RELEASE,
                                   .imm = (int32_t)sm->m->program->meta.dynamic_bytes};
        block_arrive(sm, warp, &change, t);
        return;
    }
    if (!to.id && !to.threads) {
        block_arrive(sm, warp, &plain, t);
        return;
    }
    n->named = true;
    n->threads = to.threads;
    n->arrived++;
    if (u->imm & BAR_ARRIVES) {
        w->pc++;
        warp_refresh(sm, warp, t, WAIT_ALU);
    } else {
        w->state = WARP_NAMED;
        warp_sleep(sm, warp, WAIT_BARRIER);
        n->waiting |= 1ull << warp;
        n->arrivals += t;
    }
    if (is_complete(b, n)) complete(sm, b, n, t);
}

#include "sm/flags.h"

#include <string.h>

#include "base/bits.h"
#include "kernel/decoder.h"

static uint32_t place_of(uint32_t address) { return address / 4 % FLAG_PLACES; }

static void join(uint32_t *restrict into, const uint32_t *restrict from) {
    for (uint32_t i = 0; i < MAX_WARPS; i++) into[i] = into[i] > from[i] ? into[i] : from[i];
}

void flags_start(struct flags *f, uint32_t warp) {
    f->opened[warp] = f->fenced[warp] = false;
    memset(f->heard[warp], 0, sizeof f->heard[warp]);
    memset(f->open[warp], 0, sizeof f->open[warp]);
}

void flags_fence(struct flags *f, uint32_t warp, uint64_t mates, uint32_t start, uint32_t now) {
    uint32_t *open = f->open[warp];
    join(open, f->heard[warp]);
    for (uint64_t left = mates; left; left &= left - 1) {
        uint32_t *mate = &open[__builtin_ctzll(left)];
        if (*mate < start) *mate = start;
    }
    open[warp] = now;
    f->opened[warp] = f->fenced[warp] = true;
}

static bool is_load(const struct uop *u) { return u->op == OP_LD_SHARED || u->op == OP_LD_GLOBAL; }

static bool is_atomic(const struct uop *u) {
    return u->op == OP_ATOM_SHARED || u->op == OP_ATOM_GLOBAL;
}

bool flags_looks(const struct machine *m, const struct uop *u, uint32_t pc) {
    if (is_atomic(u)) return u->dst_count;
    return is_load(u) && (sass_is_told(u) || (m->polls && m->polls[pc] == POLL_FIXED));
}

bool flags_publishes(const struct flags *f, const struct memop *op) {
    if (op->u->op == OP_ATOM_SHARED) return true;
    return op->u->op == OP_ST_SHARED && (sass_is_told(op->u) || f->fenced[op->warp]);
}

/* What a warp has laid open is published at a place. */
static void publish(struct flags *f, uint32_t warp, uint32_t place) {
    join(f->places[place], f->open[warp]);
    f->used[place] = true;
}

static void learn(struct flags *f, uint32_t warp, uint32_t place) {
    if (f->used[place]) join(f->heard[warp], f->places[place]);
}

bool flags_access(struct flags *f, const struct memop *op, bool *publishes, bool *looks) {
    *publishes = f->opened[op->warp] && flags_publishes(f, op);
    *looks = flags_looks(op->sm->m, op->u, op->pc);
    if (op->u->op == OP_ST_SHARED) f->fenced[op->warp] = false;
    if (!*publishes && !*looks) return false;
    const uint32_t words = memop_words(op->u->width); /* others may look at one of them */
    for (uint32_t left = op->active; left; left &= left - 1) {
        const uint32_t first = op->addr[bits_lowest(left)];
        for (uint32_t i = 0; i < words; i++) {
            if (*publishes) publish(f, op->warp, place_of(first + 4 * i));
            if (*looks) learn(f, op->warp, place_of(first + 4 * i));
        }
    }
    return true;
}

bool flags_between(const struct flags *f, const struct memop *op, uint32_t address, uint32_t pc) {
    const struct machine *m = op->sm->m;
    const struct uop *before = &m->program->code[pc];
    const bool strong[2] = {is_atomic(before) || sass_is_told(before),
                            is_atomic(op->u) || sass_is_told(op->u)};
    if (strong[0] && strong[1]) return true;
    if (flags_looks(m, op->u, op->pc)) return strong[0] || f->used[place_of(address)];
    return flags_looks(m, before, pc) && flags_publishes(f, op);
}

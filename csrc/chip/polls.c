#include "chip/polls.h"

#include <stdbool.h>
#include <string.h>

#include "kernel/decoder.h"
#include "kernel/sass.h"

/* Registers and predicates, as the ids of struct deps. */
#define IDS (MAX_REGS + MAX_PREDS + 1)

/* A loop: the instructions from the target of a branch back to that branch. */
struct loop {
    const struct program *p;
    uint32_t first, last;
    uint8_t writers[IDS]; /* instructions in it that write an id; 2: several */
    bool varies[IDS];     /* an id differs from round to round, as far as one can tell */
};

/* Find the registers and predicates that an instruction writes; returns how many. */
static uint32_t written(const struct uop *u, uint32_t ids[4]) {
    const bool memory = u->op >= OP_LD_GLOBAL && u->op <= OP_TEX;
    for (uint32_t i = 0; i < u->dst_count && memory; i++) ids[i] = u->data[i];
    if (memory || !u->dst_count) return u->dst_count;
    ids[0] = u->dst;
    if (u->dst_count > 1) ids[1] = u->dh;
    return u->dst_count;
}

static bool writes(const struct uop *u, uint32_t id) {
    uint32_t ids[4];
    for (uint32_t n = written(u, ids); n-- > 0;)
        if (ids[n] == id) return true;
    return false;
}

/* Compiled code says itself which loads of global memory are no data. */
static bool may_wait(const struct program *p, uint32_t pc) {
    const uint32_t op = p->code[pc].op;
    return op == OP_LD_SHARED || (op == OP_LD_GLOBAL && !p->sass);
}

static bool is_branch(const struct uop *u) {
    return u->op == OP_BRA || (u->op == OP_SASS_CONTROL && u->sub == SASS_BRA);
}

/* Does the instruction store, print or wait at a barrier? A loop with such a one does not just
 * wait. */
static bool acts(const struct uop *u) {
    switch (u->op) {
    case OP_ST_GLOBAL:
    case OP_ST_SHARED:
    case OP_ATOM_GLOBAL:
    case OP_ATOM_SHARED:
    case OP_BAR_SYNC:
    case OP_PRINT: return true;
    case OP_SASS_CONTROL: return u->sub == SASS_BAR;
    default: return false;
    }
}

/* May arithmetic read a register that it writes? Its dependences name both alike. */
static bool feeds_itself(const struct uop *u) {
    const uint32_t d = u->dst;
    if (u->op >= OP_AND_PRED && u->op <= OP_MOV_PRED) return true; /* they name predicates */
    return u->a == d || u->b == d || u->c == d || u->ah == d || u->bh == d || u->ch == d;
}

/* Does what an instruction writes follow from what no round changes? */
static bool is_constant(const struct loop *l, uint32_t pc) {
    const struct uop *u = &l->p->code[pc];
    uint32_t ids[4];
    const uint32_t count = written(u, ids);
    if (u->guard || u->unit == UNIT_LSU || feeds_itself(u)) return false;
    for (uint32_t i = 0; i < count; i++)
        if (l->writers[ids[i]] > 1) return false;
    for (uint32_t i = 0; i < l->p->deps[pc].count; i++) {
        const uint32_t id = l->p->deps[pc].id[i];
        if (!writes(u, id) && l->varies[id]) return false;
    }
    return true;
}

/* Find what varies: all that is written, but for what proves to be constant. */
static void find_varying(struct loop *l) {
    uint32_t ids[4];
    memset(l->writers, 0, sizeof l->writers);
    for (uint32_t pc = l->first; pc <= l->last; pc++)
        for (uint32_t n = written(&l->p->code[pc], ids); n-- > 0;)
            if (l->writers[ids[n]] < 2) l->writers[ids[n]]++;
    for (uint32_t id = 0; id < IDS; id++) l->varies[id] = l->writers[id] != 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t pc = l->first; pc <= l->last; pc++) {
            const uint32_t count = written(&l->p->code[pc], ids);
            if (!count || !l->varies[ids[0]] || !is_constant(l, pc)) continue;
            for (uint32_t i = 0; i < count; i++) l->varies[ids[i]] = false;
            changed = true;
        }
    }
}

/* Does the value of a load decide whether its loop goes on? Followed forward through two rounds;
 * what a branch skips depends on its condition. */
static bool decides(const struct loop *l, uint32_t load) {
    bool follows[IDS] = {false};
    uint32_t ids[4];
    for (uint32_t n = written(&l->p->code[load], ids); n-- > 0;) follows[ids[n]] = true;
    for (uint32_t round = 0; round < 2; round++) {
        uint32_t skipped = 0; /* instructions before that one */
        for (uint32_t pc = l->first; pc <= l->last; pc++) {
            const struct uop *u = &l->p->code[pc];
            bool on = pc < skipped;
            for (uint32_t i = 0; i < l->p->deps[pc].count; i++) on |= follows[l->p->deps[pc].id[i]];
            if (!on) continue;
            for (uint32_t n = written(u, ids); n-- > 0;) follows[ids[n]] = true;
            if (u->op == OP_EXIT) return true;
            if (u->op != OP_BRA) continue;
            const uint32_t target = (uint32_t)u->imm;
            if (target < l->first || target > l->last || pc == l->last) return true;
            if (target > skipped) skipped = target;
        }
    }
    return false;
}

/* Loads in front of the loop that the loop repeats: the first look at the flag. */
static void find_first_looks(const struct loop *l, uint32_t load, uint8_t *polls) {
    const struct uop *u = &l->p->code[load];
    for (uint32_t pc = 0; pc < l->first; pc++) {
        const struct uop *v = &l->p->code[pc];
        if (v->op == u->op && v->aux == u->aux && v->a == u->a && v->imm == u->imm &&
            v->data[0] == u->data[0] && polls[pc] < polls[load])
            polls[pc] = polls[load];
    }
}

/* Does it load from the same place in each round? */
static bool is_fixed(const struct loop *l, const struct uop *u) {
    const uint32_t row = l->p->sass ? ~(uint32_t)u->aux >> SASS_ROW & 0xffffu : ROW_NONE;
    if (row < IDS && l->varies[row]) return false;
    return u->a & ROW_UNIFORM || u->a >= l->p->registers || !l->varies[u->a];
}

/* Of loads of shared memory compiled code leaves in a loop that stores nothing, at one place, those
 * alone that others may change meanwhile. */
static void look_at_loop(const struct program *p, uint32_t first, uint32_t last, uint8_t *polls) {
    struct loop l = {.p = p, .first = first, .last = last};
    bool loads = false;
    for (uint32_t pc = first; pc <= last; pc++) {
        if (acts(&p->code[pc])) return;
        loads |= may_wait(p, pc);
    }
    if (!loads) return;
    find_varying(&l);
    for (uint32_t pc = first; pc <= last; pc++) {
        const struct uop *u = &p->code[pc];
        if (!may_wait(p, pc) || !(p->sass || decides(&l, pc))) continue;
        const uint8_t poll = is_fixed(&l, u) ? POLL_FIXED : POLL_MOVING;
        if (polls[pc] < poll) polls[pc] = poll;
        find_first_looks(&l, pc, polls);
    }
}

void polls_find(const struct program *p, uint8_t *polls) {
    for (uint32_t pc = 0; pc < p->count; pc++) {
        const bool loads = p->sass && p->code[pc].op == OP_LD_GLOBAL;
        polls[pc] = loads && sass_feeds_swap(p, pc) ? POLL_FIXED : POLL_NONE;
    }
    for (uint32_t pc = 0; pc < p->count; pc++)
        if (is_branch(&p->code[pc]) && (uint32_t)p->code[pc].imm <= pc)
            look_at_loop(p, (uint32_t)p->code[pc].imm, pc, polls);
}

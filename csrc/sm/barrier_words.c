#include "sm/barrier_words.h"

#include "sm/shadow.h"

#define NEAR_BY 16u /* instructions between those of one operation of PTX */

void barrier_words_note(struct sm *sm, uint32_t address) {
    struct check *c = sm->check;
    for (uint32_t i = 0; i < MOST_BARRIERS; i++)
        if (c->barriers[i] == address + 1) return;
    c->barriers[c->barrier_count++ % MOST_BARRIERS] = address + 1;
}

/* Does an atomic say that one more will arrive, as it is done in front of an arrival behind copies?
 * It may be the first to change a barrier. */
static bool prepares(const struct program *p, uint32_t pc) {
    const struct uop *u = &p->code[pc];
    if (u->op != OP_ATOM_SHARED || u->sub != ATOM_ADD || u->dst_count) return false;
    for (uint32_t i = pc + 1; i < p->count && i < pc + NEAR_BY; i++)
        if (p->code[i].op == OP_ATOM_SHARED && p->code[i].sub == ATOM_BARRIER_COPIED_80)
            return true;
    return false;
}

bool barrier_words_polled(const struct memop *op, uint32_t address, uint32_t pc) {
    const struct check *c = op->sm->check;
    if (op->u->op == OP_ST_SHARED || op->u->op == OP_LD_GLOBAL) return false;
    for (uint32_t i = 0; i < MOST_BARRIERS; i++)
        if (c->barriers[i] && address - (c->barriers[i] - 1) < 8) return true;
    return prepares(op->sm->m->program, op->u->op == OP_ATOM_SHARED ? op->pc : pc);
}

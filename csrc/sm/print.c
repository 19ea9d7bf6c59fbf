#include "sm/print.h"

#include "base/bits.h"
#include "sm/exec.h"

/* The number in its block of a lane's thread. */
static uint32_t thread_of(const struct sm *sm, const struct warp *w, uint32_t lane) {
    const uint32_t *special = w->rows + sm->m->program->registers * 32u;
    const uint32_t *size = sm->m->dims.block;
    const uint32_t x = special[SPECIAL_TID_X * 32 + lane], y = special[SPECIAL_TID_Y * 32 + lane],
                   z = special[SPECIAL_TID_Z * 32 + lane];
    return x + size[0] * (y + size[1] * z);
}

void print_issue(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active, uint64_t t) {
    const struct warp *w = &sm->warps[warp];
    const struct lanes lanes = {w->rows, sm->m->program->uniforms, sm->warps[warp].preds};
    const uint32_t *low = operand_row(&lanes, u->a), *high = operand_row(&lanes, u->b);
    struct prints *p = sm->prints;
    for (uint32_t left = active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        if (p->count == PRINTED_MOST) {
            p->lost++;
            continue;
        }
        p->row[p->count++] = (struct printed){.cycle = t,
                                              .block = sm->blocks[w->block].id,
                                              .thread = thread_of(sm, w, lane),
                                              .text = (uint32_t)u->imm,
                                              .low = low[lane],
                                              .high = high[lane]};
    }
}

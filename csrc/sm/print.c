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

bool print_room(const struct sm *sm, uint32_t rows) {
    const bool room = PRINTED_MOST - sm->prints->count >= rows;
    sm->prints->lost += !room;
    return room;
}

void print_row(struct sm *sm, uint32_t warp, uint32_t lane, uint64_t t, uint32_t text,
               uint64_t value) {
    const struct warp *w = &sm->warps[warp];
    struct prints *p = sm->prints;
    p->row[p->count++] = (struct printed){.cycle = t,
                                          .block = sm->blocks[w->block].id,
                                          .thread = thread_of(sm, w, lane),
                                          .text = text,
                                          .low = (uint32_t)value,
                                          .high = (uint32_t)(value >> 32)};
}

void print_issue(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active, uint64_t t) {
    const struct lanes lanes = {sm->warps[warp].rows, sm->m->program->uniforms,
                                sm->warps[warp].preds};
    const uint32_t *low = operand_row(&lanes, u->a), *high = operand_row(&lanes, u->b);
    for (uint32_t left = active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        if (print_room(sm, 1))
            print_row(sm, warp, lane, t, (uint32_t)u->imm, (uint64_t)high[lane] << 32 | low[lane]);
    }
}

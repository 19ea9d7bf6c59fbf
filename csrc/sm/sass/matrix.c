#include "sm/sass/matrix.h"

#include <string.h>

#include "base/bits.h"
#include "sm/check.h"
#include "sm/lsu.h"
#include "sm/smem.h"

#define ROW_BYTES 16u

/* The addresses of the rows, within the SM's shared memory; false after a fault. */
static bool find_rows(struct memop *op, uint32_t count) {
    const struct block *b = &op->sm->blocks[op->w->block];
    const uint32_t bytes = op->sm->m->program->meta.shared_bytes;
    for (uint32_t lane = 0; lane < 8 * count; lane++) {
        const uint32_t at = op->addr[lane];
        if (at >= bytes || bytes - at < ROW_BYTES)
            return lsu_fault(op, lane, ERROR_SHARED_BOUNDS, (int32_t)at);
        if (at % ROW_BYTES) return lsu_fault(op, lane, ERROR_MISALIGNED, (int32_t)at);
        op->addr[lane] = b->static_base + at;
    }
    return true;
}

/* Move the two halves of a lane's word of a matrix; `rows` are the addresses of its rows. */
static void move(struct memop *op, const uint32_t *rows, uint32_t lane, uint32_t *word, bool load) {
    for (uint32_t half = 0; half < 2; half++) {
        const uint32_t near = lane / 4, far = 2 * (lane % 4) + half;
        const bool turned = op->u->sub == MATRIX_TURNED;
        uint8_t *at = op->sm->shared + rows[turned ? far : near] + 2 * (turned ? near : far);
        if (load) memcpy((uint8_t *)word + 2 * half, at, 2);
        else memcpy(at, (uint8_t *)word + 2 * half, 2);
    }
}

/* Tell the checks of the rows, each as if the lane moved it that has its address. */
static void note(const struct memop *op, uint32_t count, bool load) {
    const uint8_t shape[2] = {HALF_ANY, HALF_ANY};
    struct memop rows = *op;
    struct uop row = *op->u;
    rows.active = (uint32_t)((1ull << 8 * count) - 1);
    rows.u = &row;
    row.width = ROW_BYTES;
    if (load) {
        check_access(&rows, shape);
    } else {
        row.op = OP_LD_GLOBAL; /* as a copy, of which it is not asked what it stores */
        check_copy(&rows, op->addr, rows.active);
    }
}

bool matrix_issue(struct memop *op) {
    const struct machine *m = op->sm->m;
    const uint32_t count = memop_words(op->u->width);
    const bool load = op->u->op == OP_LD_SHARED;
    struct counters *n = &op->sm->count;
    const uint32_t *data[4];
    uint32_t passes = 0, ideal = 0, words[4][32];
    if (!find_rows(op, count)) return false;
    if (!load) lsu_data_rows(op, data);
    for (uint32_t i = 0; i < count; i++) {
        const struct smem_cost cost = smem_matrix(m->cfg, op->addr, 0xffu << 8 * i);
        passes += cost.passes;
        ideal += cost.ideal;
        if (!load) memcpy(words[i], data[i], sizeof words[i]);
        for (uint32_t lane = 0; lane < 32; lane++)
            if (load || op->active >> lane & 1)
                move(op, op->addr + 8 * i, lane, &words[i][lane], load);
    }
    for (uint32_t i = 0; load && i < count; i++)
        for (uint32_t lane = 0; lane < 32; lane++)
            if (op->active >> lane & 1) op->w->rows[op->u->data[i] * 32u + lane] = words[i][lane];
    if (op->sm->check) note(op, count, load);
    n->shared_accesses++;
    n->shared_passes += passes;
    n->shared_conflicts += passes - ideal;
    n->shared_bytes += bits_count(op->active) * op->u->width;
    lsu_passes(op, passes, 1);
    memop_next(op);
    return true;
}

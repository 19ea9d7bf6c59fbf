#include "findings.h"

#include <stdbool.h>

static uint32_t hash(const struct finding *f) {
    uint32_t h = f->pc[0] * 0x9e3779b1u ^ f->pc[1] * 0x85ebca77u ^ f->kind * 0xc2b2ae3du;
    return h ^ h >> 15;
}

static bool same_row(const struct finding *a, const struct finding *b) {
    return a->kind == b->kind && a->pc[0] == b->pc[0] && a->pc[1] == b->pc[1];
}

void findings_add(struct findings *f, const struct finding *found) {
    const uint32_t mask = 2 * FINDINGS_MAX - 1;
    uint32_t at = hash(found) & mask;
    for (; f->slot[at]; at = (at + 1) & mask)
        if (same_row(&f->row[f->slot[at] - 1], found)) {
            f->row[f->slot[at] - 1].count++;
            return;
        }
    if (f->count == FINDINGS_MAX) {
        f->lost++;
        return;
    }
    f->row[f->count] = *found;
    f->row[f->count].count = 1;
    f->slot[at] = ++f->count;
}

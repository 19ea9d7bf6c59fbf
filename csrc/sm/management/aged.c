/* Dynamic management by age: of the blocks that wait, the one that started first is next. A block
 * in its last region then does not wait behind those that are still in their first. */
#include "sm/management.h"

static bool older(const struct block *a, const struct block *b) {
    return a->start != b->start ? a->start < b->start : a->id < b->id;
}

static uint32_t oldest(struct sm *sm, const uint32_t *slots, uint32_t count) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++)
        if (older(&sm->blocks[slots[i]], &sm->blocks[slots[best]])) best = i;
    return best;
}

const struct management management_aged = {
    .dynamic = true,
    .may_start = management_any,
    .place = management_two_ends,
    .next = oldest,
};

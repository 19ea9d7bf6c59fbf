/* Dynamic management that starts no further block while too many wait at an allocation: a block
 * that would only join them holds registers and warps for nothing. Nobody waits for ever: while
 * blocks wait, another one holds memory and will release it, which lets one of them go on. */
#include "sm/management.h"

static bool few_wait(struct sm *sm, const struct block *b) {
    uint32_t waiting = 0;
    (void)b;
    for (uint32_t i = 0; i < sm->queue_count; i++) waiting += sm->blocks[sm->queue[i]].started;
    return waiting <= sm->m->max_waiting;
}

const struct management management_throttled = {
    .dynamic = true,
    .may_start = few_wait,
    .place = management_two_ends,
    .next = management_first_come,
};

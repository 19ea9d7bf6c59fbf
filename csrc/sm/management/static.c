/* Static management, that of real cards: a block holds all its shared memory from start to end. */
#include "sm/management.h"

const struct management management_static = {
    .dynamic = false,
    .may_start = management_any,
    .place = management_two_ends,
    .next = management_first_come,
};

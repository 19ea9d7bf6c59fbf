/* Dynamic management (paper, section 5): blocks that wait for an allocation get it in the order in
 * which they came. */
#include "sm/management.h"

const struct management management_dynamic = {
    .dynamic = true,
    .may_start = management_any,
    .place = management_two_ends,
    .next = management_first_come,
};

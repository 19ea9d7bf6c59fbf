/* Hold (the paper's rule): a block keeps its place, and starts when its tile is complete. */
#include "sm/preload.h"

const struct preload_policy preload_hold = {
    .active = true,
    .fetches = true,
    .holds = true,
    .awaits = false,
};

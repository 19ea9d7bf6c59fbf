/* Lines: a block starts at once, and its loads wait for just those lines that they need. */
#include "sm/preload.h"

const struct preload_policy preload_lines = {
    .active = true,
    .fetches = true,
    .holds = false,
    .awaits = true,
};

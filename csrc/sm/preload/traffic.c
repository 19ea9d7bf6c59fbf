/* Traffic: lines are fetched as under hold, but nobody waits for them: what waiting costs. */
#include "sm/preload.h"

const struct preload_policy preload_traffic = {
    .active = true,
    .fetches = true,
    .holds = false,
    .awaits = false,
};

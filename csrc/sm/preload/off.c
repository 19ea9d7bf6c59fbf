/* Off: the table is ignored. */
#include "sm/preload.h"

const struct preload_policy preload_off = {
    .active = false,
    .fetches = false,
    .holds = false,
    .awaits = false,
};

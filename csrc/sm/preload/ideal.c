/* Ideal: tiles are complete from the start, without traffic: what is left is where they lie. */
#include "sm/preload.h"

const struct preload_policy preload_ideal = {
    .active = true,
    .fetches = false,
    .holds = false,
    .awaits = false,
};

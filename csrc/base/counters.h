/* Counters: a plain struct, generated from counters.def. */
#ifndef SMMUX_COUNTERS_H
#define SMMUX_COUNTERS_H

#include <stdint.h>

struct counters {
#define COUNTER(name, unit, doc) uint64_t name;
#include "tables/counters.def"
};

#endif

/* The third level of caches for instructions and constants, which the chip shares (supply.h). */
#ifndef SMMUX_THIRD_H
#define SMMUX_THIRD_H

#include "chip/supply.h"

struct third;

/* A third level for the machine; *out is NULL where it has none. */
enum error third_create(struct third **out, const struct config *cfg);
void third_destroy(struct third *third);
/* Look up the requests of the second levels before cycle `reach`, to which all SMs have run. */
void third_run(struct third *third, struct second *const *seconds, uint32_t count, uint64_t reach);

#endif

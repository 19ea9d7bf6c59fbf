/* What a launch gave: counters, findings, printed lines, accesses and the time line of all SMs and
 * of the memory, after the last window. */
#ifndef SMMUX_COLLECT_H
#define SMMUX_COLLECT_H

#include "chip/launch.h"

struct gpu;

/* Add up the counters of all SMs and of the memory. */
void collect_counters(struct gpu *g, struct outcome *out);
/* Put the accesses that all SMs have recorded into one array. */
enum error collect_accesses(const struct gpu *g, struct outcome *out);
/* Put the time line of the SMs and of the DRAM channels into arrays, if one is wanted. */
enum error collect_timeline(const struct gpu *g, struct timeline *to);
/* Put the findings of all SMs, and those in global memory, into one array. */
enum error collect_findings(struct gpu *g, struct outcome *out);
/* Put what all SMs have printed into one array, without what they did beyond a fault. */
enum error collect_printed(const struct gpu *g, struct outcome *out);

#endif

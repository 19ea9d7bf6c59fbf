/* The whole machine: runs one grid to its end. */
#ifndef SMMUX_GPU_H
#define SMMUX_GPU_H

#include "chip/launch.h"

struct gpu;

/* Run a launch; the outcome holds what it gave, or the fault that ended it. */
enum error gpu_run(const struct launch *l, struct outcome *out);
/* Find the fault that happened first; what SMs did that ran on in its window does not matter. */
bool gpu_first_fault(const struct gpu *g, struct fault *out);

#endif

/* The whole machine: runs one grid to its end. */
#ifndef SMMUX_GPU_H
#define SMMUX_GPU_H

#include "chip/launch.h"

/* Run a launch; the outcome holds what it gave, or the fault that ended it. */
enum error gpu_run(const struct launch *l, struct outcome *out);

#endif

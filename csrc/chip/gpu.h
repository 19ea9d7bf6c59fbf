/* The whole machine: runs one grid to its end. */
#ifndef SMMUX_GPU_H
#define SMMUX_GPU_H

#include "chip/launch.h"

enum error gpu_run(const struct launch *l, struct outcome *out);

#endif

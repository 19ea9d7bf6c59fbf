/* Flat memory: a fixed latency behind one server of the whole chip's bandwidth. */
#ifndef SMMUX_MEMFLAT_H
#define SMMUX_MEMFLAT_H

#include "memory/memsys.h"

enum error memflat_create(struct memsys **out, const struct config *cfg, uint32_t ports);

#endif

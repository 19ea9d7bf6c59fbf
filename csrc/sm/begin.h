/* The first clock of a block: registers, special registers and masks of its warps. */
#ifndef SMMUX_BEGIN_H
#define SMMUX_BEGIN_H

#include "sm/sm.h"

/* Let all warps of a block begin, which have waited for that reason. */
void begin_block(struct sm *sm, struct block *b, uint64_t t, enum wait kind);

#endif

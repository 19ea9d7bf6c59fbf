/* Constant memory, lane by lane. */
#ifndef SMMUX_CONSTANTS_H
#define SMMUX_CONSTANTS_H

#include "sm/memop.h"

/* Issue an access; false if it has to wait, or faulted. */
bool constants_issue(struct memop *op);

#endif

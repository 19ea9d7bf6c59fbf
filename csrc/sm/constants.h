/* Constant memory, lane by lane. */
#ifndef SMMUX_CONSTANTS_H
#define SMMUX_CONSTANTS_H

#include "sm/memop.h"

/* Issue an access; false if it has to wait, or faulted. */
bool constants_issue(struct memop *op);
/* A line has come that an access has asked the second level for (ask.h). */
void constants_come(struct sm *sm, struct access *a, uint64_t t);

#endif

/* Constant memory, lane by lane. */
#ifndef SMMUX_CONSTANTS_H
#define SMMUX_CONSTANTS_H

#include "sm/memop.h"

/* Issue an access; false if it has to wait, or faulted. */
bool constants_issue(struct memop *op);
/* Look for the lines of an access from cycle t on, one after the other, and ask for the first one
 * that is not there, or wait for it with an access that has asked. True: all are there. a->mask:
 * lanes whose lines have not been found. */
bool constants_go_on(struct sm *sm, struct access *a, uint64_t t);
/* A line has come that an access has asked the second level for (ask.h). */
void constants_come(struct sm *sm, struct access *a, uint64_t t);

#endif

/* Addresses of compiled code. */
#ifndef SMMUX_MEMORY_H
#define SMMUX_MEMORY_H

#include "sm/memop.h"

/* Issue an access: what has an address of 64 bits lane by lane in the space where it goes, and what
 * is wider than a word in local memory word by word. False if it has to wait, or faulted. */
bool sass_access(struct memop *op);

#endif

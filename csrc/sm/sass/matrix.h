/* Matrices of 8 times 8 halves between shared memory and the registers of a warp (LDSM, STSM). */
#ifndef SMMUX_MATRIX_H
#define SMMUX_MATRIX_H

#include "sm/memop.h"

/* How the matrices of an access of shared memory lie in registers, in `sub`; 0: it has none. */
enum matrix_kind { MATRIX_PLAIN = 1, MATRIX_TURNED = 2 };

/* Issue an access of up to four matrices, of whose rows each lane gives the address of one. False
 * after a fault. */
bool matrix_issue(struct memop *op);

#endif

/* Error codes, generated from errors.def, and where a fault happened. */
#ifndef SMMUX_ERRORS_H
#define SMMUX_ERRORS_H

#include <stdint.h>

enum error {
    OK,
#define ERROR(id, exception, text) ERROR_##id,
#include "tables/errors.def"
    ERROR_COUNT
};

/* What went wrong where. Whoever detects the error fills it, the binding makes an exception of it.
 */
struct fault {
    enum error code;
    uint32_t pc, line; /* 0: of code without lines */
    uint32_t placed;   /* it happened at an instruction of a thread */
    uint32_t sm, warp, lane;
    uint32_t block[3], thread[3];
    int32_t array;   /* index of the array argument, -1: none */
    int64_t address; /* byte offset in the array or segment */
    uint64_t cycle;
    char text[256]; /* what is specific to this one */
};

#endif

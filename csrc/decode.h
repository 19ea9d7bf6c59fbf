/* From the compiler's records to what the SM runs: checked once, flat, 32 bytes a row. */
#ifndef SMMUX_DECODE_H
#define SMMUX_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "errors.h"
#include "program.h"

/* Word offset of an operand row of 32 lanes; bit 31 selects the uniform table. */
#define ROW_UNIFORM 0x80000000u
#define ROW_NONE    0xffffffffu

struct uop {
    uint8_t op;    /* enum op */
    uint8_t guard; /* as in struct insn */
    uint8_t sub;
    uint8_t width;
    uint8_t flags;
    uint8_t unit;        /* enum unit */
    uint8_t dst_count;   /* registers written */
    uint8_t cls;         /* enum latency_class */
    uint32_t d, a, b, c; /* rows; in predicate fields the predicate's number */
    int32_t imm;
    int32_t aux;
};

/* What must be ready before an instruction issues: indices into the warp's ready[] table,
 * registers first, then predicates. */
struct deps {
    uint16_t count;
    uint16_t dst; /* the (first) one written */
    uint16_t id[6];
};

/* What a kernel needs from the SM. */
struct program_meta {
    uint32_t nregs, npreds;
    uint32_t shared_bytes;    /* static arrays */
    uint32_t dynamic_bytes;   /* arrays of the dynamically managed part */
    uint32_t local_bytes;     /* per thread, multiple of 4 */
    uint32_t static_reserved; /* reserved bytes and parameters that live in shared memory */
};

struct program {
    struct program_meta meta;
    uint32_t count;
    struct uop *code;
    struct deps *deps;
    uint16_t *q; /* predicate operand, or fourth data register row / 32 */
    uint32_t *line;
    uint16_t *latency; /* of each instruction on this machine */
    uint16_t *interval;
    uint32_t *uniforms; /* rows of 32 equal words */
    uint32_t uniform_count;
    const uint8_t *constants;
    uint32_t constant_bytes;
    uint32_t ready_count; /* entries of a warp's ready[] */
    uint32_t row_count;   /* rows of a warp's register file, special registers included */
};

struct launch_dims {
    uint32_t grid[3], block[3];
};

enum error program_decode(struct program *p, const struct insn *code, uint32_t count,
                          const struct uniform *uniforms, uint32_t uniform_count,
                          const struct program_meta *meta, const struct config *cfg,
                          const struct launch_dims *dims, const uint32_t *params,
                          uint32_t param_count, const uint8_t *constants, uint32_t constant_bytes,
                          uint32_t buffer_count, struct fault *fault);
void program_free(struct program *p);

#endif

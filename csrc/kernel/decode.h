/* The program as the SM runs it, made from the compiler's records: checked once, 32 bytes a row. */
#ifndef SMMUX_DECODE_H
#define SMMUX_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "base/errors.h"
#include "kernel/program.h"

/* An operand is a row of 32 lanes: of the warp's registers or, with this bit, of the uniforms. */
#define ROW_UNIFORM 0x8000u
#define ROW_NONE    0xffffu
#define MAX_ROWS    0x7fffu /* of each */
#define SPARE_ROWS  8u      /* rows behind the registers, for results that are dropped */

/* What few arithmetic operations need beside their effect. */
enum need {
    NEED_DIVISOR = 1, /* integers: the divisor, in rows b and bh, must not be 0 */
    NEED_HIGH = 2,    /* row dh is written, too */
    NEED_GROUP = 4,   /* as many rows from d on are written as dst_count says */
    NEED_PREDS = 8,   /* predicates are written, too: those of sass.def */
    NEED_VALUES = 16, /* what lanes hold says how long it takes */
};

/* Which part of the SM executes an instruction. */
enum path {
    PATH_ALU,
    PATH_LANES, /* arithmetic, too; its result comes as data of shared memory do */
    PATH_MEMORY,
    PATH_CONTROL
};

/* UNIT_EITHER is the `unit` of an instruction that takes a unit of its class or, if that is busy,
 * an SFU. */
enum { UNIT_EITHER = UNIT_KINDS, UNIT_COUNT };

/* A decoded instruction. */
struct uop {
    uint8_t op;    /* enum op */
    uint8_t guard; /* as in struct insn */
    uint8_t sub;
    union {
        uint8_t width; /* of a memory access */
        uint8_t needs; /* of arithmetic: enum need */
    };
    uint8_t flags;
    uint8_t unit;      /* of struct program, or UNIT_EITHER */
    uint8_t dst_count; /* registers written */
    uint8_t path;      /* enum path */
    uint16_t a;        /* rows, or numbers of predicates */
    union {
        struct {
            uint16_t d, b, c, q;
        };
        uint16_t data[4]; /* of a memory access; of an 8-byte atomic d, dh, b, bh; of a 16-byte one
                             what it reads */
    };
    uint16_t dst; /* the (first) entry of ready[] written */
    union {
        struct {
            uint16_t latency, interval; /* on this machine; not of memory accesses */
        };
        uint16_t swap[2]; /* c and ch of an 8-byte atomic; of a 16-byte one b and c, groups */
    };
    union {
        struct {
            int32_t imm, aux;
        };
        struct {
            uint16_t dh, ah, bh, ch; /* of arithmetic: rows of high words */
        };
    };
};

_Static_assert(sizeof(struct uop) == 32, "two to a cache line");

/* What must be ready before an instruction issues: indices into the warp's ready[] table, registers
 * first, then predicates; groups of registers, of which operations with many operands have some;
 * and the instruction itself. There are as many as compilers make straight code for; only a guarded
 * multiply-add of eight registers needs more, and is refused. */
#define DEPS          12u
#define FEW_DEPS      8u /* more are looked at as groups are: compilers unroll a loop over so few */
#define GROUP_SHIFT   12u
#define PIECE_MANY    0x80000000u
#define PIECE_CONTROL 0x40000000u
#define PIECE_SPECIAL (PIECE_MANY | PIECE_CONTROL)
struct deps {
    uint32_t piece; /* of the program, what is fetched at once, 0 without an instruction cache; with
                       PIECE_MANY if there are groups or more than FEW_DEPS, with PIECE_CONTROL if
                       it waits for what control bits say instead: so these are looked at as a fetch
                       is */
    uint16_t count, groups; /* at the front and at the back of id */
    uint16_t id[DEPS];      /* of a group: its first register | (how many - 1) << GROUP_SHIFT */
};

/* What a kernel needs from the SM. */
struct program_meta {
    uint32_t nregs, npreds;
    uint32_t uniform_regs;    /* of compiled code; they count for no limit */
    uint32_t shared_bytes;    /* static arrays */
    uint32_t dynamic_bytes;   /* arrays of the dynamically managed part */
    uint32_t local_bytes;     /* per thread, multiple of 4 */
    uint32_t static_reserved; /* reserved bytes and parameters that live in shared memory */
    uint32_t smem_size;       /* of compiled code: what a register tells it of a block's bytes */
    uint32_t launched_bytes;  /* at the beginning of its constants: those that a launch brings */
};

struct control_bits;

/* A decoded program, with its constants. */
struct program {
    struct program_meta meta;
    uint32_t count;
    struct uop *code;
    struct deps *deps;
    struct control_bits *control; /* NULL: instructions wait for their operands */
    uint32_t counted;             /* of the results that a counter counts, how many matter */
    uint32_t *line;
    uint32_t *uniforms; /* rows of 32 equal words; after those of the kernel one of zeros */
    uint32_t uniform_count;
    const uint8_t *constants;
    uint32_t constant_bytes;
    uint32_t registers;   /* of a warp, uniform ones included: rows, and entries of its ready[] */
    uint32_t ready_count; /* entries of a warp's ready[] */
    uint32_t named;       /* registers below: those of threads, and uniform ones that are named */
    uint32_t barriers;    /* barrier registers of compiled code that are named are below */
    bool syncs_grid;      /* has a barrier of all blocks */
    bool prints;
    bool points;              /* has accesses that name no array */
    bool copies;              /* has asynchronous copies to shared memory */
    bool arrives;             /* has arrivals at barriers that wait for those */
    bool sass;                /* is compiled code: its lanes converge at barriers */
    uint32_t kind_count;      /* kinds of units that it takes, */
    uint8_t kind[UNIT_KINDS]; /* and enum unit of each */
    uint8_t either[2];        /* those two of an UNIT_EITHER */
    uint32_t row_count;       /* rows of a warp's register file, special registers included */
};

/* Blocks of the grid and threads of a block, x first. */
struct launch_dims {
    uint32_t grid[3], block[3];
};

/* The number of a block as an index of the grid. */
static inline void dims_index(const struct launch_dims *dims, uint32_t number, uint32_t index[3]) {
    index[0] = number % dims->grid[0];
    index[1] = number / dims->grid[0] % dims->grid[1];
    index[2] = number / dims->grid[0] / dims->grid[1];
}

/* Check a program and its operands against the launch, and decode it for the machine. The caller
 * frees it, whatever the answer. */
enum error program_decode(struct program *p, const struct insn *code, uint32_t count,
                          const struct uniform *uniforms, uint32_t uniform_count,
                          const struct program_meta *meta, const struct config *cfg,
                          const struct launch_dims *dims, const uint32_t *params,
                          uint32_t param_count, const uint8_t *constants, uint32_t constant_bytes,
                          uint32_t buffer_count, struct fault *fault);
void program_free(struct program *p);

/* What a load waits for, as chip/polls.h finds out. */
enum poll {
    POLL_NONE,
    POLL_MOVING, /* decides whether its loop goes on, which stores nothing: waits, or searches */
    POLL_FIXED,  /* and loads from the same place each time: waits */
};

#endif

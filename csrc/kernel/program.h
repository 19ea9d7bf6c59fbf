/* The decoded kernel: what the compiler hands over, checked once before it runs. */
#ifndef SMMUX_PROGRAM_H
#define SMMUX_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

enum op {
#define OP(id, name, unit, cls, operands) OP_##id,
#include "tables/ops.def"
    OP_COUNT
};

enum unit { UNIT_SP, UNIT_SFU, UNIT_LSU, UNIT_CTRL, UNIT_EITHER, UNIT_COUNT };

enum latency_class {
#define CLASS(id, name, doc) CLASS_##id,
#include "tables/classes.def"
    CLASS_COUNT
};

/* Operand fields (d, a, b, c, q): a register, a special register, a uniform or none. */
#define OPERAND_UNIFORM 0x8000u /* | row of the uniform table */
#define OPERAND_SPECIAL 0x4000u /* | enum special */
#define OPERAND_NONE    0xffffu

enum special {
    SPECIAL_TID_X,
    SPECIAL_TID_Y,
    SPECIAL_TID_Z,
    SPECIAL_CTAID_X,
    SPECIAL_CTAID_Y,
    SPECIAL_CTAID_Z,
    SPECIAL_LANEID,
    SPECIAL_COUNT
};

/* A value that is the same for every thread of the launch. */
enum uniform_kind {
    UNIFORM_IMM,    /* value: the 32 bits */
    UNIFORM_PARAM,  /* value: index of the 32-bit parameter word */
    UNIFORM_NTID,   /* value: 0, 1, 2 = blockDim.x, y, z */
    UNIFORM_NCTAID, /* value: 0, 1, 2 = gridDim.x, y, z */
    UNIFORM_CONST,  /* value: byte offset in the constant segment (a 32-bit word) */
    UNIFORM_KIND_COUNT
};

struct uniform {
    uint32_t kind;
    uint32_t value;
};

/* guard: 0 = always, else 1 + predicate, with GUARD_NOT to negate. */
#define GUARD_NOT 0x80u

enum insn_flags {
    INSN_SIGNED = 1,    /* 8/16-bit load sign-extends */
    INSN_NEGATE_Q = 2,  /* source predicate q (or qa) is negated */
    INSN_ISOLATE = 4,   /* bar.sync waits for the warp's earlier global loads (Figure 1) */
    INSN_NEGATE_QB = 8, /* second source predicate is negated */
    INSN_DYNAMIC = 16,  /* shared access to the part that bar.sync +1 allocates */
    INSN_SYNCWARP = 32, /* a syncwarp stands in front: order for the strict race check alone */
    INSN_SYNCWARP_BEHIND = 64, /* a syncwarp stands behind */
};

enum bar_option { BAR_PLAIN, BAR_ALLOC, BAR_RELEASE };
enum shfl_mode { SHFL_IDX, SHFL_UP, SHFL_DOWN, SHFL_BFLY };
enum vote_mode { VOTE_ALL, VOTE_ANY };
enum atom_op {
    ATOM_ADD,
    ATOM_ADD_F32,
    ATOM_SUB,
    ATOM_MIN_S32,
    ATOM_MIN_U32,
    ATOM_MAX_S32,
    ATOM_MAX_U32,
    ATOM_MIN_F32,
    ATOM_MAX_F32,
    ATOM_AND,
    ATOM_OR,
    ATOM_XOR,
    ATOM_EXCH,
    ATOM_CAS,
    ATOM_INC,
    ATOM_DEC,
    ATOM_COUNT
};

/* 32 bytes, the layout of smmux.compiler.program.INSN.
 *   ALU     d = op(a, b, c)                      selp: q
 *   setp    d = predicate
 *   *.pred  d = predicate, a and b predicates
 *   memory  address = a + imm (a may be OPERAND_NONE); data registers d, b, c, q for
 *           1..4 words of `width` bytes (1, 2, 4: one register; 8: two; 16: four);
 *           aux = index of the array (global: of the launch's buffers; texture: of textures)
 *   atom    d = old value or OPERAND_NONE, b = operand, c = second operand of CAS
 *           (CAS: b = compare, c = new value), sub = enum atom_op
 *   bra     imm = target, aux = reconvergence point (-1: thread exit)
 *   bar     sub = enum bar_option, imm = bytes to allocate
 *   shfl    sub = enum shfl_mode, b = lane operand, c = width operand
 *   vote    sub = enum vote_mode
 */
struct insn {
    uint16_t op;
    uint8_t guard;
    uint8_t sub;
    uint8_t width;
    uint8_t flags;
    uint16_t q;
    uint16_t d, a, b, c;
    int32_t imm;
    int32_t aux;
    uint32_t line; /* source line, for faults and per-line counters */
    uint32_t reserved;
};

#define MAX_REGS  255u
#define MAX_PREDS 32u
#define MAX_INSNS 65536u

#endif

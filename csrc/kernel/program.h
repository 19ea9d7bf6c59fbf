/* A program as the compiler hands it over. Its records and their numbers stand in encoding.def. */
#ifndef SMMUX_PROGRAM_H
#define SMMUX_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Operations, in the order of ops.def. */
enum op {
#define OP(id, name, cls, traits, operands) OP_##id,
#include "tables/ops.def"
    OP_COUNT
};

/* In struct uop: those of sass.def, of which sub is the number. */
enum { OP_SASS = OP_COUNT, OP_SASS_CONTROL, UOP_COUNT };

/* Operations of compiled code, in the order of sass.def; in struct insn behind those of ops.def. */
enum sass_op {
#define SASS(id, cls, traits, operands) SASS_##id,
#include "tables/sass.def"
    SASS_COUNT
};

/* Bits of `imm` that stand at operands of compiled code. */
enum sass_modifier {
#define SOURCE_MODIFIER(name, bits, doc) SASS_##name = bits,
#include "tables/sass.def"
};

/* Routines outside of compiled code. */
enum sass_routine {
#define ROUTINE(id, name) ROUTINE_##id,
#include "tables/sass.def"
};

/* Special registers that S2R reads. */
enum sass_register {
#define REGISTER(id, name, doc) REGISTER_##id,
#include "tables/sass.def"
    REGISTER_COUNT
};

/* Fields of `aux` of compiled code. */
enum sass_predicates {
#define PREDICATES(name, shift, bits, doc) SHIFT_##name = shift, MASK_##name = bits,
#include "tables/sass.def"
};

/* Fields of `control` of compiled code. */
enum sass_control {
#define CONTROL(name, shift, bits, doc) CONTROL_##name = shift, CONTROL_MASK_##name = bits,
#include "tables/sass.def"
};

/* Instructions that take equally long, in the order of classes.def. */
enum latency_class {
#define CLASS(id, name, doc) CLASS_##id,
#include "tables/classes.def"
    CLASS_COUNT
};

/* Bits of operand and guard fields, and limits. */
enum {
#define CONSTANT(name, value, doc) name = value,
#include "tables/encoding.def"
};

enum insn_flags {
#define FLAG(name, value, doc) INSN_##name = value,
#include "tables/encoding.def"
};

enum special {
#define NAME_special(id, name, doc) SPECIAL_##id,
#include "tables/encoding.def"
    SPECIAL_COUNT
};

enum uniform_kind {
#define NAME_uniform(id, name, doc) UNIFORM_##id,
#include "tables/encoding.def"
    UNIFORM_KIND_COUNT
};

enum bar_option {
#define NAME_barrier(id, name, doc) BAR_##id,
#include "tables/encoding.def"
    BAR_OPTION_COUNT
};

enum shfl_mode {
#define NAME_shuffle(id, name, doc) SHFL_##id,
#include "tables/encoding.def"
    SHFL_MODE_COUNT
};

enum vote_mode {
#define NAME_vote(id, name, doc) VOTE_##id,
#include "tables/encoding.def"
    VOTE_MODE_COUNT
};

enum atom_op {
#define NAME_atom(id, name, doc) ATOM_##id,
#include "tables/encoding.def"
    ATOM_COUNT
};

/* The bytes that an atomic operation works on. */
static inline uint32_t atom_width(uint32_t op) {
    return op >= ATOM_EXCH128 ? 16 : op >= ATOM_ADD64 ? 8 : 4;
}

/* Is it an operation on an asynchronous barrier? Only compiled code has some, in shared memory. */
static inline bool atom_is_barrier(uint32_t op) {
    return op >= ATOM_BARRIER_ARRIVE && op <= ATOM_BARRIER_COPIED_80;
}

/* Does it wait for the asynchronous copies of its warp? */
static inline bool atom_awaits_copies(uint32_t op) {
    return op >= ATOM_BARRIER_COPIED && op <= ATOM_BARRIER_COPIED_80;
}

/* A value that is the same for every thread of the launch. */
struct uniform {
#define FIELD_uniform(type, name, doc) type name;
#include "tables/encoding.def"
};

_Static_assert(sizeof(struct uniform) == 8, "no padding: Python writes it");

/* One instruction, as the compiler writes it.
 *   ALU     d = op(a, b, c)                      selp: q
 *           of 64 bits: dh, ah, bh, ch are the high words
 *   setp    d = predicate
 *   *.pred  d = predicate, a and b predicates
 *   memory  address = a + imm (a may be OPERAND_NONE); data registers d, b, c, q for
 *           1..4 words of `width` bytes (1, 2, 4: one register; 8: two; 16: four);
 *           aux = index of the array (global: of the launch's buffers, -1: any one;
 *           texture: of textures)
 *   atom    d = old value or OPERAND_NONE, b = operand, c = second operand of CAS
 *           (CAS: b = compare, c = new value), sub = enum atom_op; width 4, or 8 with the
 *           high words dh, bh, ch
 *   bra     imm = target, aux = reconvergence point (-1: thread exit)
 *   bar     sub = enum bar_option, imm = bytes to allocate
 *   print   a, b = low and high word of a value, imm = number of the text around it
 *   shfl    sub = enum shfl_mode, b = lane operand, c = width operand
 *   vote    sub = enum vote_mode
 */
struct insn {
#define FIELD_insn(type, name, doc) type name;
#include "tables/encoding.def"
};

_Static_assert(sizeof(struct insn) == 40, "no padding: Python writes it");

#endif

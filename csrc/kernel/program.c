#include "kernel/control_bits.h"
#include "kernel/decoder.h"
#include "kernel/sass.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/traits.h"

_Static_assert(MAX_REGS + MAX_UNIFORM_REGS + MAX_PREDS <= 1 << GROUP_SHIFT &&
                   MAX_GROUP <= 1 << (16 - GROUP_SHIFT),
               "a group fits an id of struct deps");

/* A row of ops.def. */
struct op_info {
    const char *name;
    uint8_t cls, traits;
    const char *operands;
};

static const struct op_info ops[OP_COUNT] = {
#define OP(id, name, cls, traits, operands) {name, CLASS_##cls, traits, operands},
#include "tables/ops.def"
};

enum error reject(struct decoder *dec, const char *form, ...) {
    va_list args;
    va_start(args, form);
    vsnprintf(dec->fault->text, sizeof dec->fault->text, form, args);
    va_end(args);
    dec->fault->code = ERROR_BAD_PROGRAM;
    dec->fault->pc = dec->pc;
    return ERROR_BAD_PROGRAM;
}

enum error add_dep(struct decoder *dec, uint32_t id) {
    struct deps *deps = &dec->p->deps[dec->pc];
    for (uint32_t i = 0; i < deps->count; i++)
        if (deps->id[i] == id) return OK;
    if (deps->count + deps->groups == DEPS) return reject(dec, "more than %u registers", DEPS);
    deps->id[deps->count++] = (uint16_t)id;
    return OK;
}

enum error source(struct decoder *dec, uint16_t field, uint16_t *row) {
    struct program *p = dec->p;
    if (field & OPERAND_UNIFORM) {
        uint32_t index = field & 0x7fffu;
        if (index >= p->uniform_count) return reject(dec, "uniform row %u does not exist", index);
        *row = (uint16_t)(ROW_UNIFORM | index);
    } else if (field & OPERAND_SPECIAL) {
        uint32_t index = field & 0x3fffu;
        if (index >= SPECIAL_COUNT) return reject(dec, "special register %u does not exist", index);
        *row = (uint16_t)(p->registers + index);
    } else {
        if (field >= p->registers) return reject(dec, "register %u does not exist", field);
        *row = field;
        return add_dep(dec, field);
    }
    return OK;
}

/* Decode the register that an instruction writes. */
static enum error destination(struct decoder *dec, uint16_t field, uint16_t *row) {
    if (field >= dec->p->registers)
        return reject(dec, "destination register %u does not exist", field);
    *row = field;
    dec->p->code[dec->pc].dst = field;
    return add_dep(dec, field);
}

enum error group(struct decoder *dec, uint16_t field, uint32_t count, uint16_t *row) {
    struct deps *deps = &dec->p->deps[dec->pc];
    const uint32_t nregs = dec->p->registers;
    if (count < 2 || count > MAX_GROUP) return reject(dec, "a group of %u registers", count);
    if (field >= nregs || count > nregs - field)
        return reject(dec, "registers %u to %u do not exist", field, field + count - 1);
    if (deps->count + deps->groups == DEPS) return reject(dec, "more than %u operands", DEPS);
    deps->id[DEPS - ++deps->groups] = (uint16_t)(field | (count - 1) << GROUP_SHIFT);
    *row = field;
    return OK;
}

/* Decode the operand `letter`, which is a group. */
static enum error group_of(struct decoder *dec, char letter, uint32_t count, const struct insn *in,
                           struct uop *u) {
    switch (letter) {
    case 'a': return group(dec, in->a, count, &u->a);
    case 'b': return group(dec, in->b, count, &u->b);
    case 'c': return group(dec, in->c, count, &u->c);
    default: break;
    }
    u->dst = in->d;
    u->dst_count = (uint8_t)count;
    u->needs |= NEED_GROUP;
    return group(dec, in->d, count, &u->d);
}

enum error predicate(struct decoder *dec, uint16_t field, uint16_t *number) {
    if (field >= dec->p->meta.npreds) return reject(dec, "predicate %u does not exist", field);
    *number = field;
    return add_dep(dec, dec->p->registers + field);
}

static bool divides(uint8_t cls) {
    return cls == CLASS_IDIV || cls == CLASS_IREM || cls == CLASS_IDIV64 || cls == CLASS_IREM64;
}

static uint32_t data_words(uint32_t width) { return width <= 4 ? 1 : width / 4; }

/* Decode the 1 to 4 data registers of a memory access, in fields d, b, c, q. */
static enum error data_registers(struct decoder *dec, const struct insn *in, struct uop *u,
                                 bool load) {
    const uint16_t fields[4] = {in->d, in->b, in->c, in->q};
    uint16_t *rows[4] = {&u->d, &u->b, &u->c, &u->q};
    uint32_t words = data_words(in->width);
    if (load && in->flags & INSN_WIDE && in->sub && in->op == OP_LD_GLOBAL)
        return sass_copy(dec, in, u);
    for (uint32_t i = 0; i < words; i++) {
        enum error e =
            load ? destination(dec, fields[i], rows[i]) : source(dec, fields[i], rows[i]);
        if (e) return e;
    }
    u->dst_count = load ? (uint8_t)words : 0;
    return OK;
}

/* Decode the address of a memory access, and check its width and array. */
static enum error address(struct decoder *dec, const struct insn *in, struct uop *u) {
    uint32_t w = in->width;
    const int32_t lowest = u->op == OP_TEX ? 0 : in->flags & INSN_WIDE ? (int32_t)~SASS_WAYS : -1;
    if (w != 1 && w != 2 && w != 4 && w != 8 && w != 16) return reject(dec, "access width %u", w);
    if (u->op == OP_LD_GLOBAL || u->op == OP_ST_GLOBAL || u->op == OP_ATOM_GLOBAL ||
        u->op == OP_TEX)
        if (in->aux < lowest || in->aux >= (int64_t)dec->buffer_count)
            return reject(dec, "array %d does not exist", (int)in->aux);
    dec->p->points |=
        in->aux < 0 && (u->op == OP_LD_GLOBAL || u->op == OP_ST_GLOBAL || u->op == OP_ATOM_GLOBAL);
    if ((u->op == OP_LD_LOCAL || u->op == OP_ST_LOCAL) && w > 4 && !(in->flags & INSN_WIDE))
        return reject(dec, "local accesses are at most 4 bytes wide");
    if (in->flags & INSN_WIDE) return sass_address(dec, in, u);
    if (in->a != OPERAND_NONE) return source(dec, in->a, &u->a);
    u->a = (uint16_t)(ROW_UNIFORM | dec->p->uniform_count); /* zeros */
    return OK;
}

/* Decode the operands of an 8-byte atomic. */
static enum error wide_atomic(struct decoder *dec, const struct insn *in, struct uop *u) {
    enum error e;
    u->data[0] = u->data[1] = ROW_NONE;
    if (in->d != OPERAND_NONE) {
        if (in->dh == in->d)
            return reject(dec, "both words of the old value in register %u", in->d);
        if ((e = destination(dec, in->d, &u->data[0]))) return e;
        if ((e = destination(dec, in->dh, &u->data[1]))) return e;
        u->dst_count = 2;
    }
    if ((e = source(dec, in->b, &u->data[2])) || (e = source(dec, in->bh, &u->data[3]))) return e;
    u->swap[0] = u->data[2], u->swap[1] = u->data[3];
    if (in->sub != ATOM_CAS64 && in->sub != ATOM_CAST64) return OK;
    if ((e = source(dec, in->c, &u->swap[0]))) return e;
    return source(dec, in->ch, &u->swap[1]);
}

/* Decode the operands of a 16-byte atomic, which are groups of registers. What CAS128 may store
 * waits in the registers of the old value, which nobody reads before that is there. */
static enum error quad_atomic(struct decoder *dec, const struct insn *in, struct uop *u) {
    enum error e;
    for (uint32_t i = 0; i < 4; i++) u->data[i] = ROW_NONE;
    for (uint32_t i = 0; i < 4 && in->d != OPERAND_NONE; i++) {
        if ((e = destination(dec, (uint16_t)(in->d + i), &u->data[i]))) return e;
        u->dst_count = 4;
    }
    if ((e = sass_group(dec, in->b, 4, &u->swap[0]))) return e;
    u->swap[1] = u->swap[0];
    if (in->sub != ATOM_CAS128) return OK;
    if (!u->dst_count) return reject(dec, "128 bits are compared, and no register takes the old");
    return sass_group(dec, in->c, 4, &u->swap[1]);
}

/* Decode the operands of an atomic. */
static enum error atomic(struct decoder *dec, const struct insn *in, struct uop *u) {
    enum error e;
    if (in->sub >= ATOM_COUNT || in->width != atom_width(in->sub))
        return reject(dec, "atomic operation %u of width %u", in->sub, in->width);
    if (atom_is_barrier(in->sub) && (u->op != OP_ATOM_SHARED || !(in->flags & INSN_WIDE)))
        return reject(dec, "a barrier that is none of compiled code, in shared memory");
    dec->p->arrives |= atom_awaits_copies(in->sub);
    if (in->width == 8) return wide_atomic(dec, in, u);
    if (in->width == 16) return quad_atomic(dec, in, u);
    u->d = ROW_NONE;
    u->dst_count = in->d != OPERAND_NONE;
    if (u->dst_count && (e = destination(dec, in->d, &u->d))) return e;
    if ((e = source(dec, in->b, &u->b))) return e;
    u->c = u->b;
    return in->sub == ATOM_CAS || in->sub == ATOM_CAST ? source(dec, in->c, &u->c) : OK;
}

/* Check a branch, a barrier, a trap or a print. */
static enum error control(struct decoder *dec, const struct insn *in, struct uop *u) {
    if (in->op == OP_BRA) {
        if (in->imm < 0 || (uint32_t)in->imm >= dec->p->count)
            return reject(dec, "branch target %d", (int)in->imm);
        if (in->aux < -1 || in->aux >= (int32_t)dec->p->count)
            return reject(dec, "reconvergence point %d", (int)in->aux);
    }
    if (in->op == OP_BAR_SYNC) {
        if (in->sub >= BAR_OPTION_COUNT) return reject(dec, "barrier option %u", in->sub);
        if (in->sub == BAR_ALLOC && in->imm <= 0)
            return reject(dec, "allocation of %d bytes", (int)in->imm);
        if (in->guard) return reject(dec, "guarded barrier");
        dec->p->syncs_grid |= in->sub == BAR_GRID;
    }
    if (in->op == OP_PRINT) {
        const enum error e = source(dec, in->a, &u->a);
        dec->p->prints = true;
        return e ? e : source(dec, in->b, &u->b);
    }
    return in->op == OP_TRAP ? predicate(dec, in->a, &u->a) : OK;
}

/* Decode the high word beside operand `letter`. */
static enum error high_word(struct decoder *dec, char letter, const struct insn *in,
                            struct uop *u) {
    switch (letter) {
    case 'a': return source(dec, in->ah, &u->ah);
    case 'b': return source(dec, in->bh, &u->bh);
    case 'c': return source(dec, in->ch, &u->ch);
    default: break;
    }
    if (in->dh == in->d) return reject(dec, "both words of the result in register %u", in->d);
    const enum error e = destination(dec, in->dh, &u->dh);
    u->dst = u->d;
    u->dst_count = 2;
    u->needs |= NEED_HIGH;
    return e;
}

/* Decode the operand fields of an instruction as its row in ops.def says. */
static enum error operands(struct decoder *dec, const struct insn *in, struct uop *u) {
    enum error e = OK;
    const uint16_t zeros = (uint16_t)(ROW_UNIFORM | dec->p->uniform_count);
    u->ah = u->bh = u->ch = zeros;
    u->needs = divides(ops[in->op].cls) ? NEED_DIVISOR : 0;
    for (const char *s = ops[in->op].operands; *s && !e; s++) {
        if (s[0] != ',' && s[1] == 'h') {
            e = high_word(dec, *s++, in, u);
            continue;
        }
        if (s[0] != ',' && s[1] >= '0' && s[1] <= '9') {
            e = group_of(dec, s[0], (uint32_t)(s[1] - '0'), in, u);
            s++;
            continue;
        }
        switch (*s) {
        case 'd':
            e = destination(dec, in->d, &u->d);
            u->dst_count = 1;
            break;
        case 'p':
            e = predicate(dec, in->d, &u->d);
            u->dst = (uint16_t)(dec->p->registers + in->d);
            u->dst_count = 1;
            break;
        case 'q':
            if (s[1] == 'a') e = predicate(dec, in->a, &u->a), s++;
            else if (s[1] == 'b') e = predicate(dec, in->b, &u->b), s++;
            else e = predicate(dec, in->q, &u->q);
            break;
        case 'a': e = source(dec, in->a, &u->a); break;
        case 'b': e = source(dec, in->b, &u->b); break;
        case 'c': e = source(dec, in->c, &u->c); break;
        default: break;
        }
    }
    if (!strchr(ops[in->op].operands, 'q')) { /* arithmetic: absent operands read the first */
        if (u->b == ROW_NONE) u->b = u->a;
        if (u->c == ROW_NONE) u->c = u->a;
    }
    return e;
}

static struct times class_times(const struct config *cfg) {
    struct times found;
#define CLASS(id, name, doc)                                                                       \
    found.latency[CLASS_##id] = (uint16_t)cfg->lat_##name;                                         \
    found.interval[CLASS_##id] = (uint16_t)cfg->issue_##name;                                      \
    found.unit[CLASS_##id] = (uint8_t)cfg->unit_##name;
#include "tables/classes.def"
    return found;
}

static enum path path_of(const struct op_info *info) {
    if (info->traits & (LOAD | STORE | ATOM)) return PATH_MEMORY;
    if (info->traits & CONTROL) return PATH_CONTROL;
    return info->cls == CLASS_SHFL ? PATH_LANES : PATH_ALU;
}

uint8_t number_of(struct program *p, uint32_t kind) {
    uint32_t unit = 0;
    while (unit < p->kind_count && p->kind[unit] != kind) unit++;
    if (unit == p->kind_count) p->kind[p->kind_count++] = (uint8_t)kind;
    return (uint8_t)unit;
}

/* Say which unit an instruction of that class takes. */
static uint8_t unit_of(struct program *p, const struct config *cfg, const struct times *times,
                       const struct insn *in) {
    const uint8_t cls = ops[in->op].cls;
    if (in->op == OP_TEX) return number_of(p, cfg->unit_tex);
    if (cls != CLASS_FMUL || !cfg->fmul_on_sfu || cfg->unit_fmul == UNIT_SFU)
        return number_of(p, times->unit[cls]);
    p->either[0] = number_of(p, cfg->unit_fmul);
    p->either[1] = number_of(p, UNIT_SFU);
    return UNIT_EITHER;
}

/* Decode the instruction at hand. */
static enum error decode_one(struct decoder *dec, const struct config *cfg,
                             const struct times *times) {
    struct program *p = dec->p;
    const struct insn *in = &dec->code[dec->pc];
    struct uop *u = &p->code[dec->pc];
    enum error e;
    if (in->op >= OP_COUNT) return sass_decode(dec, cfg, times);
    const struct op_info *info = &ops[in->op];
    *u = (struct uop){.op = (uint8_t)in->op,
                      .guard = in->guard,
                      .sub = in->sub,
                      .width = in->width,
                      .flags = in->flags,
                      .unit = unit_of(p, cfg, times, in),
                      .path = (uint8_t)path_of(info),
                      .d = ROW_NONE,
                      .a = ROW_NONE,
                      .b = ROW_NONE,
                      .c = ROW_NONE,
                      .q = ROW_NONE,
                      .latency = times->latency[info->cls],
                      .interval = times->interval[info->cls],
                      .imm = in->imm,
                      .aux = in->aux};
    if (in->guard) {
        uint16_t number;
        if ((e = predicate(dec, (uint16_t)((in->guard & ~GUARD_NOT) - 1), &number))) return e;
    }
    if (u->path == PATH_CONTROL) return control(dec, in, u);
    if (u->path != PATH_MEMORY) return operands(dec, in, u);
    if ((e = address(dec, in, u))) return e;
    if (info->traits & ATOM) return atomic(dec, in, u);
    return data_registers(dec, in, u, info->traits & LOAD);
}

/* Compute the rows of values that are the same for every thread of the launch. */
static enum error fill_uniforms(struct program *p, const struct uniform *uniforms, uint32_t count,
                                const struct launch_dims *dims, const uint32_t *params,
                                uint32_t param_count, struct decoder *dec) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = uniforms[i].value, bits = 0;
        switch (uniforms[i].kind) {
        case UNIFORM_IMM: bits = value; break;
        case UNIFORM_PARAM:
            if (value >= param_count) return reject(dec, "parameter word %u does not exist", value);
            bits = params[value];
            break;
        case UNIFORM_NTID:
        case UNIFORM_NCTAID:
            if (value > 2) return reject(dec, "dimension %u does not exist", value);
            bits = uniforms[i].kind == UNIFORM_NTID ? dims->block[value] : dims->grid[value];
            break;
        case UNIFORM_CONST:
            if (p->constant_bytes < 4 || value > p->constant_bytes - 4)
                return reject(dec, "constant word at byte %u does not exist", value);
            memcpy(&bits, p->constants + value, sizeof bits);
            break;
        default: return reject(dec, "uniform kind %u does not exist", uniforms[i].kind);
        }
        for (uint32_t lane = 0; lane < 32; lane++) p->uniforms[i * 32 + lane] = bits;
    }
    return OK;
}

static bool allocate(struct program *p) {
    size_t n = p->count;
    p->code = calloc(n, sizeof *p->code);
    p->deps = calloc(n, sizeof *p->deps);
    p->line = calloc(n, sizeof *p->line);
    p->uniforms = calloc(((size_t)p->uniform_count + 1) * 32, sizeof *p->uniforms);
    return p->code && p->deps && p->line && p->uniforms;
}

/* What an instruction is fetched with: so many bytes as fill a warp's buffer, or a line. */
static uint16_t piece_of(const struct config *cfg, uint32_t pc) {
    if (!cfg->fetch_bytes) return (uint16_t)(pc * cfg->insn_bytes / cfg->icache_line);
    return (uint16_t)(pc / ((cfg->fetch_bytes - cfg->fetch_control) / cfg->insn_bytes));
}

enum error program_decode(struct program *p, const struct insn *code, uint32_t count,
                          const struct uniform *uniforms, uint32_t uniform_count,
                          const struct program_meta *meta, const struct config *cfg,
                          const struct launch_dims *dims, const uint32_t *params,
                          uint32_t param_count, const uint8_t *constants, uint32_t constant_bytes,
                          uint32_t buffer_count, struct fault *fault) {
    struct decoder dec = {.p = p, .code = code, .buffer_count = buffer_count, .fault = fault};
    *p = (struct program){.meta = *meta,
                          .count = count,
                          .uniform_count = uniform_count,
                          .constants = constants,
                          .constant_bytes = constant_bytes,
                          .registers = meta->nregs + meta->uniform_regs,
                          .ready_count = meta->nregs + meta->uniform_regs + meta->npreds,
                          .row_count =
                              meta->nregs + meta->uniform_regs + SPECIAL_COUNT + SPARE_ROWS};
    if (count == 0 || count > MAX_INSNS) return reject(&dec, "%u instructions", count);
    if (meta->nregs > MAX_REGS || meta->npreds > MAX_PREDS)
        return reject(&dec, "%u registers, %u predicates", meta->nregs, meta->npreds);
    if (meta->uniform_regs > MAX_UNIFORM_REGS)
        return reject(&dec, "%u uniform registers", meta->uniform_regs);
    if (uniform_count >= MAX_ROWS) return reject(&dec, "%u uniform operands", uniform_count);
    if (meta->local_bytes % 4 || meta->local_bytes > 65536)
        return reject(&dec, "%u bytes of local memory", meta->local_bytes);
    if (!allocate(p)) return fault->code = ERROR_NO_MEMORY;
    enum error e = fill_uniforms(p, uniforms, uniform_count, dims, params, param_count, &dec);
    if (e) return e;
    const struct times times = class_times(cfg);
    for (dec.pc = 0; dec.pc < count; dec.pc++) {
        if ((e = decode_one(&dec, cfg, &times))) return e;
        p->line[dec.pc] = code[dec.pc].line;
        if (cfg->icache_bytes) p->deps[dec.pc].piece = piece_of(cfg, dec.pc);
        if (p->deps[dec.pc].groups || p->deps[dec.pc].count > FEW_DEPS)
            p->deps[dec.pc].piece |= PIECE_MANY;
    }
    p->named = p->sass ? sass_named(p) : meta->nregs;
    if ((e = control_decode(p, code, uniforms, cfg))) return fault->code = e;
    dec.pc = count - 1;
    const struct uop *last = &p->code[count - 1];
    if (!((last->op == OP_EXIT || last->op == OP_BRA || sass_ends(last)) && last->guard == 0))
        return reject(&dec, "control can run past the last instruction");
    return OK;
}

void program_free(struct program *p) {
    free(p->code);
    free(p->deps);
    free(p->control);
    free(p->line);
    free(p->uniforms);
}

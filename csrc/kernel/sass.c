#include "kernel/sass.h"
#include "kernel/decoder.h"
#include "kernel/traits.h"

/* A row of sass.def. */
struct sass_info {
    uint8_t cls, traits;
    const char *operands;
};

static const struct sass_info rows[SASS_COUNT] = {
#define SASS(id, cls, traits, operands) {CLASS_##cls, traits, operands},
#include "tables/sass.def"
};

_Static_assert(SASS_COUNT <= 256, "the number of an operation is a byte of struct uop");

/* The units that an instruction takes: where the machine has some for what acts once per warp, that
 * takes these. */
static uint8_t unit_of(struct decoder *dec, const struct config *cfg, uint32_t kind, int32_t aux) {
    const bool once = aux >> SHIFT_UNIFORM & MASK_UNIFORM;
    return number_of(dec->p, once && cfg->uniform_units ? UNIT_UNIFORM : kind);
}

/* Decode a source of so many registers, or rows of uniforms. */
enum error sass_group(struct decoder *dec, uint16_t field, uint32_t count, uint16_t *row) {
    struct program *p = dec->p;
    if (field == OPERAND_NONE) {
        if (count > 1) return reject(dec, "a group is missing");
        *row = (uint16_t)(ROW_UNIFORM | p->uniform_count); /* zeros */
        return OK;
    }
    if (count == 1) return source(dec, field, row);
    if (!(field & OPERAND_UNIFORM)) return group(dec, field, count, row);
    const uint32_t index = field & 0x7fffu;
    if (index >= p->uniform_count || count > p->uniform_count - index)
        return reject(dec, "uniform rows from %u on do not exist", index);
    *row = field;
    return OK;
}

/* Decode a destination of so many registers; one that is dropped goes to rows that nobody reads. */
static enum error write(struct decoder *dec, uint16_t field, uint32_t count, struct uop *u) {
    const struct program *p = dec->p;
    if (field == OPERAND_NONE) {
        u->d = (uint16_t)(p->registers + SPECIAL_COUNT);
        return OK;
    }
    if (field >= p->registers) return reject(dec, "destination register %u does not exist", field);
    u->dst = field;
    u->dst_count = (uint8_t)count;
    if (count == 1) {
        u->d = field;
        return add_dep(dec, field);
    }
    u->needs |= NEED_GROUP;
    return group(dec, field, count, &u->d);
}

/* Let the instruction wait for a predicate; true ones are always there. */
static enum error await(struct decoder *dec, uint32_t number) {
    uint16_t row;
    return (number & 7) == 7 ? OK : predicate(dec, (uint16_t)(number & ~SASS_NOT), &row);
}

/* Decode the predicates that stand in aux. */
static enum error predicates(struct decoder *dec, struct uop *u) {
    const uint32_t written[2] = {sass_pred(u, SHIFT_PD0), sass_pred(u, SHIFT_PD1)};
    const uint32_t read_ones[3] = {sass_pred(u, SHIFT_PS0), sass_pred(u, SHIFT_PS1),
                                   sass_pred(u, SHIFT_PS2)};
    enum error e = OK;
    for (uint32_t i = 0; i < 2 && !e; i++) {
        if ((written[i] & 7) != 7) u->needs |= NEED_PREDS;
        e = await(dec, written[i]);
    }
    for (uint32_t i = 0; i < 3 && !e; i++) e = await(dec, read_ones[i] & ~SASS_NOT);
    return e;
}

/* Let the instruction wait for all predicates, or all uniform ones. */
static enum error await_all(struct decoder *dec, struct uop *u) {
    const uint32_t first = u->aux >> SHIFT_UNIFORM & MASK_UNIFORM ? SASS_PREDS / 2 : 0;
    enum error e = OK;
    for (uint32_t i = 0; i < SASS_PREDS / 2 && !e; i++) e = await(dec, first + i);
    u->needs |= NEED_PREDS;
    return e;
}

/* Decode registers as the row says. */
static enum error operands(struct decoder *dec, const struct insn *in, const char *text,
                           struct uop *u) {
    enum error e = OK;
    for (const char *s = text; *s && !e; s++) {
        const char letter = *s;
        uint32_t count = 0;
        if (letter == ',') continue;
        while (s[1] >= '0' && s[1] <= '9') count = 10 * count + (uint32_t)(*++s - '0');
        count = count ? count : 1;
        switch (letter) {
        case 'd': e = write(dec, in->d, count, u); break;
        case 'a': e = sass_group(dec, in->a, count, &u->a); break;
        case 'b': e = sass_group(dec, in->b, count, &u->b); break;
        case 'p': e = await_all(dec, u); break;
        default: e = sass_group(dec, in->c, count, &u->c); break;
        }
    }
    return e;
}

/* Check what an operation of control says beside its registers. */
static enum error control(struct decoder *dec, const struct insn *in) {
    const uint32_t op = in->op - OP_COUNT;
    if ((op == SASS_S2R || op == SASS_S2R_64) && in->q < REGISTER_COUNT) return OK;
    if (op == SASS_BRA && in->q >= BRANCH_COUNT) return reject(dec, "branch of kind %u", in->q);
    if ((op == SASS_BRA || op == SASS_CALL || op == SASS_COLLECTIVE) &&
        (in->imm < 0 || (uint32_t)in->imm >= dec->p->count))
        return reject(dec, "branch target %d", (int)in->imm);
    if (op == SASS_BAR || op == SASS_DEPBAR) return OK;
    if (op == SASS_JUMP && in->q >= JUMP_COUNT) return reject(dec, "jump of kind %u", in->q);
    if (op == SASS_WARPSYNC && in->q >= SYNC_COUNT)
        return reject(dec, "warpsync of kind %u", in->q);
    if (op == SASS_JUMP && in->q == JUMP_ANYWHERE) {
        if (dec->p->registers <= LAST_ARGUMENT || dec->p->constant_bytes < 8)
            return reject(dec, "a call outside of the code");
        dec->p->prints = dec->p->points = true;
    }
    if (in->q >= CONVERGENCE_BARRIERS) return reject(dec, "barrier %u", in->q);
    return OK;
}

enum error sass_decode(struct decoder *dec, const struct config *cfg, const struct times *times) {
    struct program *p = dec->p;
    const struct insn *in = &dec->code[dec->pc];
    struct uop *u = &p->code[dec->pc];
    if (in->op >= OP_COUNT + SASS_COUNT) return reject(dec, "operation %u does not exist", in->op);
    const uint32_t op = in->op - OP_COUNT;
    const struct sass_info *info = &rows[op];
    const uint16_t zeros = (uint16_t)(ROW_UNIFORM | p->uniform_count);
    const bool decides = info->traits & CONTROL;
    enum error e;
    *u = (struct uop){.op = decides ? OP_SASS_CONTROL : OP_SASS,
                      .guard = in->guard,
                      .sub = (uint8_t)op,
                      .flags = in->flags,
                      .unit = unit_of(dec, cfg, times->unit[info->cls], in->aux),
                      .path = decides                   ? PATH_CONTROL
                              : info->cls == CLASS_SHFL ? PATH_LANES
                                                        : PATH_ALU,
                      .d = (uint16_t)(p->registers + SPECIAL_COUNT),
                      .a = zeros,
                      .b = zeros,
                      .c = zeros,
                      .q = in->q,
                      .latency = times->latency[info->cls],
                      .interval = times->interval[info->cls],
                      .imm = in->imm,
                      .aux = in->aux};
    p->sass = true;
    if (p->meta.npreds < SASS_PREDS) return reject(dec, "%u predicates", p->meta.npreds);
    if (in->guard == GUARD_NOT || (in->guard & ~GUARD_NOT) > SASS_PREDS)
        return reject(dec, "guard %u", in->guard);
    if (in->guard && (e = await(dec, (in->guard & ~(uint32_t)GUARD_NOT) - 1))) return e;
    if ((e = operands(dec, in, info->operands, u)) || (e = predicates(dec, u))) return e;
    if (op == SASS_MATCH || op == SASS_MATCH_64) u->needs |= NEED_VALUES;
    if (op == SASS_B2R) u->latency += (uint16_t)cfg->bar_result;
    if (op == SASS_BMOV_READ) u->latency += (uint16_t)cfg->bmov_late;
    return decides ? control(dec, in) : OK;
}

/* a: 64 bits of global memory, of other spaces 32, shifted left by the form; of a global access of
 * form 1 32 bits without a sign. ah: what is added, as long as an address of the space. */
enum error sass_address(struct decoder *dec, const struct insn *in, struct uop *u) {
    const bool global = u->op == OP_LD_GLOBAL || u->op == OP_ST_GLOBAL || u->op == OP_ATOM_GLOBAL;
    const uint32_t way = ~(uint32_t)in->aux, form = way >> SASS_FORM & 7,
                   done = way >> SASS_DONE & 0xfu;
    uint16_t row = ROW_NONE;
    if (way > SASS_WAYS || form > (global ? 1 : 4) || (!global && way & SASS_GENERIC))
        return reject(dec, "address of form %u", way);
    if ((u->op == OP_LD_SHARED || u->op == OP_ST_SHARED) &&
        (in->sub > 2 || (in->sub && in->width < 4)))
        return reject(dec, "matrix of kind %u", in->sub);
    dec->p->sass = true;
    enum error e = sass_group(dec, in->a, global && !form ? 2 : 1, &u->a);
    if (!e && way <= SASS_WAYS) e = await(dec, done);
    if (!e && in->ah != OPERAND_NONE) e = sass_group(dec, in->ah, global ? 2 : 1, &row);
    u->aux = (int32_t) ~(way | (uint32_t)row << SASS_ROW);
    return e;
}

enum error sass_copy(struct decoder *dec, const struct insn *in, struct uop *u) {
    enum error e;
    if (in->sub > 7 || in->width < 4) return reject(dec, "copy of kind %u", in->sub);
    dec->p->copies = true;
    u->dst_count = 0;
    if ((e = sass_group(dec, in->b, 1, &u->b)) || (e = sass_group(dec, in->c, 1, &u->c))) return e;
    return sass_group(dec, in->q, 1, &u->q);
}

uint8_t sass_class(uint32_t op) { return (uint8_t)rows[op].cls; }

uint8_t sass_words(uint32_t op, char letter) {
    const char *s = rows[op].operands;
    while (*s && *s != letter) s++;
    if (!*s) return 0;
    uint32_t count = 0;
    while (s[1] >= '0' && s[1] <= '9') count = 10 * count + (uint32_t)(*++s - '0');
    return (uint8_t)(count ? count : 1);
}

/* The register with what an atomic compares; a row that is no register if it does not compare. */
static uint32_t compared(const struct uop *u) {
    switch (u->sub) {
    case ATOM_CAS:
    case ATOM_CAST: return u->b;
    case ATOM_CAS64:
    case ATOM_CAST64: return u->data[2];
    default: return OPERAND_NONE;
    }
}

/* Compilers put sums and the like between the two, a few instructions [EST]. */
#define SWAP_DISTANCE 16u

/* Registers of a thread, a bit for each. */
struct registers {
    uint64_t bits[MAX_REGS / 64 + 1];
};

static bool has(const struct registers *r, uint32_t row) {
    return row < MAX_REGS && r->bits[row / 64] >> row % 64 & 1;
}

static void put(struct registers *r, uint32_t row, bool in) {
    if (row >= MAX_REGS) return;
    r->bits[row / 64] &= ~(1ull << row % 64);
    r->bits[row / 64] |= (uint64_t)in << row % 64;
}

/* Compilers make a compare and swap of 16 bits of one of the word around it: what that compares
 * is computed from the word as a load in front of it has seen it, at the same address. */
bool sass_feeds_swap(const struct program *p, uint32_t pc) {
    const struct uop *load = &p->code[pc];
    struct registers computed = {{0}}; /* from the loaded value, which is among them */
    bool unchanged = true;             /* the loaded value is where the load has put it */
    if (!load->dst_count) return false;
    put(&computed, load->data[0], true);
    for (uint32_t i = pc + 1; i < p->count && i <= pc + SWAP_DISTANCE; i++) {
        const struct uop *u = &p->code[i];
        const bool atomic = u->op == OP_ATOM_GLOBAL || u->op == OP_ATOM_SHARED;
        const bool memory = u->op >= OP_LD_GLOBAL && u->op <= OP_TEX;
        const bool same = u->a == load->a && u->imm == load->imm;
        if (atomic && unchanged && compared(u) == load->data[0]) return true;
        if (atomic && same && has(&computed, compared(u))) return true;
        if (!u->dst_count) continue;
        put(&computed, u->d,
            !memory && (has(&computed, u->a) || has(&computed, u->b) || has(&computed, u->c)));
        unchanged &= u->d != load->data[0];
    }
    return false;
}

bool sass_ends(const struct uop *u) {
    if (u->op != OP_SASS_CONTROL) return false;
    const bool sure = sass_pred(u, SHIFT_PS0) == 7;
    return u->sub == SASS_JUMP || u->sub == SASS_CALL ||
           ((u->sub == SASS_EXIT || u->sub == SASS_BRA) && sure);
}

/* The end of the registers that an instruction waits for. */
static uint32_t end_of(const struct deps *deps, uint32_t registers) {
    uint32_t end = 0;
    for (uint32_t i = 0; i < DEPS; i++) {
        const bool group = i >= DEPS - deps->groups;
        if (i >= deps->count && !group) continue;
        const uint32_t first = group ? deps->id[i] & ((1u << GROUP_SHIFT) - 1) : deps->id[i],
                       own = first + (group ? deps->id[i] >> GROUP_SHIFT : 0) + 1;
        if (own <= registers && own > end) end = own;
    }
    return end;
}

uint32_t sass_named(struct program *p) {
    uint32_t named = p->meta.nregs;
    for (uint32_t pc = 0; pc < p->count; pc++) {
        const struct uop *u = &p->code[pc];
        const uint32_t end = end_of(&p->deps[pc], p->registers);
        if (end > named) named = end;
        if (u->op == OP_SASS_CONTROL && u->q < CONVERGENCE_BARRIERS && u->q >= p->barriers)
            p->barriers = u->q + 1u;
    }
    return named;
}

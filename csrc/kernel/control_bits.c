#include "kernel/control_bits.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/decoder.h"
#include "kernel/sass.h"

#define SOURCES 3u /* a, b and c */

static uint32_t bits_of(const struct insn *in, enum sass_control shift, uint32_t mask) {
    return in->control >> shift & mask;
}
#define BITS(name) bits_of(in, CONTROL_##name, CONTROL_MASK_##name)

/* Clocks from an instruction's issue to the next one of its warp. A stall count waits so long, but
 * some values mean something else together with the yield bit, as found on a card of compute
 * capability 9.0 (experiments/hardware/hopper, stall_and_yield). */
static uint8_t stall_of(const struct insn *in) {
    const uint32_t stall = BITS(STALL);
    if (BITS(KEEP)) return (uint8_t)(stall == 0 ? 2 : stall < 12 ? stall : stall < 14 ? 1 : 2);
    return (uint8_t)(stall == 0 ? 33 : stall == 1 ? 2 : stall);
}

/* Compilers write this where nothing is to overlap (nvcc -G): no instruction of such code names a
 * counter, also if it loads. */
static bool is_alone(const struct insn *in) { return !BITS(STALL) && !BITS(KEEP); }

static uint8_t counter_of(uint32_t number) {
    return (uint8_t)(number < NAMED_COUNTERS ? number : NO_COUNTER);
}

/* ---- when sources have been read --------------------------------------------------------- */

static uint16_t read_clocks(const struct uop *u, const struct config *cfg) {
    const uint32_t data = control_data(u);
    const bool shared = u->op == OP_LD_SHARED || u->op == OP_ST_SHARED || u->op == OP_ATOM_SHARED ||
                        u->op == OP_LD_CONST || u->path == PATH_LANES;
    const uint32_t address = shared                   ? cfg->read_shared
                             : u->path == PATH_MEMORY ? cfg->read_global
                                                      : cfg->read_sfu;
    return (uint16_t)(address + (data ? cfg->read_data + (data - 1) * cfg->read_more : 0));
}

/* ---- banks of registers ------------------------------------------------------------------ */

/* The registers that an instruction of arithmetic names as sources, each once. */
struct named {
    uint16_t row[SOURCES];
    uint8_t count[SOURCES]; /* rows from that one on; 0: none */
};

/* What tensor units read takes several clocks of their own time, and of instructions whose latency
 * is not fixed nobody knows when they read. */
static bool reads_at_once(const struct uop *u, const struct control_bits *c,
                          const struct config *cfg, const struct program *p) {
    return u->op == OP_SASS && u->path == PATH_ALU && cfg->read_ports && c->write == NO_COUNTER &&
           p->kind[u->unit] != UNIT_TENSOR;
}

static struct named named_by(const struct program *p, uint32_t pc) {
    const struct uop *u = &p->code[pc];
    const uint16_t row[SOURCES] = {u->a, u->b, u->c};
    struct named n = {{0}, {0}};
    for (uint32_t i = 0; i < SOURCES; i++) {
        bool again = row[i] >= p->meta.nregs; /* a constant, or a uniform or special register */
        for (uint32_t j = 0; j < i; j++) again |= row[j] == row[i];
        n.row[i] = row[i];
        n.count[i] = again ? 0 : sass_words(u->sub, "abc"[i]);
    }
    return n;
}

static void count_reads(struct program *p, const struct insn *code, const struct config *cfg,
                        uint32_t pc) {
    struct control_bits *c = &p->control[pc];
    if (!reads_at_once(&p->code[pc], c, cfg, p)) return;
    const struct named now = named_by(p, pc);
    const uint32_t kept = pc && reads_at_once(&p->code[pc - 1], c - 1, cfg, p)
                              ? code[pc - 1].control >> CONTROL_REUSE & CONTROL_MASK_REUSE
                              : 0;
    const struct uop *front = pc ? &p->code[pc - 1] : &p->code[pc];
    const uint16_t before[SOURCES] = {front->a, front->b, front->c};
    for (uint32_t i = 0; i < SOURCES; i++)
        for (uint32_t word = 0; word < now.count[i]; word++) {
            const uint32_t bank = (now.row[i] + word) % REGISTER_BANKS;
            c->reads[bank]++;
            if ((kept >> i & 1) && before[i] == now.row[i]) c->kept[bank]++;
        }
}

/* How much longer the warp waits behind what goes to its unit in parts. */
static uint8_t further_parts(const struct uop *u, const struct config *cfg,
                             const struct program *p) {
    const bool wide = u->op == OP_SASS && sass_class(u->sub) == CLASS_WIDE;
    return (uint8_t)(wide && p->kind[u->unit] == cfg->unit_wide ? cfg->wide_stall : 0);
}

/* ---- programs ---------------------------------------------------------------------------- */

static void decode_one(struct program *p, const struct insn *in, const struct config *cfg,
                       uint32_t pc) {
    const struct uop *u = &p->code[pc];
    struct control_bits *c = &p->control[pc];
    *c = (struct control_bits){.stall = (uint8_t)(stall_of(in) + further_parts(u, cfg, p)),
                               .wait = (uint8_t)(BITS(WAIT) & ((1u << NAMED_COUNTERS) - 1)),
                               .counter = counter_of(BITS(COUNTER)),
                               .left = (uint8_t)BITS(LEFT),
                               .write = counter_of(BITS(WRITE)),
                               .read = counter_of(BITS(READ)),
                               .read_clocks = read_clocks(u, cfg),
                               .loads = u->path == PATH_MEMORY && u->dst_count,
                               .alone = is_alone(in),
                               .opens = u->op == OP_SASS_CONTROL && u->sub == SASS_BAR &&
                                        u->q == BARRIER_ALLOC,
                               .unit = u->unit,
                               .piece = p->deps[pc].piece & ~PIECE_SPECIAL};
    c->counts = c->read != NO_COUNTER || c->write != NO_COUNTER || c->alone;
    if (c->counter != NO_COUNTER && c->left >= p->counted) p->counted = c->left + 1u;
}

/* Note a register that an instruction reads or writes. */
static void note_row(struct control_bits *c, const struct program *p, uint16_t row) {
    uint32_t i = 0;
    if (row >= p->registers) return; /* of a uniform, or a special register */
    while (i < NAMED_ROWS && c->rows[i] != ROW_NONE && c->rows[i] != row) i++;
    if (i < NAMED_ROWS) c->rows[i] = row;
}

/* ---- constants as operands --------------------------------------------------------------- */

/* The lines of constants that instructions name, in the order in which they do. */
struct constant_lines {
    uint32_t count, line[OPERAND_LINES];
};

/* The number of the line that holds a constant, from 1 on; 0 of one that is not looked at. */
static uint8_t line_number(struct constant_lines *known, uint32_t line) {
    uint32_t i = 0;
    while (i < known->count && known->line[i] != line) i++;
    if (i == OPERAND_LINES) return 0;
    if (i == known->count) known->line[known->count++] = line;
    return (uint8_t)(i + 1);
}

/* Note the line of a constant that an instruction of arithmetic names; it names one at most. */
static void note_line(struct program *p, uint32_t pc, const struct uniform *uniforms,
                      const struct config *cfg, struct constant_lines *known) {
    const struct uop *u = &p->code[pc];
    const uint16_t row[SOURCES] = {u->a, u->b, u->c};
    if (!cfg->operand_miss || !cfg->icache2_bytes || u->op != OP_SASS) return;
    for (uint32_t i = 0; i < SOURCES; i++) {
        if (row[i] == ROW_NONE || !(row[i] & ROW_UNIFORM)) continue;
        const uint32_t index = row[i] & ~ROW_UNIFORM;
        if (index < p->uniform_count && uniforms[index].kind == UNIFORM_CONST)
            p->control[pc].line = line_number(known, uniforms[index].value / cfg->operand_line);
    }
}

/* ---- registers --------------------------------------------------------------------------- */

/* Name rows again in places that are always looked at. */
static void fill_usual(struct control_bits *c) {
    if (c->rows[0] == ROW_NONE) c->rows[0] = 0;
    for (uint32_t i = 1; i < USUAL_ROWS; i++)
        if (c->rows[i] == ROW_NONE) c->rows[i] = c->rows[i - 1];
}

static void note_rows(struct program *p, uint32_t pc) {
    const struct uop *u = &p->code[pc];
    struct control_bits *c = &p->control[pc];
    c->awaits = c->wait || c->loads || c->counter != NO_COUNTER || c->line;
    for (uint32_t i = 0; i < NAMED_ROWS; i++) c->rows[i] = ROW_NONE;
    if (u->path == PATH_CONTROL) return;
    note_row(c, p, u->a);
    if (u->path == PATH_MEMORY) {
        for (uint32_t i = 0; i < u->dst_count || i < control_data(u); i++)
            if (i < 4) note_row(c, p, u->data[i]);
        return;
    }
    note_row(c, p, u->b);
    note_row(c, p, u->c);
    note_row(c, p, u->d);
}

static bool is_simple(const struct uop *u) {
    return u->op == OP_SASS && (u->path == PATH_ALU || u->path == PATH_LANES) &&
           !(u->needs & (NEED_DIVISOR | NEED_VALUES)) && u->unit != UNIT_EITHER;
}

/* Does an instruction behind a simple one have nothing to fetch or to await? What a warp has
 * fetched stays there only if it has a buffer of its own. */
static bool follows_on(const struct control_bits *c, const struct config *cfg) {
    const struct control_bits *front = c - 1;
    const bool keeps = cfg->fetch_bytes || !cfg->icache_bytes;
    return front->simple && !front->alone && keeps && c->piece == front->piece &&
           c->unit != UNIT_EITHER && !c->awaits && !c->opens;
}

enum error control_decode(struct program *p, const struct insn *code,
                          const struct uniform *uniforms, const struct config *cfg) {
    struct constant_lines known = {.count = 0};
    if (!p->sass || cfg->dependence != DEPENDENCE_control) return OK;
    p->control = calloc(p->count, sizeof *p->control);
    if (!p->control) return ERROR_NO_MEMORY;
    p->counted = 1;
    for (uint32_t pc = 0; pc < p->count; pc++) {
        decode_one(p, &code[pc], cfg, pc);
        note_line(p, pc, uniforms, cfg, &known);
        p->deps[pc].piece |= PIECE_CONTROL;
    }
    for (uint32_t pc = 0; pc < p->count; pc++) count_reads(p, code, cfg, pc);
    for (uint32_t pc = 0; pc < p->count; pc++) {
        note_rows(p, pc);
        fill_usual(&p->control[pc]);
        p->control[pc].simple = is_simple(&p->code[pc]);
        p->control[pc].follows = pc && follows_on(&p->control[pc], cfg);
    }
    return OK;
}

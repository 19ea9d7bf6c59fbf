#include "chip/marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "chip/polls.h"
#include "kernel/sass.h"
#include "sm/sass/routine.h"

static bool is_global(uint32_t op) {
    return op == OP_LD_GLOBAL || op == OP_ST_GLOBAL || op == OP_ATOM_GLOBAL;
}

/* Make an extent of each ring of views, or of each array that has no views. */
static void find_extents(struct marks *m, const struct machine *machine) {
    const uint32_t heap = routine_heap(machine->program);
    for (uint32_t i = 0; i < machine->buffer_count; i++) {
        const struct buffer *b = &machine->buffers[i];
        struct extent *e = NULL;
        for (const struct buffer *view = b->next_view; view != b && !e; view = view->next_view)
            e = m->of[view - machine->buffers];
        if (!e) {
            e = &m->extents[m->count++];
            *e = (struct extent){.low = UINT64_MAX, .shift = 2};
        }
        m->of[i] = e;
        e->sparse |= heap && b->address == heap;
        if (b->address < e->low) e->low = b->address;
        if ((uint64_t)b->address + b->bytes > e->high) e->high = (uint64_t)b->address + b->bytes;
    }
}

/* The extents that an instruction may access, that of its array or all; returns how many. */
static uint32_t extents_of(const struct marks *m, const struct uop *u, struct extent **first) {
    if (!is_global(u->op)) return 0;
    *first = u->aux < 0 ? m->extents : m->of[u->aux];
    return u->aux < 0 ? m->count : 1;
}

/* Note what the program does to each extent. A load that polls at one place is no access that may
 * race. */
static void note_accesses(struct marks *m, const struct program *p) {
    for (uint32_t pc = 0; pc < p->count; pc++) {
        const struct uop *u = &p->code[pc];
        struct extent *e;
        for (uint32_t left = extents_of(m, u, &e); left; left--, e++) {
            const uint32_t shift = (uint32_t)__builtin_ctz(u->width);
            if (shift < e->shift) e->shift = shift;
            e->loads |= u->op == OP_LD_GLOBAL && m->polls[pc] != POLL_FIXED;
            e->stores |= u->op == OP_ST_GLOBAL;
            e->atomics |= u->op == OP_ATOM_GLOBAL;
        }
    }
}

bool marks_look(const struct program *p, const struct marks *m) {
    bool looks = false, shared = false, fences = false;
    for (uint32_t pc = 0; pc < p->count; pc++) {
        const struct uop *u = &p->code[pc];
        const bool polls = m->polls[pc], atomic = u->dst_count;
        looks |= (u->op == OP_LD_GLOBAL && (polls || sass_is_strong(u))) ||
                 (u->op == OP_ATOM_GLOBAL && atomic);
        shared |= (u->op == OP_LD_SHARED && polls) || (u->op == OP_ATOM_SHARED && atomic);
        fences |= u->op == OP_MEMBAR;
    }
    return looks || (shared && fences);
}

/* Do accesses of an instruction matter? */
static bool matters(const struct marks *m, const struct uop *u, bool looks) {
    struct extent *e;
    for (uint32_t left = extents_of(m, u, &e); left; left--, e++)
        if (u->op == OP_LD_GLOBAL ? e->stores || e->atomics
                                  : u->op == OP_ST_GLOBAL || e->loads || e->stores || looks)
            return true;
    return false;
}

/* Bytes of marks of an extent; allocated as well, if wanted. False: there is no memory. */
static bool extent_marks(struct extent *e, bool allocate, uint64_t *bytes) {
    const uint64_t pieces = ((e->high - e->low) >> e->shift) + 1;
    const bool loads = e->loads && (e->stores || e->atomics);
    const bool atomics = e->atomics && (e->loads || e->stores);
    *bytes = pieces * ((e->stores ? sizeof *e->store + sizeof *e->value : 0) +
                       (loads ? sizeof *e->load : 0) + (atomics ? sizeof *e->atomic : 0));
    if (!allocate) return true;
    if (e->stores) e->store = lines_alloc(pieces * sizeof *e->store);
    if (e->stores) e->value = lines_alloc(pieces * sizeof *e->value);
    if (loads) e->load = lines_alloc(pieces * sizeof *e->load);
    if (atomics) e->atomic = lines_alloc(pieces * sizeof *e->atomic);
    return (!e->stores || (e->store && e->value)) && (!loads || e->load) && (!atomics || e->atomic);
}

/* Give all extents their marks, unless that were too much. */
static enum error allocate(struct marks *m, uint64_t others, struct fault *fault) {
    uint64_t all = others, each;
    for (uint32_t i = 0; i < m->count; i++) {
        extent_marks(&m->extents[i], false, &each);
        if (!m->extents[i].sparse) all += each;
    }
    if (all > MARKS_MOST) {
        snprintf(fault->text, sizeof fault->text,
                 "check: marks of who accessed which element take %llu MiB, and %llu are allowed: "
                 "launch with smaller arrays",
                 (unsigned long long)(all >> 20), MARKS_MOST >> 20);
        return fault->code = ERROR_BAD_LAUNCH;
    }
    for (uint32_t i = 0; i < m->count; i++)
        if (!extent_marks(&m->extents[i], true, &each)) return ERROR_NO_MEMORY;
    return OK;
}

enum error marks_init(struct marks *m, const struct machine *machine, struct fault *fault) {
    const struct program *p = machine->program;
    m->extents = calloc(machine->buffer_count + 1u, sizeof *m->extents);
    m->of = calloc(machine->buffer_count + 1u, sizeof(void *));
    m->polls = calloc(p->count, 1);
    m->watched = calloc(p->count, 1);
    if (!m->extents || !m->of || !m->polls || !m->watched) return ERROR_NO_MEMORY;
    polls_find(p, m->polls);
    find_extents(m, machine);
    note_accesses(m, p);
    const bool looks = marks_look(p, m);
    for (uint32_t pc = 0; pc < p->count; pc++) m->watched[pc] = matters(m, &p->code[pc], looks);
    return allocate(m, order_bytes(machine->cfg, looks), fault);
}

struct extent *marks_extent(const struct marks *m, const struct machine *machine,
                            const struct uop *u, uint32_t address) {
    if (u->aux >= 0) return m->of[u->aux];
    return m->of[buffers_find(&machine->all, address, u->width) - machine->buffers];
}

void marks_forget(const struct marks *m, const struct machine *machine, uint32_t address,
                  uint32_t bytes) {
    const struct extent *e = m->of[buffers_find(&machine->all, address, bytes) - machine->buffers];
    const size_t first = (size_t)(address - e->low) >> e->shift, count = bytes >> e->shift;
    if (e->store) memset(e->store + first, 0, count * sizeof *e->store);
    if (e->load) memset(e->load + first, 0, count * sizeof *e->load);
    if (e->atomic) memset(e->atomic + first, 0, count * sizeof *e->atomic);
}

void marks_free(struct marks *m) {
    for (uint32_t i = 0; i < m->count; i++) {
        struct extent *e = &m->extents[i];
        lines_free(e->store);
        lines_free(e->value);
        lines_free(e->load);
        lines_free(e->atomic);
    }
    free(m->extents);
    free(m->of);
    free(m->polls);
    free(m->watched);
}

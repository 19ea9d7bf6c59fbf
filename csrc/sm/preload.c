#include "sm/preload.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLICY_preload(name, doc) extern const struct preload_policy preload_##name;
#include "tables/policies.def"

const struct preload_policy *const preload_policies[PRELOAD_COUNT] = {
#define POLICY_preload(name, doc) &preload_##name,
#include "tables/policies.def"
};

_Static_assert(MAX_ENTRIES == MOST_preload_entries, "a table holds what config.def allows");

/* ---- the launch's table ------------------------------------------------------------------- */

/* Do the ends of a range stay numbers of 62 bits for every block of the grid? */
static bool is_bounded(const int64_t form[4], const uint32_t grid[3]) {
    int64_t product, sum = 0;
    for (int d = 0; d < 4; d++) {
        const int64_t most = d < 3 ? (int64_t)grid[d] - 1 : 1,
                      size = form[d] < 0 ? -(form[d] + 1) : form[d];
        if (__builtin_mul_overflow(size, most, &product) ||
            __builtin_add_overflow(sum, product, &sum))
            return false;
    }
    return sum < INT64_MAX / 2;
}

static enum error check_entry(const struct machine *m, const struct preload_entry *e,
                              uint32_t number, struct fault *f) {
    const char *wrong = NULL;
    if (e->array < 0 || e->array >= m->buffer_count) wrong = "names an array that the launch lacks";
    else if (!is_bounded(e->low, m->dims.grid) || !is_bounded(e->high, m->dims.grid))
        wrong = "has ends that are beyond 62 bits for some block";
    if (!wrong) return OK;
    snprintf(f->text, sizeof f->text, "entry %u of the preload table %s", number, wrong);
    return f->code = ERROR_BAD_LAUNCH;
}

/* Does the program write to the array, or to another view of its memory? */
static bool is_written(const struct machine *m, const struct buffer *array) {
    for (uint32_t pc = 0; pc < m->program->count; pc++) {
        const struct uop *u = &m->program->code[pc];
        if (u->op != OP_ST_GLOBAL && u->op != OP_ATOM_GLOBAL) continue;
        if (u->aux < 0) return true; /* maybe */
        const struct buffer *view = array;
        do {
            if (view == &m->buffers[u->aux]) return true;
        } while ((view = view->next_view) != array);
    }
    return false;
}

/* Do loads of the array, or of another view of its memory, find lines of tiles? */
static bool is_preloaded(const struct preload *p, const struct machine *m,
                         const struct buffer *array) {
    for (uint32_t i = 0; i < p->count; i++) {
        const struct buffer *view = array;
        do {
            if (view == &m->buffers[p->entry[i].array]) return true;
        } while ((view = view->next_view) != array);
    }
    return false;
}

/* Note the loads that may find lines of tiles, and from where in the program they are reached. */
static void note_loads(struct preload *p, const struct machine *m) {
    const struct program *program = m->program;
    bool changed = true;
    for (uint32_t pc = 0; pc < program->count; pc++) {
        const struct uop *u = &program->code[pc];
        p->loads[pc] =
            u->op == OP_LD_GLOBAL && u->aux >= 0 && is_preloaded(p, m, &m->buffers[u->aux]);
    }
    while (changed) {
        changed = false;
        for (uint32_t pc = program->count; pc-- > 0;) {
            const struct uop *u = &program->code[pc];
            const bool ends = !u->guard && (u->op == OP_EXIT || u->op == OP_BRA);
            const bool later = p->loads[pc] || (u->op == OP_BRA && p->later[u->imm]) ||
                               (!ends && p->later[pc + 1]);
            changed |= later != p->later[pc];
            p->later[pc] = later;
        }
    }
}

enum error preload_create(struct preload **out, const struct machine *m,
                          const struct preload_entry *entries, uint32_t count, bool early,
                          struct fault *fault) {
    const struct preload_policy *policy = preload_policies[m->cfg->preload_policy];
    const uint32_t kept = count < m->cfg->preload_entries ? count : m->cfg->preload_entries;
    if (!count || !policy->active) return OK;
    struct preload *p = *out = calloc(1, sizeof *p + 2 * m->program->count);
    if (!p) return ERROR_NO_MEMORY;
    p->policy = policy;
    p->early = early;
    p->overflow = count - kept;
    p->loads = (uint8_t *)(p + 1);
    p->later = p->loads + m->program->count;
    for (uint32_t i = 0; i < count; i++) {
        const enum error e = check_entry(m, &entries[i], i, fault);
        if (e) return e;
        if (i >= kept) continue;
        if (is_written(m, &m->buffers[entries[i].array])) p->refused++;
        else p->entry[p->count++] = entries[i];
    }
    note_loads(p, m);
    return OK;
}

void preload_destroy(struct preload *p) { free(p); }

/* ---- the lines of a block ----------------------------------------------------------------- */

static int64_t value_of(const int64_t form[4], const uint32_t block[3]) {
    return form[0] * block[0] + form[1] * block[1] + form[2] * block[2] + form[3];
}

/* Put a span in its place by its first line. */
static void insert(struct line_span *spans, uint32_t count, struct line_span span) {
    uint32_t i = count;
    for (; i && spans[i - 1].first > span.first; i--) spans[i] = spans[i - 1];
    spans[i] = span;
}

/* Join spans that overlap or touch; returns how many are left. */
static uint32_t join(struct line_span *spans, uint32_t count) {
    uint32_t last = 0;
    if (!count) return 0;
    for (uint32_t i = 1; i < count; i++) {
        if (spans[i].first > spans[last].last + 1) spans[++last] = spans[i];
        else if (spans[i].last > spans[last].last) spans[last].last = spans[i].last;
    }
    return last + 1;
}

uint32_t preload_spans(const struct machine *m, uint32_t number,
                       struct line_span spans[MAX_ENTRIES], uint32_t *skipped) {
    const struct preload *p = m->preload;
    const uint32_t line = m->cfg->preload_line;
    uint32_t block[3], count = 0;
    dims_index(&m->dims, number, block);
    *skipped = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct preload_entry *e = &p->entry[i];
        const struct buffer *array = &m->buffers[e->array];
        int64_t low = value_of(e->low, block), high = value_of(e->high, block);
        if (low < 0) low = 0;
        if (high >= array->bytes) high = (int64_t)array->bytes - 1;
        if (high < low) continue;
        if (high - low >= m->cfg->preload_range) {
            (*skipped)++;
            continue;
        }
        const struct line_span span = {(array->address + (uint32_t)low) / line,
                                       (array->address + (uint32_t)high) / line};
        insert(spans, count++, span);
    }
    return join(spans, count);
}

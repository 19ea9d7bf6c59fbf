#include "chip/observer.h"

#include <stdlib.h>
#include <string.h>

#include "chip/examine.h"
#include "sm/check.h"

/* The events of an SM in a window that are yet to be read. */
struct notes {
    const uint64_t *at, *end;
};

struct observer {
    struct examiner examiner;
    struct notes *notes; /* by SM */
    uint32_t sms;
};

enum error observer_create(struct observer **out, struct machine *m, struct fault *fault) {
    struct observer *o = *out = calloc(1, sizeof *o);
    if (!o) return ERROR_NO_MEMORY;
    o->sms = m->cfg->sm_count;
    o->notes = calloc(o->sms, sizeof *o->notes);
    const enum error e = o->notes ? examiner_init(&o->examiner, m, fault) : ERROR_NO_MEMORY;
    bool any = false;
    for (uint32_t pc = 0; !e && pc < m->program->count; pc++) any |= o->examiner.marks.watched[pc];
    if (any) {
        m->watched = o->examiner.marks.watched;
        m->polls = o->examiner.marks.polls;
        return OK;
    }
    observer_free(o);
    *out = NULL;
    return e;
}

void observer_free(struct observer *o) {
    if (!o) return;
    examiner_free(&o->examiner);
    free(o->notes);
    free(o);
}

void observer_turn(struct observer *o, struct sm *sms) {
    for (uint32_t i = 0; i < o->sms; i++) {
        struct events *e = check_events(sms[i].check);
        o->notes[i].at = e->words[e->half];
        o->notes[i].end = o->notes[i].at + e->used[e->half];
        e->half ^= 1;
        e->used[e->half] = 0;
    }
}

static uint64_t cycle_of(const struct notes *n) {
    return n->at < n->end ? ((const struct event *)n->at)->cycle : NEVER;
}

/* The SM whose next event comes first; all its events of that cycle are taken at once. */
static uint32_t first_of(const struct observer *o, uint64_t *cycle) {
    uint32_t first = 0;
    *cycle = NEVER;
    for (uint32_t i = 0; i < o->sms; i++) {
        const uint64_t its = cycle_of(&o->notes[i]);
        if (its < *cycle) *cycle = its, first = i;
    }
    return first;
}

void observer_follow(struct observer *o) {
    uint64_t cycle;
    for (uint32_t sm = first_of(o, &cycle); cycle != NEVER; sm = first_of(o, &cycle))
        for (struct notes *n = &o->notes[sm]; cycle_of(n) == cycle;) {
            const struct event *e = (const struct event *)n->at;
            switch ((enum event_kind)e->kind) {
            case EVENT_ACCESS: examine_access(&o->examiner, e, sm); break;
            case EVENT_FLAG: examine_flag(&o->examiner, e, sm); break;
            case EVENT_HEAP_FREE: examine_heap_free(&o->examiner, e); break;
            default: order_event(&o->examiner.order, e, sm); break;
            }
            n->at += e->size;
        }
}

const struct findings *observer_findings(const struct observer *o) { return &o->examiner.findings; }

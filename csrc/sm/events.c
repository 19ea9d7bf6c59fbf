#include "sm/events.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sm/lsu.h"

#define FLAGS_APART 148u /* bytes between what stands for a word of one block and of the next */

bool events_init(struct events *e, const struct config *cfg) {
    /* An instruction comes with two syncwarps at most, and may complete a barrier or call free
     * for each lane, for each slot; blocks start, and barriers end, for other reasons once a clock.
     */
    const size_t slots = (size_t)cfg->schedulers * cfg->issue_width;
    const size_t others = ((4 + 32) * slots + MAX_BLOCKS) * EVENT_WORDS;
    const size_t clock = cfg->lsu_units * ACCESS_WORDS + others;
    e->capacity = (EVENTS_CLOCKS + 1) * clock;
    for (uint32_t half = 0; half < 2; half++)
        if (!(e->words[half] = malloc(e->capacity * sizeof(uint64_t)))) return false;
    return true;
}

void events_free(struct events *e) {
    free(e->words[0]);
    free(e->words[1]);
}

static struct event *next_event(struct events *e, const struct sm *sm, const struct block *b,
                                size_t size) {
    size_t *used = &e->used[e->half];
    struct event *event = (struct event *)(e->words[e->half] + *used);
    *used += size;
    assert(*used <= e->capacity);
    *event = (struct event){
        .cycle = sm->now, .warps = b->warp_slots, .block = b->id, .size = (uint16_t)size};
    return event;
}

void events_add(struct events *e, const struct sm *sm, const struct block *b, enum event_kind kind,
                uint32_t warp) {
    struct event *event = next_event(e, sm, b, EVENT_WORDS);
    event->kind = (uint8_t)kind;
    event->warp = (uint8_t)warp;
}

void events_heap_free(struct events *e, const struct sm *sm, const struct block *b,
                      uint32_t address, uint32_t log_size) {
    struct event *event = next_event(e, sm, b, EVENT_WORDS);
    event->kind = EVENT_HEAP_FREE;
    event->address = address;
    event->log_size = (uint8_t)log_size;
}

void events_flag(struct events *e, const struct memop *op, bool publishes, bool looks) {
    const struct block *b = &op->sm->blocks[op->w->block];
    struct event *event = next_event(e, op->sm, b, EVENT_WORDS + LANE_WORDS);
    event->kind = EVENT_FLAG;
    event->warp = (uint8_t)op->warp;
    event->active = op->active;
    event->publishes = publishes;
    event->looks = looks;
    uint32_t *lanes = (uint32_t *)(event + 1);
    for (uint32_t i = 0; i < 32; i++) lanes[i] = op->addr[i] + b->id * FLAGS_APART;
}

void events_access(struct events *e, const struct memop *op) {
    const struct block *b = &op->sm->blocks[op->w->block];
    const uint32_t words = op->u->op == OP_ST_GLOBAL ? memop_words(op->u->width) : 0;
    struct event *event = next_event(e, op->sm, b, EVENT_WORDS + (size_t)(1 + words) * LANE_WORDS);
    event->kind = EVENT_ACCESS;
    event->warp = (uint8_t)op->warp;
    event->pc = (uint16_t)op->pc;
    event->active = op->active;
    event->settled = !op->w->loads_pending;
    uint32_t *lanes = (uint32_t *)(event + 1);
    const uint32_t *rows[4];
    memcpy(lanes, op->addr, sizeof op->addr);
    if (words) lsu_data_rows(op, rows);
    for (uint32_t i = 0; i < words; i++) memcpy(lanes + 32 * (1 + i), rows[i], 32 * sizeof *lanes);
}

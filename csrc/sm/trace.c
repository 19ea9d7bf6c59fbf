#include "sm/trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define BOUNDED_MOST (1u << 17)

struct trace *trace_create(uint32_t most) {
    const bool bounded = most == TRACE_BOUNDED;
    if (bounded) most = BOUNDED_MOST;
    struct trace *trace = calloc(1, sizeof *trace + most * sizeof *trace->row);
    if (!trace) return NULL;
    trace->most = most;
    trace->bounded = bounded;
    trace->interval = TRACE_INTERVAL;
    trace->next = TRACE_INTERVAL;
    return trace;
}

/* ---- samples ----------------------------------------------------------------------------- */

/* Of a byte per warp instruction events have three quarters and samples one. */
static uint32_t most_samples(const struct sm *sm) {
    const uint64_t most =
        TRACE_FLOOR_SAMPLES + sm->count.instructions / (4 * sizeof(struct sample));
    return sm->trace->bounded && most < TRACE_SAMPLES ? (uint32_t)most : TRACE_SAMPLES;
}

static uint64_t round_up(uint64_t cycle, uint32_t interval) {
    return (cycle + interval - 1) / interval * interval;
}

static void add_sample(struct sample *into, const struct sample *s) {
#define TRACED(counter, unit)  into->counter += s->counter;
#define STATE(name, unit, doc) into->name = s->name;
#include "tables/trace.def"
#define WAIT(id, counter, words, doc) into->counter += s->counter;
#include "tables/waits.def"
}

/* Double the interval: samples whose intervals now end at the same cycle become one. */
static void double_interval(struct trace *trace) {
    uint32_t kept = 0;
    trace->interval *= 2;
    for (uint32_t i = 0; i < trace->sample_count; i++) {
        struct sample s = trace->sample[i];
        s.cycle = round_up(s.cycle, trace->interval);
        s.interval = trace->interval;
        if (kept && trace->sample[kept - 1].cycle == s.cycle)
            add_sample(&trace->sample[kept - 1], &s);
        else trace->sample[kept++] = s;
    }
    trace->sample_count = kept;
}

/* What has happened since the last sample; false: nothing. What an SM does not do takes no room, so
 * that how far it runs beyond the end of the grid does not matter. */
static bool measure(struct sm *sm, struct sample *s) {
    struct trace *trace = sm->trace;
    const uint32_t last = trace->sample_count;
    const struct sample *before = last ? &trace->sample[last - 1] : &(struct sample){.cycle = 0};
    const int32_t credits = (int32_t)sm->m->cfg->credits - sm->credits;
    uint64_t all = 0;
    s->sm = sm->id;
    s->interval = trace->interval;
    s->queued = sm->queue_count;
    s->outstanding = credits > 0 ? (uint32_t)credits : 0;
    for (uint32_t slot = 0; slot < MAX_BLOCKS; slot++) s->resident += sm->blocks[slot].used;
    s->resident -= sm->queue_count;
    for (uint32_t i = 0; i < sm->queue_count; i++) s->resident += sm->blocks[sm->queue[i]].started;
    for (uint32_t i = 0; i < sm->smm.used; i++)
        if (sm->smm.entry[i].valid) s->held_bytes += sm->smm.entry[i].size;
#define DIFFERENCE(counter)                                                                        \
    s->counter = (uint32_t)(sm->count.counter - trace->before.counter), all += s->counter;
#define TRACED(counter, unit)  DIFFERENCE(counter)
#define STATE(name, unit, doc) all += s->name != before->name;
#include "tables/trace.def"
#define WAIT(id, counter, words, doc) DIFFERENCE(counter)
#include "tables/waits.def"
    trace->before = sm->count;
    return all != 0;
}

static struct sample *last_of(struct trace *trace) {
    return trace->sample_count ? &trace->sample[trace->sample_count - 1] : NULL;
}

/* Keep a sample: as part of the last one if that ends with it, else where there is room, which has
 * to be made only then. */
static void keep(const struct sm *sm, struct sample s) {
    struct trace *trace = sm->trace;
    struct sample *last = last_of(trace);
    while ((!last || last->cycle != s.cycle) && trace->sample_count >= most_samples(sm)) {
        double_interval(trace);
        s.interval = trace->interval;
        s.cycle = round_up(s.cycle, s.interval);
        last = last_of(trace);
    }
    if (last && last->cycle == s.cycle) add_sample(last, &s);
    else trace->sample[trace->sample_count++] = s;
}

void trace_sample(struct sm *sm) {
    struct trace *trace = sm->trace;
    struct sample s = {.cycle = trace->next};
    if (measure(sm, &s)) keep(sm, s);
    trace->next = (trace->next / trace->interval + 1) * trace->interval;
}

/* The last interval ends with the grid, and has what an SM did till the end of its window, too. */
void trace_close(struct sm *sm, uint64_t end) {
    struct trace *trace = sm->trace;
    const struct sample *sampled = last_of(trace);
    struct sample s = {.cycle = round_up(end, trace->interval)};
    const bool more = measure(sm, &s);
    if (sampled && sampled->cycle > s.cycle) s.cycle = sampled->cycle;
    if (more) keep(sm, s);
    struct sample *last = last_of(trace);
    for (; trace->sample_count > 1 && last[-1].cycle >= end; trace->sample_count--, last--)
        add_sample(&last[-1], last);
    if (!last || last->cycle < end) return;
    last->cycle = end;
    last->interval = (uint32_t)(end - (end - 1) / trace->interval * trace->interval);
}

/* ---- events ------------------------------------------------------------------------------ */

static uint32_t slot_of(const struct sm *sm, const struct block *b) {
    return (uint32_t)(b - sm->blocks);
}

/* Keep room for a group of events; false: there is none. */
static bool promise(struct sm *sm, uint32_t events) {
    struct trace *trace = sm->trace;
    const uint64_t instructions = sm->count.instructions;
    uint64_t most = TRACE_FLOOR + 3 * instructions / (4 * sizeof(struct traced));
    if (!trace->bounded || most > trace->most) most = trace->most;
    if ((uint64_t)trace->count + trace->promised + events > most) {
        trace->lost += events;
        return false;
    }
    trace->promised += events;
    return true;
}

static void put(struct sm *sm, const struct block *b, enum trace_kind kind, uint32_t warp,
                uint32_t value, uint64_t t) {
    struct trace *trace = sm->trace;
    assert(trace->promised && trace->count < trace->most);
    trace->promised--;
    trace->row[trace->count++] = (struct traced){.cycle_low = (uint32_t)t,
                                                 .cycle_high = (uint16_t)(t >> 32),
                                                 .kind = (uint8_t)kind,
                                                 .warp = (uint8_t)warp,
                                                 .block = b->id,
                                                 .value = value};
}

static bool is_traced(const struct sm *sm, const struct block *b) {
    return sm->trace->blocks >> slot_of(sm, b) & 1;
}

static uint32_t number_of(const struct block *b, uint32_t warp) {
    return bits_count64(b->warp_slots & ((1ull << warp) - 1));
}

void trace_come(struct sm *sm, const struct block *b, uint64_t t) {
    struct trace *trace = sm->trace;
    const uint32_t bit = 1u << slot_of(sm, b), bytes = sm->m->static_smem;
    trace->blocks &= ~bit;
    if (!promise(sm, 4 + sm->m->warps_per_block)) return;
    trace->blocks |= bit;
    put(sm, b, TRACE_COME, 0, smm_rounded(&sm->smm, bytes, false), t);
}

void trace_block(struct sm *sm, const struct block *b, enum trace_kind kind, uint32_t value,
                 uint64_t t) {
    if (!is_traced(sm, b)) return;
    if (kind == TRACE_END) value = smm_rounded(&sm->smm, sm->m->static_smem, false);
    put(sm, b, kind, 0, value, t);
}

void trace_exit(struct sm *sm, const struct block *b, uint32_t warp, uint64_t t) {
    if (is_traced(sm, b)) put(sm, b, TRACE_EXIT, number_of(b, warp), b->warps_live, t);
}

/* The first warp that arrives begins the barrier's group. */
void trace_arrive(struct sm *sm, const struct block *b, uint32_t warp, uint64_t t) {
    struct trace *trace = sm->trace;
    const uint32_t slot = slot_of(sm, b), bit = 1u << slot;
    if (!b->arrived) {
        trace->barriers &= ~bit;
        if (is_traced(sm, b) && promise(sm, b->warps_live + 1)) {
            trace->barriers |= bit;
            trace->owed[slot] = b->warps_live + 1;
        }
    }
    if (!(trace->barriers & bit)) return;
    trace->owed[slot]--;
    put(sm, b, TRACE_ARRIVE, number_of(b, warp), b->barrier_pc, t);
}

/* Warps that have exited meanwhile do not arrive any more. */
void trace_barrier(struct sm *sm, const struct block *b, uint64_t t) {
    struct trace *trace = sm->trace;
    const uint32_t slot = slot_of(sm, b);
    if (!(trace->barriers >> slot & 1)) return;
    trace->barriers &= ~(1u << slot);
    put(sm, b, TRACE_BARRIER, 0, b->barrier, t);
    trace->promised -= trace->owed[slot] - 1;
}

void trace_ask(struct sm *sm, const struct block *b, uint64_t t) {
    const uint32_t bit = 1u << slot_of(sm, b);
    sm->trace->allocations &= ~bit;
    if (!is_traced(sm, b) || !promise(sm, 3)) return;
    sm->trace->allocations |= bit;
    put(sm, b, TRACE_ASK, 0, smm_rounded(&sm->smm, b->dynamic_bytes, true), t);
}

void trace_grant(struct sm *sm, const struct block *b, uint64_t t) {
    if (sm->trace->allocations >> slot_of(sm, b) & 1)
        put(sm, b, TRACE_GRANT, 0, b->dynamic_base, t);
}

void trace_release(struct sm *sm, const struct block *b, uint64_t t) {
    if (sm->trace->allocations >> slot_of(sm, b) & 1)
        put(sm, b, TRACE_RELEASE, 0, smm_rounded(&sm->smm, b->dynamic_bytes, true), t);
}

void trace_tile(struct sm *sm, const struct block *b, enum trace_kind kind, uint64_t t) {
    const uint32_t bytes = b->tile_lines * sm->m->cfg->preload_line, bit = 1u << slot_of(sm, b);
    uint32_t *tiles = &sm->trace->tiles;
    if (kind == TRACE_TILE) *tiles &= ~bit;
    if (kind == TRACE_TILE && is_traced(sm, b) && promise(sm, 2)) *tiles |= bit;
    if (*tiles & bit) put(sm, b, kind, 0, smm_rounded(&sm->smm, bytes, false), t);
}

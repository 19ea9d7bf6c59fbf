#include "chip/collect.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "chip/gpu.h"
#include "chip/whole.h"
#include "memory/dram.h"

static void add_counters(struct counters *into, const struct counters *from) {
#define COUNTER(name, unit, doc) into->name += from->name;
#include "tables/counters.def"
}

/* Leave out what depends on the window in which an SM has faulted, since others have run on to its
 * end: findings later than the fault, and how often the others occurred. */
static uint32_t cut_findings(struct finding *rows, uint32_t count, uint64_t last) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].cycle > last) continue;
        rows[kept] = rows[i];
        rows[kept++].count = 1;
    }
    return kept;
}

static void add_findings(const struct findings *f, struct outcome *out) {
    memcpy(out->findings + out->finding_count, f->row, f->count * sizeof *f->row);
    out->finding_count += f->count;
    out->findings_lost += f->lost;
}

enum error collect_findings(struct gpu *g, struct outcome *out) {
    const uint32_t sms = g->l->cfg->sm_count;
    uint32_t count = 0;
    struct fault fault;
    if (!g->machine.check) return OK;
    for (uint32_t i = 0; i < sms; i++) count += check_findings(g->sms[i].check)->count;
    out->findings = calloc(count + FINDINGS_MAX, sizeof *out->findings);
    if (!out->findings) return ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < sms; i++) add_findings(check_findings(g->sms[i].check), out);
    if (g->observer) {
        observer_turn(g->observer, g->sms);
        observer_follow(g->observer);
        add_findings(observer_findings(g->observer), out);
    }
    if (gpu_first_fault(g, &fault)) {
        out->finding_count = cut_findings(out->findings, out->finding_count, fault.cycle);
        out->findings_lost = 0;
    }
    return OK;
}

enum error collect_printed(const struct gpu *g, struct outcome *out) {
    const uint32_t sms = g->l->cfg->sm_count;
    uint32_t count = 0;
    struct fault fault = {.cycle = NEVER};
    if (!g->program.prints) return OK;
    gpu_first_fault(g, &fault);
    for (uint32_t i = 0; i < sms; i++) count += g->sms[i].prints->count;
    out->printed = calloc(count + 1, sizeof *out->printed);
    if (!out->printed) return ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < sms; i++) {
        const struct prints *p = g->sms[i].prints;
        for (uint32_t row = 0; row < p->count; row++)
            if (p->row[row].cycle <= fault.cycle) out->printed[out->printed_count++] = p->row[row];
        out->printed_lost += fault.cycle == NEVER ? p->lost : 0;
    }
    return OK;
}

enum error collect_accesses(const struct gpu *g, struct outcome *out) {
    const uint32_t sms = g->l->cfg->sm_count;
    uint32_t count = 0;
    if (!g->machine.accesses) return OK;
    for (uint32_t i = 0; i < sms; i++) count += g->sms[i].records->count;
    out->accesses = calloc((size_t)count + 1, sizeof *out->accesses);
    if (!out->accesses) return ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < sms; i++) {
        const struct records *r = g->sms[i].records;
        memcpy(out->accesses + out->access_count, r->row, r->count * sizeof *r->row);
        out->access_count += r->count;
    }
    return OK;
}

/* Put the events and samples of all SMs into one array each. */
static enum error collect_events(const struct gpu *g, struct timeline *to) {
    const uint32_t sms = g->l->cfg->sm_count;
    size_t events = 0, samples = 0;
    assert(sms);
    for (uint32_t i = 0; i < sms; i++) {
        events += g->sms[i].trace->count;
        samples += g->sms[i].trace->sample_count;
    }
    to->counts = calloc(sms, sizeof *to->counts);
    to->events = calloc(events + 1, sizeof *to->events);
    to->samples = calloc(samples + 1, sizeof *to->samples);
    if (!to->counts || !to->events || !to->samples) return ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < sms; i++) {
        const struct trace *t = g->sms[i].trace;
        memcpy(to->events + to->event_count, t->row, t->count * sizeof *t->row);
        memcpy(to->samples + to->sample_count, t->sample, t->sample_count * sizeof *t->sample);
        to->counts[i] = t->count;
        to->event_count += t->count;
        to->sample_count += t->sample_count;
        to->lost += t->lost;
    }
    return OK;
}

/* Put the intervals of all DRAM channels in which something happened into one array. */
static enum error collect_channels(const struct gpu *g, struct timeline *to) {
    const struct config *cfg = g->l->cfg;
    to->channel_words = TIMELINE_CHANNEL + cfg->dram_banks;
    to->channels = calloc((size_t)cfg->partitions * DRAM_SAMPLES + 1,
                          to->channel_words * sizeof *to->channels);
    if (!to->channels) return ERROR_NO_MEMORY;
    for (uint32_t p = 0; p < cfg->partitions; p++) {
        const struct dram *d = g->mem->model->dram(g->mem, p);
        for (uint32_t i = 0; d && i < d->trace->count; i++) {
            const struct dram_sample *s = &d->trace->sample[i];
            uint32_t *row = to->channels + (size_t)to->channel_count * to->channel_words;
            const uint32_t head[TIMELINE_CHANNEL] = {
                p, d->trace->shift, i, s->reads, s->writes, s->hits, s->misses, s->conflicts};
            memcpy(row, head, sizeof head);
            memcpy(row + TIMELINE_CHANNEL, s->banks, cfg->dram_banks * sizeof *row);
            uint32_t all = 0;
            for (uint32_t w = 3; w < to->channel_words; w++) all |= row[w];
            if (all) to->channel_count++;
        }
    }
    return OK;
}

enum error collect_timeline(const struct gpu *g, struct timeline *to) {
    if (!g->machine.trace) return OK;
    const enum error e = collect_events(g, to);
    return e ? e : collect_channels(g, to);
}

void collect_counters(struct gpu *g, struct outcome *out) {
    const uint64_t end = dispatch_end(&g->dispatch, g->sms);
    for (uint32_t i = 0; i < g->l->cfg->sm_count; i++) {
        struct sm *sm = &g->sms[i];
        sm_close(sm, end);
        add_counters(&out->counters, &sm->count);
        for (uint32_t pc = 0; out->pc && pc < g->l->code_count; pc++) {
#define PC_COUNTER(name, unit, doc) out->pc[pc].name += sm->pc_count[pc].name;
#include "tables/pc_counters.def"
        }
    }
    out->counters.cycles = end;
    if (g->machine.preload) {
        out->counters.preload_overflow = g->machine.preload->overflow;
        out->counters.preload_refused = g->machine.preload->refused;
    }
    out->host = g->host;
    g->mem->model->finish(g->mem, &out->counters);
}

/* The time line of a channel: what it does in each of a few intervals, which double in length when
 * the launch outlasts them. */
#include <stdlib.h>
#include <string.h>

#include "memory/dram.h"

enum error dram_trace(struct dram *d) {
    d->trace = calloc(1, sizeof *d->trace);
    if (!d->trace) return ERROR_NO_MEMORY;
    d->trace->shift = 6;
    return OK;
}

/* Double the intervals of a time line. */
static void double_intervals(struct dram_trace *trace) {
    enum { WORDS = sizeof(struct dram_sample) / sizeof(uint32_t) };
    for (uint32_t i = 0; i < DRAM_SAMPLES; i++) {
        const struct dram_sample from = trace->sample[i];
        if (i) trace->sample[i] = (struct dram_sample){.reads = 0};
        uint32_t sum[WORDS], add[WORDS];
        memcpy(sum, &trace->sample[i / 2], sizeof sum);
        memcpy(add, &from, sizeof add);
        for (uint32_t w = 0; w < WORDS; w++) sum[w] = add[w] + (i & 1u ? sum[w] : 0);
        memcpy(&trace->sample[i / 2], sum, sizeof sum);
    }
    trace->count = (trace->count + 1) / 2;
    trace->shift++;
}

struct dram_sample *dram_sample_at(struct dram *d, uint64_t clock) {
    struct dram_trace *trace = d->trace;
    while (clock >> trace->shift >= DRAM_SAMPLES) double_intervals(trace);
    const uint32_t i = (uint32_t)(clock >> trace->shift);
    if (i >= trace->count) trace->count = i + 1;
    return &trace->sample[i];
}

/* A launch: what is asked of the machine, what comes of it, and how it is set up before the first
 * clock. */
#ifndef SMMUX_LAUNCH_H
#define SMMUX_LAUNCH_H

#include "base/counters.h"
#include "chip/watch.h"
#include "sm/check.h"
#include "sm/preload.h"
#include "sm/print.h"
#include "sm/record.h"
#include "sm/sm.h"
#include "sm/trace.h"

/* What is asked of the machine. */
struct launch {
    const struct config *cfg;
    const struct insn *code;
    const struct uniform *uniforms;
    uint32_t code_count, uniform_count;
    struct program_meta meta;
    struct launch_dims dims;
    const uint32_t *blocks; /* NULL, or the numbers of the blocks to run, in order: of a sample */
    uint32_t block_count;
    uint32_t again;   /* 0, or after how many of these the grid is launched again, when all have
                         ended */
    bool values;      /* only these count, and not when: warps run on without a clock */
    uint64_t *starts; /* NULL, or the caller's, per block when it was handed out */
    const uint32_t *params;
    uint32_t param_count;
    struct buffer *buffers; /* next_view is filled in */
    uint32_t buffer_count;
    const uint8_t *constants;
    uint32_t constant_bytes;
    const struct management *management; /* of shared memory */
    struct managers *managers;           /* see struct machine */
    const struct preload_entry *preload; /* the preload table */
    uint32_t preload_count;
    uint32_t extra_blocks; /* n of K + n, under a dynamic management */
    uint32_t max_waiting;  /* see struct machine */
    uint64_t max_cycles;   /* 0: no limit */
    uint32_t window;       /* 0: the machine's own; others give the same bits */
    enum check_mode check;
    uint32_t accesses; /* see record.h; 0: none */
    uint32_t trace;    /* see trace.h; 0: none */
    uint32_t threads;  /* host threads; any number gives the same bits */
    bool (*interrupted)(void *context, struct watch *watch); /* asked now and then */
    void *context;
};

/* How the run was cut up for the host. That changes no result, but depends on host threads and
 * windows. Each pass takes the host threads over SMs, partitions or both, and ends when all have
 * met. */
struct host_work {
    uint64_t windows, passes;
};

/* The recorded time line. The caller frees the arrays. */
struct timeline {
    uint32_t *counts; /* events of each SM */
    struct traced *events;
    struct sample *samples; /* SM by SM, as the events are */
    uint32_t *channels;     /* rows of TIMELINE_CHANNEL words, and a word per bank */
    uint32_t event_count, sample_count, channel_count, channel_words;
    uint64_t lost;
};

/* The words of a row before those of banks: channel, shift, number of the interval, and a
 * struct dram_sample without its banks. */
#define TIMELINE_CHANNEL 8u

/* What comes of it. */
struct outcome {
    struct counters counters;
    uint32_t residency, static_residency; /* blocks per SM allowed, and K */
    uint32_t limiter;                     /* enum limiter */
    struct pc_counters *pc;               /* [code_count] of the caller's, or NULL */
    struct finding *findings;             /* of the checks, SM by SM; the caller frees them */
    uint32_t finding_count;
    uint64_t findings_lost;  /* see findings.h */
    struct printed *printed; /* SM by SM; the caller frees it */
    uint32_t printed_count;
    uint64_t printed_lost;     /* see print.h */
    struct recorded *accesses; /* SM by SM; the caller frees it */
    uint32_t access_count;
    struct timeline timeline;
    struct host_work host;
    struct fault fault;
};

/* Refuse a grid or a block that the machine does not take, whatever the program does. */
enum error launch_check(const struct launch *l, struct fault *fault);
/* Decode the program, join views of one array, allocate local memory and set how many blocks an SM
 * may hold. The caller releases machine and program, whatever the answer. */
enum error launch_prepare(const struct launch *l, struct machine *m, struct program *p,
                          struct outcome *out);
/* Free what launch_prepare has allocated. */
void launch_release(struct machine *m, struct program *p);

#endif

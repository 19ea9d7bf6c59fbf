/* Runs one recorded launch (record.py) on the core alone: what valgrind and perf look at, without
 * an interpreter around it. Prints warp instructions, cycles and seconds of processor time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "chip/gpu.h"
#include "sm/management.h"

/* The head of a record; arrays follow in the order of run(). */
struct head {
    uint32_t code_count, uniform_count, param_count, buffer_count, constant_bytes;
    uint32_t management, extra_blocks;
    struct program_meta meta;
    struct launch_dims dims;
};

/* One device array; its bytes follow. */
struct array {
    uint32_t address, bytes, writable;
};

static void *take(FILE *file, size_t bytes) {
    void *found = malloc(bytes + 1);
    if (!found || fread(found, 1, bytes, file) != bytes) {
        fprintf(stderr, "the record is too short\n");
        exit(2);
    }
    return found;
}

static void take_buffers(FILE *file, struct buffer *buffers, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        struct array *a = take(file, sizeof *a);
        buffers[i] = (struct buffer){.host = take(file, a->bytes),
                                     .address = a->address,
                                     .bytes = a->bytes,
                                     .writable = a->writable != 0};
        free(a);
    }
}

static int run(FILE *file) {
    const struct head *h = take(file, sizeof *h);
    struct launch l = {.cfg = take(file, sizeof *l.cfg),
                       .code = take(file, h->code_count * sizeof *l.code),
                       .uniforms = take(file, h->uniform_count * sizeof *l.uniforms),
                       .params = take(file, h->param_count * sizeof *l.params),
                       .constants = take(file, h->constant_bytes),
                       .buffers = calloc(h->buffer_count + 1, sizeof *l.buffers),
                       .code_count = h->code_count,
                       .uniform_count = h->uniform_count,
                       .param_count = h->param_count,
                       .constant_bytes = h->constant_bytes,
                       .buffer_count = h->buffer_count,
                       .meta = h->meta,
                       .dims = h->dims,
                       .management = managements[h->management],
                       .extra_blocks = h->extra_blocks,
                       .threads = 1};
    struct outcome out = {.fault = {.array = -1}};
    if (!l.buffers) return 2;
    take_buffers(file, l.buffers, h->buffer_count);
    const clock_t start = clock();
    const enum error e = gpu_run(&l, &out);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (e) fprintf(stderr, "error %d: %s\n", (int)e, out.fault.text);
    else
        printf("%" PRIu64 " %" PRIu64 " %.3f\n", out.counters.instructions, out.counters.cycles,
               seconds);
    return e ? 1 : 0; /* the process ends: what was taken is not given back */
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) {
        fprintf(stderr, "usage: replay RECORD\n");
        return 2;
    }
    return run(file);
}

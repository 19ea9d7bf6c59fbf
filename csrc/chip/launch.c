#include "chip/launch.h"

#include <stdio.h>
#include <stdlib.h>

#include "sm/management.h"
#include "sm/occupancy.h"

static enum error refuse(struct fault *f, enum error code, const char *text, uint32_t value) {
    f->code = code;
    snprintf(f->text, sizeof f->text, text, value);
    return code;
}

enum error launch_check(const struct launch *l, struct fault *f) {
    uint64_t blocks = 1, threads = 1;
    for (int d = 0; d < 3; d++) {
        blocks *= l->dims.grid[d];
        threads *= l->dims.block[d];
        if (blocks > UINT32_MAX || threads > UINT32_MAX)
            return refuse(f, ERROR_BAD_LAUNCH, "grid of more than %u blocks", UINT32_MAX);
    }
    if (blocks == 0 || threads == 0)
        return refuse(f, ERROR_BAD_LAUNCH, "the grid or the block has %u threads", 0);
    if (threads > l->cfg->max_threads_block)
        return refuse(f, ERROR_BAD_LAUNCH,
                      "a block of %u threads is larger than the machine allows", (uint32_t)threads);
    if (l->meta.nregs > l->cfg->max_regs_thread)
        return refuse(f, ERROR_BAD_LAUNCH, "%u registers per thread are more than the machine has",
                      l->meta.nregs);
    const uint32_t shared[] = {l->meta.shared_bytes, l->meta.dynamic_bytes,
                               l->meta.static_reserved};
    for (int i = 0; i < 3; i++)
        if (shared[i] > l->cfg->smem_bytes)
            return refuse(f, ERROR_BAD_LAUNCH, "%u bytes of shared memory are more than an SM has",
                          shared[i]);
    return OK;
}

/* Residency from the occupancy rules and the management of shared memory. */
static enum error admit(const struct launch *l, struct machine *m, struct outcome *out) {
    const struct config *cfg = l->cfg;
    const struct program_meta *meta = &l->meta;
    const uint32_t threads = l->dims.block[0] * l->dims.block[1] * l->dims.block[2];
    const uint32_t fixed = meta->shared_bytes + meta->static_reserved;
    struct occupancy o;
    m->management = l->management;
    m->managers = l->managers;
    m->dynamic = l->management->dynamic && meta->dynamic_bytes;
    if (m->dynamic) {
        o = residency_compute(cfg, threads, meta->nregs, fixed, meta->dynamic_bytes,
                              l->extra_blocks, &out->static_residency);
        m->static_smem = fixed;
    } else {
        o = occupancy_compute(cfg, threads, meta->nregs, fixed + meta->dynamic_bytes);
        out->static_residency = o.blocks;
        m->static_smem = fixed + meta->dynamic_bytes;
    }
    out->residency = o.blocks;
    out->limiter = o.limiter;
    if (o.blocks) return OK;
    snprintf(out->fault.text, sizeof out->fault.text, "no block fits: limited by %s",
             limiter_name(o.limiter));
    return out->fault.code = ERROR_BAD_LAUNCH;
}

/* Views of one array: same distance between host and device address. */
static bool same_memory(const struct buffer *a, const struct buffer *b) {
    return (uintptr_t)a->host - a->address == (uintptr_t)b->host - b->address;
}

/* Bytes of the host under two device addresses: two partitions might write them at once. */
static bool torn(const struct buffer *a, const struct buffer *b) {
    const uintptr_t at_a = (uintptr_t)a->host, at_b = (uintptr_t)b->host;
    return (a->writable || b->writable) && !same_memory(a, b) && at_a < at_b + b->bytes &&
           at_b < at_a + a->bytes;
}

/* Each view is put into the ring of the first one of its memory. */
static enum error join_views(struct buffer *buffers, uint32_t count, struct fault *f) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = i;
        for (uint32_t other = i; other-- > 0;) {
            if (same_memory(&buffers[other], &buffers[i])) first = other;
            if (torn(&buffers[other], &buffers[i]))
                return refuse(f, ERROR_BAD_LAUNCH,
                              "array %u has memory of another at other addresses", i);
        }
        buffers[i].next_view = first == i ? &buffers[i] : buffers[first].next_view;
        buffers[first].next_view = &buffers[i];
    }
    return OK;
}

/* A texture is read when the instruction issues, whatever the partitions do then. */
static enum error check_textures(const struct machine *m, struct fault *f) {
    for (uint32_t pc = 0; pc < m->program->count; pc++) {
        if (m->program->code[pc].op != OP_TEX) continue;
        const uint32_t array = (uint32_t)m->program->code[pc].aux;
        const struct buffer *texture = &m->buffers[array], *view = texture;
        do {
            if (view->writable)
                return refuse(f, ERROR_BAD_PROGRAM, "texture %u lies in memory that may be written",
                              array);
        } while ((view = view->next_view) != texture);
    }
    return OK;
}

static enum error create_local(const struct launch *l, struct machine *m, struct fault *f) {
    const uint32_t bytes = l->meta.local_bytes;
    if (!bytes) return OK;
    const uint64_t total = (uint64_t)bytes * 32 * l->cfg->max_warps_sm * l->cfg->sm_count;
    if (total > 0x3fffff00u) return refuse(f, ERROR_NO_MEMORY, "%u bytes of local memory", bytes);
    m->local = calloc(1, total);
    m->local_buffer = (struct buffer){.host = m->local,
                                      .address = LOCAL_BASE,
                                      .bytes = (uint32_t)total,
                                      .writable = true,
                                      .next_view = &m->local_buffer};
    return m->local ? OK : ERROR_NO_MEMORY;
}

enum error launch_prepare(const struct launch *l, struct machine *m, struct program *p,
                          struct outcome *out) {
    const uint32_t threads = l->dims.block[0] * l->dims.block[1] * l->dims.block[2];
    enum error e = program_decode(p, l->code, l->code_count, l->uniforms, l->uniform_count,
                                  &l->meta, l->cfg, &l->dims, l->params, l->param_count,
                                  l->constants, l->constant_bytes, l->buffer_count, &out->fault);
    if (e) return e;
    *m = (struct machine){.cfg = l->cfg,
                          .program = p,
                          .dims = l->dims,
                          .buffers = l->buffers,
                          .buffer_count = l->buffer_count,
                          .max_waiting = l->max_waiting,
                          .warps_per_block = (threads + 31) / 32,
                          .per_pc = out->pc != NULL,
                          .check = l->check};
    if ((e = join_views(l->buffers, l->buffer_count, &out->fault))) return e;
    if ((e = check_textures(m, &out->fault))) return e;
    if ((e = admit(l, m, out))) return e;
    return create_local(l, m, &out->fault);
}

void launch_release(struct machine *m, struct program *p) {
    free(m->local);
    program_free(p);
}

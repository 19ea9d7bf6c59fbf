#include "chip/launch.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sm/management.h"
#include "sm/occupancy.h"

_Static_assert(MAX_LINE >= MOST_l1_line && MAX_LINE >= MOST_tex_line && MAX_LINE >= MOST_l2_line &&
                   MAX_LINE >= MOST_preload_line,
               "arrays of a launcher share no line");

static enum error refuse(struct fault *f, enum error code, const char *form, ...) {
    va_list values;
    va_start(values, form);
    vsnprintf(f->text, sizeof f->text, form, values);
    va_end(values);
    return f->code = code;
}

/* How many blocks a grid has, or threads a block; more than 32 bits hold: UINT32_MAX + 1. */
static uint64_t size_of(const uint32_t dims[3]) {
    uint64_t size = 1;
    for (int d = 0; d < 3; d++) {
        size *= dims[d];
        if (size > UINT32_MAX) size = (uint64_t)UINT32_MAX + 1;
    }
    return dims[0] && dims[1] && dims[2] ? size : 0;
}

/* The threads of a block that check_size has let pass. */
static uint32_t threads_of(const struct launch *l) {
    return l->dims.block[0] * l->dims.block[1] * l->dims.block[2];
}

static enum error check_size(const struct launch *l, struct fault *f) {
    const uint64_t blocks = size_of(l->dims.grid), threads = size_of(l->dims.block);
    const uint32_t most = l->cfg->max_threads_block;
    if (!blocks) return refuse(f, ERROR_BAD_LAUNCH, "the grid has no blocks");
    if (!threads) return refuse(f, ERROR_BAD_LAUNCH, "the block has no threads");
    if (blocks > UINT32_MAX)
        return refuse(f, ERROR_BAD_LAUNCH, "the grid has 2**32 blocks or more");
    if (threads > UINT32_MAX)
        return refuse(f, ERROR_BAD_LAUNCH, "the block has 2**32 threads or more");
    if (threads > most)
        return refuse(f, ERROR_BAD_LAUNCH, "the block has %u threads, max_threads_block is %u",
                      (uint32_t)threads, most);
    return OK;
}

static enum error check_shared(const struct launch *l, struct fault *f, const char *what,
                               uint32_t bytes) {
    if (bytes <= l->cfg->smem_bytes) return OK;
    return refuse(f, ERROR_BAD_LAUNCH, "%u bytes %s are more than the %u of an SM", bytes, what,
                  l->cfg->smem_bytes);
}

/* The blocks of a sample are some of the grid's; no check or table looks at such a launch. */
static enum error check_sample(const struct launch *l, struct fault *f) {
    const uint64_t blocks = size_of(l->dims.grid);
    if (!l->blocks) return OK;
    if (!l->block_count || l->block_count > blocks * (l->again ? 2 : 1) || l->again > blocks)
        return refuse(f, ERROR_BAD_LAUNCH, "a sample of %u blocks of %llu", l->block_count,
                      (unsigned long long)blocks);
    if (l->check || l->preload || l->trace)
        return refuse(f, ERROR_BAD_LAUNCH, "a sample is not checked, preloaded or traced");
    for (uint32_t i = 0; i < l->block_count; i++)
        if (l->blocks[i] >= blocks)
            return refuse(f, ERROR_BAD_LAUNCH, "block %u of %llu", l->blocks[i],
                          (unsigned long long)blocks);
    return OK;
}

enum error launch_check(const struct launch *l, struct fault *f) {
    const struct program_meta *meta = &l->meta;
    enum error e = check_size(l, f);
    if (!e) e = check_sample(l, f);
    if (!e && meta->nregs > l->cfg->max_regs_thread)
        e = refuse(f, ERROR_BAD_LAUNCH, "%u registers per thread, max_regs_thread is %u",
                   meta->nregs, l->cfg->max_regs_thread);
    if (!e) e = check_shared(l, f, "of shared arrays", meta->shared_bytes);
    if (!e) e = check_shared(l, f, "of dynamically managed shared arrays", meta->dynamic_bytes);
    if (!e) e = check_shared(l, f, "of reserved shared memory", meta->static_reserved);
    return e;
}

/* Refuse a grid whose blocks wait for each other, but cannot all be resident. */
static enum error check_resident(const struct launch *l, const struct program *p, uint32_t each,
                                 struct fault *f) {
    const uint64_t blocks = size_of(l->dims.grid), most = (uint64_t)each * l->cfg->sm_count;
    if (!p->syncs_grid || blocks <= most) return OK;
    return refuse(f, ERROR_BAD_LAUNCH,
                  "the blocks of a grid that synchronises must all be resident: %llu are launched, "
                  "and %llu can be, %u on each of %u SMs",
                  (unsigned long long)blocks, (unsigned long long)most, each, l->cfg->sm_count);
}

/* Set how many blocks an SM may hold, from the occupancy rules and the management of shared memory.
 */
static enum error admit(const struct launch *l, struct machine *m, struct outcome *out) {
    const struct config *cfg = l->cfg;
    const struct program_meta *meta = &l->meta;
    const uint32_t threads = threads_of(l);
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
    if (o.blocks) return check_resident(l, m->program, o.blocks, &out->fault);
    snprintf(out->fault.text, sizeof out->fault.text, "no block fits: limited by %s",
             limiter_name(o.limiter));
    return out->fault.code = ERROR_BAD_LAUNCH;
}

/* Does the host keep both in one place? Then host and device addresses are as far apart in both. */
static bool same_memory(const struct buffer *a, const struct buffer *b) {
    return (uintptr_t)a->host - a->address == (uintptr_t)b->host - b->address;
}

/* Do bytes of the host lie under two device addresses? Two partitions might write them at once. */
static bool torn(const struct buffer *a, const struct buffer *b) {
    const uintptr_t at_a = (uintptr_t)a->host, at_b = (uintptr_t)b->host;
    return (a->writable || b->writable) && !same_memory(a, b) && at_a < at_b + b->bytes &&
           at_b < at_a + a->bytes;
}

/* Are the two one memory, and do some cache lines hold bytes of both? That they are as far apart on
 * the host as on the device may be chance, so their device addresses must lie in common lines. */
static bool share_lines(const struct buffer *a, const struct buffer *b) {
    const uint64_t first_a = a->address / MAX_LINE, first_b = b->address / MAX_LINE;
    const uint64_t end_a = ((uint64_t)a->address + a->bytes + MAX_LINE - 1) / MAX_LINE,
                   end_b = ((uint64_t)b->address + b->bytes + MAX_LINE - 1) / MAX_LINE;
    return same_memory(a, b) && first_a < end_b && first_b < end_a;
}

/* Make one ring of the rings of both views. */
static void join_rings(struct buffer *a, struct buffer *b) {
    struct buffer *next = a->next_view;
    for (struct buffer *view = b; view->ring != a->ring; view = view->next_view)
        view->ring = a->ring;
    a->next_view = b->next_view;
    b->next_view = next;
}

/* Link views that share lines into rings, over which writes to one find the others. */
static enum error join_views(struct buffer *buffers, uint32_t count, struct fault *f) {
    for (uint32_t i = 0; i < count; i++) {
        struct buffer *view = &buffers[i];
        view->next_view = view;
        view->ring = i;
        for (struct buffer *other = buffers; other < view; other++) {
            if (torn(other, view))
                return refuse(f, ERROR_BAD_LAUNCH,
                              "array %u has memory of another at other addresses", i);
            if (other->ring != view->ring && share_lines(other, view)) join_rings(other, view);
        }
    }
    return OK;
}

/* Refuse textures that may be written: one is read when the instruction issues, whatever the
 * partitions do then. */
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

/* Give all warp slots of the machine their local memory, below one device address. Where that is
 * too much, those that the launch can fill, which are the lowest ones of an SM, must do. */
static enum error create_local(const struct launch *l, struct machine *m, struct outcome *out) {
    const uint32_t bytes = l->meta.local_bytes;
    if (!bytes) return OK;
    const uint64_t each = (uint64_t)bytes * 32 * l->cfg->sm_count, most = 0x3fffff00u / each,
                   blocks = size_of(l->dims.grid);
    m->local_slots = l->cfg->max_warps_sm;
    if (m->local_slots > most)
        m->local_slots =
            (uint32_t)(blocks < out->residency ? blocks : out->residency) * m->warps_per_block;
    if (m->local_slots > most)
        return refuse(&out->fault, ERROR_BAD_LAUNCH,
                      "%u bytes of local memory per thread are too many for %u warps on each of "
                      "%u SMs: all together may have 1 GB",
                      bytes, m->local_slots, l->cfg->sm_count);
    assert(m->local_slots); /* there are blocks, and each SM holds some */
    m->local = calloc(m->local_slots, each);
    m->local_buffer = (struct buffer){.host = m->local,
                                      .address = LOCAL_BASE,
                                      .bytes = (uint32_t)(m->local_slots * each),
                                      .writable = true,
                                      .next_view = &m->local_buffer};
    return m->local ? OK : ERROR_NO_MEMORY;
}

/* Tiles lie above the static parts of all blocks that may reside. */
static enum error create_preload(const struct launch *l, struct machine *m, struct outcome *out) {
    const bool early = l->management->dynamic && l->cfg->preload_early;
    enum error e = preload_create(&m->preload, m, l->preload, l->preload_count, early, &out->fault);
    m->flights = l->cfg->credits + port_extra(l->cfg);
    if (e || !m->preload) return e;
    const uint64_t unit = l->cfg->smm_unit, each = (m->static_smem + unit - 1) / unit * unit,
                   all = out->residency * each;
    m->preload->floor = all < l->cfg->smem_bytes ? (uint32_t)all : l->cfg->smem_bytes;
    m->flights += preload_tags(l->cfg);
    return OK;
}

enum error launch_prepare(const struct launch *l, struct machine *m, struct program *p,
                          struct outcome *out) {
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
                          .warps_per_block = (threads_of(l) + 31) / 32,
                          .values = l->values && !p->sass, /* compiled code has ways of its own */
                          .per_pc = out->pc != NULL,
                          .check = l->check,
                          .accesses = l->accesses,
                          .trace = l->trace};
    if ((e = join_views(l->buffers, l->buffer_count, &out->fault))) return e;
    if (p->points && (e = buffers_init(&m->all, m->buffers, m->buffer_count))) return e;
    m->mixed.all = &m->all;
    if ((e = check_textures(m, &out->fault))) return e;
    if ((e = admit(l, m, out))) return e;
    if ((e = create_preload(l, m, out))) return e;
    return create_local(l, m, out);
}

void launch_release(struct machine *m, struct program *p) {
    free(m->local);
    buffers_free(&m->all);
    preload_destroy(m->preload);
    program_free(p);
}

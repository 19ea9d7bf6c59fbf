/* launch(): everything a run needs in, its outcome out. */
#include "python/bind.h"

#include <stdlib.h>
#include <string.h>

#include "chip/gpu.h"
#include "sm/management.h"
#include "sm/occupancy.h"

/* Everything a launch borrows from Python, to be given back whatever happens. */
struct borrowed {
    struct launch launch;
    struct config cfg;
    void *code, *uniforms; /* own copies: aligned, and nobody else writes them */
    Py_buffer constants;
    Py_buffer *views;
    Py_ssize_t view_count;
    struct buffer *buffers;
    uint32_t *params;
    void *preload;             /* a copy, as of the code */
    void *blocks;              /* likewise */
    struct managers *managers; /* NULL: the management is one of the core's */
};

static void give_back(struct borrowed *b) {
    PyMem_Free(b->code);
    PyMem_Free(b->uniforms);
    if (b->constants.obj) PyBuffer_Release(&b->constants);
    for (Py_ssize_t i = 0; i < b->view_count; i++) PyBuffer_Release(&b->views[i]);
    PyMem_Free(b->views);
    PyMem_Free(b->buffers);
    PyMem_Free(b->params);
    PyMem_Free(b->preload);
    PyMem_Free(b->blocks);
    PyMem_Free(b->launch.starts);
    bind_free_managers(b->managers);
}

/* A copy of the records that the object holds; -1 with an exception. */
static int copy_records(PyObject *object, size_t size, void **out, uint32_t *count,
                        const char *what) {
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0) return -1;
    int status = -1;
    if ((size_t)view.len % size || (size_t)view.len / size > UINT32_MAX)
        PyErr_Format(PyExc_ValueError, "%s: %zd bytes are no records of %zu", what, view.len, size);
    else if (!(*out = PyMem_Malloc((size_t)view.len + 1))) PyErr_NoMemory();
    else status = 0;
    if (status == 0) {
        memcpy(*out, view.buf, (size_t)view.len);
        *count = (uint32_t)((size_t)view.len / size);
    }
    PyBuffer_Release(&view);
    return status;
}

static int borrow_program(struct borrowed *b, PyObject *code, PyObject *uniforms, PyObject *data) {
    struct launch *l = &b->launch;
    if (copy_records(code, sizeof(struct insn), &b->code, &l->code_count, "code") < 0 ||
        copy_records(uniforms, sizeof(struct uniform), &b->uniforms, &l->uniform_count,
                     "uniforms") < 0 ||
        PyObject_GetBuffer(data, &b->constants, PyBUF_SIMPLE) < 0)
        return -1;
    l->code = b->code;
    l->uniforms = b->uniforms;
    l->constants = b->constants.buf;
    l->constant_bytes = (uint32_t)b->constants.len;
    if (b->constants.len <= (Py_ssize_t)UINT32_MAX) return 0;
    PyErr_SetString(PyExc_ValueError, "const: larger than 4 GiB");
    return -1;
}

/* (object, device address, bytes, writable): the object's buffer may be larger than the array. */
static int borrow_buffer(struct borrowed *b, PyObject *item, Py_ssize_t i) {
    PyObject *object;
    uint32_t address, bytes;
    int writable;
    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "buffers: a tuple (object, address, bytes, writable)");
        return -1;
    }
    if (!PyArg_ParseTuple(item, "OO&O&p", &object, bind_uint32, &address, bind_uint32, &bytes,
                          &writable))
        return -1;
    if (PyObject_GetBuffer(object, &b->views[i], writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) < 0)
        return -1;
    b->view_count++;
    if (address > LOCAL_BASE || bytes > LOCAL_BASE - address ||
        (Py_ssize_t)bytes > b->views[i].len) {
        PyErr_SetString(PyExc_ValueError, "buffers: address or size out of range");
        return -1;
    }
    b->buffers[i] = (struct buffer){
        .host = b->views[i].buf, .address = address, .bytes = bytes, .writable = writable};
    return 0;
}

/* How many arguments a list has, or -1; kernels have at most 4 kB of parameters [PG55]. */
static Py_ssize_t argument_count(PyObject *list, const char *what) {
    Py_ssize_t n = PySequence_Size(list);
    if (n <= 4096) return n;
    PyErr_Format(PyExc_ValueError, "%s: %zd are more than a kernel can have", what, n);
    return -1;
}

static int borrow_buffers(struct borrowed *b, PyObject *list) {
    Py_ssize_t n = argument_count(list, "buffers");
    if (n < 0) return -1;
    b->views = PyMem_Calloc((size_t)n + 1, sizeof *b->views);
    b->buffers = PyMem_Calloc((size_t)n + 1, sizeof *b->buffers);
    if (!b->views || !b->buffers) return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        int status = item ? borrow_buffer(b, item, i) : -1;
        Py_XDECREF(item);
        if (status < 0) return -1;
    }
    b->launch.buffers = b->buffers;
    b->launch.buffer_count = (uint32_t)n;
    return 0;
}

static int borrow_params(struct borrowed *b, PyObject *list) {
    Py_ssize_t n = argument_count(list, "params");
    if (n < 0) return -1;
    b->params = PyMem_Calloc((size_t)n + 1, sizeof *b->params);
    if (!b->params) return PyErr_NoMemory(), -1;
    b->launch.params = b->params;
    b->launch.param_count = (uint32_t)n;
    return bind_words(list, b->params, n, "params");
}

struct number {
    const char *key;
    bool wide; /* uint64_t, else uint32_t */
    void *out;
};

static int read_numbers(PyObject *dict, const struct number *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        PyObject *item = PyMapping_GetItemString(dict, numbers[i].key);
        int good = item && (numbers[i].wide ? bind_uint64 : bind_uint32)(item, numbers[i].out);
        Py_XDECREF(item);
        if (!good) return -1;
    }
    return 0;
}

static int read_meta(struct program_meta *meta, PyObject *dict) {
    const struct number numbers[] = {
        {"nregs", false, &meta->nregs},
        {"npreds", false, &meta->npreds},
        {"uniform_regs", false, &meta->uniform_regs},
        {"shared_bytes", false, &meta->shared_bytes},
        {"dynamic_bytes", false, &meta->dynamic_bytes},
        {"local_bytes", false, &meta->local_bytes},
        {"static_reserved", false, &meta->static_reserved},
        {"smem_size", false, &meta->smem_size},
        {"launched_bytes", false, &meta->launched_bytes},
    };
    return read_numbers(dict, numbers, sizeof numbers / sizeof *numbers);
}

static int read_options(struct launch *l, PyObject *dict, uint32_t *per_pc) {
    uint32_t management = 0, check = 0;
    const struct number numbers[] = {
        {"management", false, &management},
        {"extra_blocks", false, &l->extra_blocks},
        {"max_waiting", false, &l->max_waiting},
        {"max_cycles", true, &l->max_cycles},
        {"window", false, &l->window},
        {"threads", false, &l->threads},
        {"per_pc", false, per_pc},
        {"check", false, &check},
        {"accesses", false, &l->accesses},
        {"trace", false, &l->trace},
    };
    if (read_numbers(dict, numbers, sizeof numbers / sizeof *numbers) < 0) return -1;
    if (l->threads > 64 || check >= CHECK_MODE_COUNT || management >= MANAGEMENT_COUNT ||
        l->accesses > RECORDS_MOST || l->trace > TRACE_MOST) {
        PyErr_SetString(PyExc_ValueError,
                        "threads: at most 64 host threads; check: 0, 1 or 2; "
                        "management: the number of one; accesses, trace: at most 2**20");
        return -1;
    }
    l->management = managements[management];
    l->check = (enum check_mode)check;
    l->values = PyDict_GetItemString(dict, "values") == Py_True;
    PyObject *again = PyDict_GetItemString(dict, "again");
    if (again && !bind_uint32(again, &l->again)) return -1;
    return 0;
}

static int borrow_managers(struct borrowed *b, PyObject *managers) {
    if (!managers || managers == Py_None) return 0;
    b->managers = bind_managers(managers, &b->launch);
    return b->managers ? 0 : -1;
}

static int borrow_preload(struct borrowed *b, PyObject *table) {
    if (!table || table == Py_None) return 0;
    const int status = copy_records(table, sizeof(struct preload_entry), &b->preload,
                                    &b->launch.preload_count, "preload");
    b->launch.preload = b->preload;
    return status;
}

/* Which blocks to run; the core notes when each was handed out. */
static int borrow_blocks(struct borrowed *b, PyObject *blocks) {
    struct launch *l = &b->launch;
    if (!blocks || blocks == Py_None) return 0;
    if (copy_records(blocks, sizeof(uint32_t), &b->blocks, &l->block_count, "blocks") < 0)
        return -1;
    l->blocks = b->blocks;
    l->starts = PyMem_Calloc((size_t)l->block_count + 1, sizeof *l->starts);
    return l->starts ? 0 : (PyErr_NoMemory(), -1);
}

/* Arrays of a time line as bytes; None: there is none. */
static PyObject *timeline_dict(const struct timeline *t, uint32_t sms) {
    if (!t->counts) Py_RETURN_NONE;
    return Py_BuildValue(
        "{s:y#,s:y#,s:y#,s:y#,s:I,s:K}", "counts", (const void *)t->counts,
        (Py_ssize_t)(sms * sizeof *t->counts), "events", (const void *)t->events,
        (Py_ssize_t)(t->event_count * sizeof *t->events), "samples", (const void *)t->samples,
        (Py_ssize_t)(t->sample_count * sizeof *t->samples), "channels", (const void *)t->channels,
        (Py_ssize_t)((size_t)t->channel_count * t->channel_words * sizeof *t->channels),
        "channel_words", t->channel_words, "lost", (unsigned long long)t->lost);
}

static PyObject *outcome_dict(const struct outcome *out, const struct launch *l, const void *pc,
                              Py_ssize_t pc_bytes) {
    PyObject *counters = bind_counters(&out->counters);
    PyObject *timeline = counters ? timeline_dict(&out->timeline, l->cfg->sm_count) : NULL;
    if (!timeline) {
        Py_XDECREF(counters);
        return NULL;
    }
    return Py_BuildValue("{s:N,s:I,s:I,s:s,s:y#,s:y#,s:K,s:y#,s:K,s:y#,s:N,s:y#,s:{s:K,s:K}}",
                         "counters", counters, "residency", out->residency, "static_residency",
                         out->static_residency, "limiter", limiter_name(out->limiter), "per_pc", pc,
                         pc_bytes, "findings", out->findings ? (const void *)out->findings : "",
                         (Py_ssize_t)(out->finding_count * sizeof *out->findings), "findings_lost",
                         (unsigned long long)out->findings_lost, "printed",
                         out->printed ? (const void *)out->printed : "",
                         (Py_ssize_t)(out->printed_count * sizeof *out->printed), "printed_lost",
                         (unsigned long long)out->printed_lost, "accesses",
                         out->accesses ? (const void *)out->accesses : "",
                         (Py_ssize_t)(out->access_count * sizeof *out->accesses), "trace", timeline,
                         "starts", l->starts ? (const void *)l->starts : "",
                         (Py_ssize_t)(l->block_count * sizeof *l->starts), "host", "windows",
                         (unsigned long long)out->host.windows, "passes",
                         (unsigned long long)out->host.passes);
}

static PyObject *run_borrowed(struct borrowed *b, PyObject *poll, bool per_pc) {
    struct bind_pause pause;
    struct outcome out = {.fault = {.array = -1}};
    enum error e;
    if (per_pc) {
        out.pc = calloc(b->launch.code_count + 1, sizeof *out.pc);
        if (!out.pc) return PyErr_NoMemory();
    }
    b->launch.interrupted = bind_watched;
    b->launch.context = &pause;
    if (b->managers) bind_managers_begin(b->managers, &pause);
    bind_pause(&pause, poll);
    e = gpu_run(&b->launch, &out);
    bind_resume(&pause);
    PyObject *result =
        e && b->managers ? bind_raise_managed(b->managers, &out)
        : e              ? bind_raise_outcome(&out)
                         : outcome_dict(&out, &b->launch, out.pc ? (void *)out.pc : "",
                           out.pc ? (Py_ssize_t)(b->launch.code_count * sizeof *out.pc) : 0);
    free(out.pc);
    free(out.findings);
    free(out.printed);
    free(out.accesses);
    free(out.timeline.counts);
    free(out.timeline.events);
    free(out.timeline.samples);
    free(out.timeline.channels);
    return result;
}

const char bind_launch_doc[] = PyDoc_STR(
    "launch($module, code, uniforms, meta, config, grid, block, params, "
    "buffers, const, options, poll=None, managers=None, preload=None, blocks=None)\n--\n\n"
    "Run one grid to its end; poll(cycle, blocks ended, blocks, places or None) is called "
    "now and then and ends the run by raising; places says where the warps are if they spin; "
    "managers, one per SM, manage its shared memory in place of the management that options name; "
    "preload is the preload table, nine 64-bit integers an entry: array, first byte, last byte, "
    "the "
    "latter each as coefficients of blockIdx.x, y and z and a constant; "
    "blocks: numbers of 32 bits, the only blocks to run, in their order. "
    "Returns counters (dict), residency, "
    "static_residency, limiter, per_pc, findings, printed and accesses (bytes), trace (a dict of "
    "bytes, or None), starts (bytes: of each of `blocks` the cycle from which it may run); and "
    "host, windows "
    "and passes "
    "of the simulation itself, which are no result.");

PyObject *bind_launch(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs) {
    static char *names[] = {"code",  "uniforms", "meta",    "config", "grid",
                            "block", "params",   "buffers", "const",  "options",
                            "poll",  "managers", "preload", "blocks", NULL};
    PyObject *code, *uniforms, *meta, *config, *grid, *block, *params, *buffers, *constants;
    PyObject *options, *poll = NULL, *managers = NULL, *preload = NULL, *blocks = NULL,
                       *result = NULL;
    struct borrowed b = {.launch = {.cfg = NULL}};
    struct launch *l = &b.launch;
    uint32_t per_pc = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO!OOOOOOO!|OOOO:launch", names, &code,
                                     &uniforms, &PyDict_Type, &meta, &config, &grid, &block,
                                     &params, &buffers, &constants, &PyDict_Type, &options, &poll,
                                     &managers, &preload, &blocks))
        return NULL;
    l->cfg = &b.cfg;
    if (borrow_program(&b, code, uniforms, constants) == 0 && bind_config(config, &b.cfg) == 0 &&
        bind_words(grid, l->dims.grid, 3, "grid") == 0 &&
        bind_words(block, l->dims.block, 3, "block") == 0 && read_meta(&l->meta, meta) == 0 &&
        borrow_params(&b, params) == 0 && borrow_buffers(&b, buffers) == 0 &&
        read_options(l, options, &per_pc) == 0 && borrow_managers(&b, managers) == 0 &&
        borrow_preload(&b, preload) == 0 && borrow_blocks(&b, blocks) == 0)
        result = run_borrowed(&b, poll, per_pc != 0);
    give_back(&b);
    return result;
}

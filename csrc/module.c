/* The CPython binding, and nothing else: arguments in, error codes to exceptions, tables out. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>
#include <string.h>

#include "addrmap.h"
#include "coalesce.h"
#include "config.h"
#include "counters.h"
#include "errors.h"
#include "gpu.h"
#include "models_mem.h"
#include "occupancy.h"
#include "program.h"
#include "smem.h"
#include "smm.h"

struct module_state {
    PyObject *from_fault; /* smmux.errors.from_fault, imported when first needed */
    PyObject *smm_type;
};

static struct module_state *state_of(PyObject *module) {
    return (struct module_state *)PyModule_GetState(module);
}

/* ---- tables ---------------------------------------------------------------------------- */

struct op_row {
    const char *name, *unit, *cls, *operands;
};

static const struct op_row op_rows[] = {
#define OP(id, name, unit, cls, operands) {name, #unit, #cls, operands},
#include "ops.def"
};

static int add_steal(PyObject *module, const char *name, PyObject *value) {
    int status = value ? PyModule_AddObjectRef(module, name, value) : -1;
    Py_XDECREF(value);
    return status;
}

static int append_steal(PyObject *list, PyObject *item) {
    int status = item ? PyList_Append(list, item) : -1;
    Py_XDECREF(item);
    return status;
}

static int set_steal(PyObject *dict, const char *key, PyObject *item) {
    int status = item ? PyDict_SetItemString(dict, key, item) : -1;
    Py_XDECREF(item);
    return status;
}

static PyObject *ops_table(void) {
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < (int)OP_COUNT; i++) {
        const struct op_row *row = &op_rows[i];
        PyObject *item = Py_BuildValue("(isss)", i, row->unit, row->cls, row->operands);
        if (set_steal(dict, row->name, item) < 0) Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *classes_table(void) {
    PyObject *dict = PyDict_New();
#define CLASS(id, name, doc)                                                                       \
    if (dict && set_steal(dict, #name, Py_BuildValue("(is)", (int)CLASS_##id, doc)) < 0)           \
        Py_CLEAR(dict);
#include "classes.def"
    return dict;
}

static PyObject *config_table(void) {
    PyObject *list = PyList_New(0);
#define ROW(name, unit, min, max, doc)                                                             \
    if (list && append_steal(list, Py_BuildValue("(sskks)", name, unit, (unsigned long)min,        \
                                                 (unsigned long)max, doc)) < 0)                    \
        Py_CLEAR(list);
#define PARAM(name, unit, min, max, doc) ROW(#name, unit, min, max, doc)
#include "config.def"
#define CLASS(id, name, doc) ROW("lat_" #name, "clk", 1, 60000, "latency: " doc)
#include "classes.def"
#define CLASS(id, name, doc) ROW("issue_" #name, "clk", 1, 60000, "issue interval: " doc)
#include "classes.def"
#undef ROW
    return list;
}

static PyObject *counters_table(void) {
    PyObject *list = PyList_New(0);
#define COUNTER(name, unit, doc)                                                                   \
    if (list && append_steal(list, Py_BuildValue("(sss)", #name, unit, doc)) < 0) Py_CLEAR(list);
#include "counters.def"
    return list;
}

static PyObject *errors_table(void) {
    PyObject *list = PyList_New(0);
#define ERROR(id, exception, text)                                                                 \
    if (list && append_steal(list, Py_BuildValue("(sss)", #id, #exception, text)) < 0)             \
        Py_CLEAR(list);
#include "errors.def"
    return list;
}

static PyObject *names_table(const char *const *names, int count) {
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < count; i++)
        if (set_steal(dict, names[i], PyLong_FromLong(i)) < 0) Py_CLEAR(dict);
    return dict;
}

static const char *const atom_names[] = {
    "ADD",     "ADD_F32", "SUB", "MIN_S32", "MIN_U32", "MAX_S32", "MAX_U32", "MIN_F32",
    "MAX_F32", "AND",     "OR",  "XOR",     "EXCH",    "CAS",     "INC",     "DEC"};
static const char *const special_names[] = {"tid.x",   "tid.y",   "tid.z", "ctaid.x",
                                            "ctaid.y", "ctaid.z", "laneid"};
static const char *const uniform_names[] = {"imm", "param", "ntid", "nctaid", "const"};

/* ---- errors ------------------------------------------------------------------------------ */

static const char *const error_names[ERROR_COUNT] = {
    "OK",
#define ERROR(id, exception, text) #id,
#include "errors.def"
};

/* The one place where error codes become exceptions: smmux.errors.from_fault(name, details). */
static PyObject *raise_fault(PyObject *module, const struct fault *f) {
    struct module_state *state = state_of(module);
    if (f->code == ERROR_NO_MEMORY) return PyErr_NoMemory();
    if (f->code == ERROR_INTERRUPTED && PyErr_Occurred()) return NULL;
    if (!state->from_fault) {
        PyObject *errors = PyImport_ImportModule("smmux.errors");
        if (!errors) return NULL;
        state->from_fault = PyObject_GetAttrString(errors, "from_fault");
        Py_DECREF(errors);
        if (!state->from_fault) return NULL;
    }
    PyObject *exception = PyObject_CallFunction(
        state->from_fault, "s{s:I,s:I,s:I,s:I,s:I,s:(III),s:(III),s:i,s:L,s:K,s:s}",
        error_names[f->code], "pc", f->pc, "line", f->line, "sm", f->sm, "warp", f->warp, "lane",
        f->lane, "block", f->block[0], f->block[1], f->block[2], "thread", f->thread[0],
        f->thread[1], f->thread[2], "array", f->array, "address", (long long)f->address, "cycle",
        (unsigned long long)f->cycle, "text", f->text);
    if (exception) {
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        Py_DECREF(exception);
    }
    return NULL;
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* A sequence of unsigned 32-bit integers. */
static int words_from(PyObject *object, uint32_t *out, Py_ssize_t count, const char *what) {
    PyObject *fast = PySequence_Fast(object, what);
    if (!fast) return -1;
    Py_ssize_t n = PySequence_Size(fast);
    if (n != count) {
        PyErr_Format(PyExc_ValueError, "%s: expected %zd integers, got %zd", what, count, n);
        Py_DECREF(fast);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(fast, i);
        unsigned long value = item ? PyLong_AsUnsignedLong(item) : 0;
        Py_XDECREF(item);
        if (PyErr_Occurred() || value > UINT32_MAX) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_OverflowError, "%s: %lu does not fit 32 bits", what, value);
            Py_DECREF(fast);
            return -1;
        }
        out[i] = (uint32_t)value;
    }
    Py_DECREF(fast);
    return 0;
}

static int config_from(PyObject *object, struct config *cfg) {
    return words_from(object, (uint32_t *)cfg, (Py_ssize_t)(sizeof *cfg / sizeof(uint32_t)),
                      "config");
}

static int uint_of(PyObject *dict, const char *key, unsigned long long *out) {
    PyObject *item = PyDict_GetItemString(dict, key);
    if (!item) {
        PyErr_Format(PyExc_KeyError, "%s", key);
        return -1;
    }
    *out = PyLong_AsUnsignedLongLong(item);
    return PyErr_Occurred() ? -1 : 0;
}

static int uint32_of(PyObject *dict, const char *key, uint32_t *out) {
    unsigned long long value;
    if (uint_of(dict, key, &value) < 0) return -1;
    if (value > UINT32_MAX) {
        PyErr_Format(PyExc_OverflowError, "%s does not fit 32 bits", key);
        return -1;
    }
    *out = (uint32_t)value;
    return 0;
}

/* ---- launch ----------------------------------------------------------------------------------- */

/* Everything a launch borrows from Python, to be given back whatever happens. */
struct borrowed {
    struct launch launch;
    struct config cfg;
    Py_buffer code, uniforms, constants;
    Py_buffer *views;
    Py_ssize_t view_count;
    struct buffer *buffers;
    uint32_t *params;
    PyThreadState *thread;
};

static void give_back(struct borrowed *b) {
    PyBuffer_Release(&b->code);
    PyBuffer_Release(&b->uniforms);
    PyBuffer_Release(&b->constants);
    for (Py_ssize_t i = 0; i < b->view_count; i++) PyBuffer_Release(&b->views[i]);
    PyMem_Free(b->views);
    PyMem_Free(b->buffers);
    PyMem_Free(b->params);
}

/* (object, device address, bytes, writable): the object's buffer may be larger than the array. */
static int borrow_buffer(struct borrowed *b, PyObject *item, Py_ssize_t i) {
    PyObject *object;
    unsigned long address, bytes;
    int writable;
    if (!PyArg_ParseTuple(item, "Okkp", &object, &address, &bytes, &writable)) return -1;
    if (PyObject_GetBuffer(object, &b->views[i], writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) < 0)
        return -1;
    b->view_count++;
    if (address > UINT32_MAX || bytes > UINT32_MAX || address + bytes > LOCAL_BASE ||
        (Py_ssize_t)bytes > b->views[i].len) {
        PyErr_SetString(PyExc_ValueError, "buffers: address or size out of range");
        return -1;
    }
    b->buffers[i] = (struct buffer){.host = b->views[i].buf,
                                    .address = (uint32_t)address,
                                    .bytes = (uint32_t)bytes,
                                    .writable = writable};
    return 0;
}

static int borrow_buffers(struct borrowed *b, PyObject *list) {
    Py_ssize_t n = PySequence_Size(list);
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
    Py_ssize_t n = PySequence_Size(list);
    if (n < 0) return -1;
    b->params = PyMem_Calloc((size_t)n + 1, sizeof *b->params);
    if (!b->params) return PyErr_NoMemory(), -1;
    b->launch.params = b->params;
    b->launch.param_count = (uint32_t)n;
    return words_from(list, b->params, n, "params");
}

static int read_meta(struct program_meta *meta, PyObject *dict) {
    return uint32_of(dict, "nregs", &meta->nregs) < 0 ||
                   uint32_of(dict, "npreds", &meta->npreds) < 0 ||
                   uint32_of(dict, "shared_bytes", &meta->shared_bytes) < 0 ||
                   uint32_of(dict, "dynamic_bytes", &meta->dynamic_bytes) < 0 ||
                   uint32_of(dict, "local_bytes", &meta->local_bytes) < 0 ||
                   uint32_of(dict, "static_reserved", &meta->static_reserved) < 0
               ? -1
               : 0;
}

static int read_options(struct launch *l, PyObject *dict, uint32_t *per_pc) {
    unsigned long long max_cycles;
    uint32_t dynamic;
    if (uint32_of(dict, "dynamic", &dynamic) < 0 ||
        uint32_of(dict, "extra_blocks", &l->extra_blocks) < 0 ||
        uint_of(dict, "max_cycles", &max_cycles) < 0 || uint32_of(dict, "window", &l->window) < 0 ||
        uint32_of(dict, "threads", &l->threads) < 0 || uint32_of(dict, "per_pc", per_pc) < 0)
        return -1;
    l->dynamic = dynamic != 0;
    l->max_cycles = max_cycles;
    if (l->threads <= 64) return 0;
    PyErr_SetString(PyExc_ValueError, "threads: at most 64 host threads");
    return -1;
}

/* Ctrl-C reaches a long run through here: the only time the GIL is taken back. */
static bool interrupted(void *context) {
    struct borrowed *b = context;
    PyEval_RestoreThread(b->thread);
    bool stop = PyErr_CheckSignals() < 0;
    b->thread = PyEval_SaveThread();
    return stop;
}

static PyObject *counters_dict(const struct counters *c) {
    PyObject *dict = PyDict_New();
#define COUNTER(name, unit, doc)                                                                   \
    if (dict && set_steal(dict, #name, PyLong_FromUnsignedLongLong(c->name)) < 0) Py_CLEAR(dict);
#include "counters.def"
    return dict;
}

static PyObject *outcome_dict(const struct outcome *out, const void *pc, Py_ssize_t pc_bytes) {
    PyObject *counters = counters_dict(&out->counters);
    if (!counters) return NULL;
    return Py_BuildValue("{s:N,s:I,s:I,s:s,s:y#}", "counters", counters, "residency",
                         out->residency, "static_residency", out->static_residency, "limiter",
                         limiter_name(out->limiter), "per_pc", pc, pc_bytes);
}

static PyObject *run_borrowed(PyObject *module, struct borrowed *b, bool per_pc) {
    struct outcome out = {.fault = {.array = -1}};
    enum error e;
    if (per_pc) {
        out.pc = calloc(b->launch.code_count + 1, sizeof *out.pc);
        if (!out.pc) return PyErr_NoMemory();
    }
    b->launch.interrupted = interrupted;
    b->launch.context = b;
    b->thread = PyEval_SaveThread();
    e = gpu_run(&b->launch, &out);
    PyEval_RestoreThread(b->thread);
    PyObject *result =
        e ? raise_fault(module, &out.fault)
          : outcome_dict(&out, out.pc ? (void *)out.pc : "",
                         out.pc ? (Py_ssize_t)(b->launch.code_count * sizeof *out.pc) : 0);
    free(out.pc);
    return result;
}

PyDoc_STRVAR(launch_doc, "launch($module, code, uniforms, meta, config, grid, block, params, "
                         "buffers, const, options)\n--\n\n"
                         "Run one grid to its end. Returns counters (dict), residency, "
                         "static_residency, limiter and per_pc (bytes).");

static PyObject *core_launch(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"code",   "uniforms", "meta",  "config",  "grid", "block",
                            "params", "buffers",  "const", "options", NULL};
    PyObject *meta, *config, *grid, *block, *params, *buffers, *options, *result = NULL;
    struct borrowed b = {.launch = {.cfg = NULL}};
    uint32_t per_pc = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*y*O!OOOOOy*O!:launch", names, &b.code,
                                     &b.uniforms, &PyDict_Type, &meta, &config, &grid, &block,
                                     &params, &buffers, &b.constants, &PyDict_Type, &options))
        return NULL;
    struct launch *l = &b.launch;
    l->cfg = &b.cfg;
    l->code = b.code.buf;
    l->code_count = (uint32_t)(b.code.len / (Py_ssize_t)sizeof(struct insn));
    l->uniforms = b.uniforms.buf;
    l->uniform_count = (uint32_t)(b.uniforms.len / (Py_ssize_t)sizeof(struct uniform));
    l->constants = b.constants.buf;
    l->constant_bytes = (uint32_t)b.constants.len;
    if (config_from(config, &b.cfg) == 0 && words_from(grid, l->dims.grid, 3, "grid") == 0 &&
        words_from(block, l->dims.block, 3, "block") == 0 && read_meta(&l->meta, meta) == 0 &&
        borrow_params(&b, params) == 0 && borrow_buffers(&b, buffers) == 0 &&
        read_options(l, options, &per_pc) == 0)
        result = run_borrowed(module, &b, per_pc != 0);
    give_back(&b);
    return result;
}

/* ---- models alone -------------------------------------------------------------------------------- */

PyDoc_STRVAR(occupancy_doc, "occupancy($module, config, threads, regs, static_bytes, "
                            "dynamic_bytes=0, extra_blocks=0)\n--\n\n"
                            "Resident blocks per SM, what each resource alone allows, and the "
                            "limiter. With dynamic_bytes the rules of dynamic management.");

static PyObject *core_occupancy(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"config",        "threads",      "regs", "static_bytes",
                            "dynamic_bytes", "extra_blocks", NULL};
    PyObject *config;
    unsigned int threads, regs, fixed, dynamic = 0, extra = 0;
    uint32_t k = 0;
    struct config cfg;
    struct fault f = {.code = OK, .array = -1};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OIII|II:occupancy", names, &config, &threads,
                                     &regs, &fixed, &dynamic, &extra))
        return NULL;
    if (config_from(config, &cfg) < 0) return NULL;
    if (config_check(&cfg, &f)) return raise_fault(module, &f);
    struct occupancy o = dynamic ? residency_compute(&cfg, threads, regs, fixed, dynamic, extra, &k)
                                 : occupancy_compute(&cfg, threads, regs, fixed);
    return Py_BuildValue("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:s}", "blocks", o.blocks,
                         "static_blocks", dynamic ? k : o.blocks, "counter", o.counter, "shared",
                         o.smem, "registers", o.regs, "warps", o.warps, "threads", o.threads,
                         "max_blocks", o.max_blocks, "limiter", limiter_name(o.limiter));
}

static int access_arguments(PyObject *addresses, unsigned int width, uint32_t addr[32]) {
    if (words_from(addresses, addr, 32, "addresses") < 0) return -1;
    if (width == 1 || width == 2 || width == 4 || width == 8 || width == 16) return 0;
    PyErr_SetString(PyExc_ValueError, "width: 1, 2, 4, 8 or 16 bytes");
    return -1;
}

PyDoc_STRVAR(bank_passes_doc,
             "bank_passes($module, config, addresses, width=4, mask=0xffffffff)\n--\n\n"
             "(passes, ideal) of one shared-memory access of a warp: 32 byte addresses.");

static PyObject *core_bank_passes(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"config", "addresses", "width", "mask", NULL};
    PyObject *config, *addresses;
    unsigned int width = 4, mask = 0xffffffffu;
    uint32_t addr[32];
    struct config cfg;
    struct fault f = {.code = OK, .array = -1};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|II:bank_passes", names, &config, &addresses,
                                     &width, &mask))
        return NULL;
    if (config_from(config, &cfg) < 0 || access_arguments(addresses, width, addr) < 0) return NULL;
    if (config_check(&cfg, &f)) return raise_fault(module, &f);
    struct smem_cost cost = smem_passes(&cfg, addr, mask, width);
    return Py_BuildValue("(II)", cost.passes, cost.ideal);
}

PyDoc_STRVAR(coalesce_doc,
             "coalesce($module, config, addresses, width=4, mask=0xffffffff, store=False)\n--\n\n"
             "The transactions of one global access of a warp: list of (address, bytes, lanes).");

static PyObject *core_coalesce(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"config", "addresses", "width", "mask", "store", NULL};
    PyObject *config, *addresses;
    unsigned int width = 4, mask = 0xffffffffu;
    int store = 0;
    uint32_t addr[32];
    struct config cfg;
    struct segment seg[64];
    struct fault f = {.code = OK, .array = -1};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|IIp:coalesce", names, &config, &addresses,
                                     &width, &mask, &store))
        return NULL;
    if (config_from(config, &cfg) < 0 || access_arguments(addresses, width, addr) < 0) return NULL;
    if (config_check(&cfg, &f)) return raise_fault(module, &f);
    uint32_t n = mask ? coalesce(&cfg, addr, mask, width, store != 0, seg) : 0;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++)
        if (append_steal(list, Py_BuildValue("(III)", seg[i].addr, seg[i].bytes, seg[i].lanes)) < 0)
            Py_CLEAR(list);
    return list;
}

/* ---- the memory models alone: records in and out through buffers ----------------------------------- */

/* Give back what was taken, whether all of it was or not. */
static void release_views(Py_buffer *views, int count) {
    for (int i = 0; i < count; i++)
        if (views[i].obj) PyBuffer_Release(&views[i]);
}

static int check_views(const Py_buffer *views, const size_t *sizes, int count, size_t n) {
    for (int i = 0; i < count; i++) {
        if (!views[i].obj || (size_t)views[i].len == n * sizes[i]) continue;
        PyErr_Format(PyExc_ValueError, "buffer %d holds %zd bytes, not %zu records of %zu", i + 1,
                     views[i].len, n, sizes[i]);
        return -1;
    }
    return 0;
}

static int replay_config(PyObject *module, PyObject *object, struct config *cfg) {
    struct fault f = {.code = OK, .array = -1};
    if (config_from(object, cfg) < 0) return -1;
    return config_check(cfg, &f) ? raise_fault(module, &f), -1 : 0;
}

static void raise_replay(PyObject *module, enum error e) {
    struct fault f = {.code = e, .array = -1};
    if (e == ERROR_BAD_LAUNCH)
        PyErr_SetString(PyExc_ValueError, "a record is malformed or out of order");
    else raise_fault(module, &f);
}

PyDoc_STRVAR(dram_replay_doc, "dram_replay($module, config, requests, done, log=...)\n--\n\n"
                              "Serve DRAM requests on one channel; done: a uint64 per request. "
                              "Returns the channel's statistics.");

static PyObject *core_dram_replay(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"config", "requests", "done", "log", NULL};
    static const size_t sizes[] = {sizeof(struct dram_replay_request), sizeof(uint64_t)};
    PyObject *config, *result = NULL;
    Py_buffer view[3] = {{.obj = NULL}};
    struct config cfg;
    struct dram_stats s;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Oy*w*|w*:dram_replay", names, &config, &view[0],
                                     &view[1], &view[2]))
        return NULL;
    const size_t n = (size_t)view[0].len / sizes[0];
    if (check_views(view, sizes, 2, n) == 0 && replay_config(module, config, &cfg) == 0) {
        struct dram_log log = {.entries = view[2].buf,
                               .capacity =
                                   view[2].obj ? (size_t)view[2].len / sizeof *log.entries : 0};
        enum error e;
        Py_BEGIN_ALLOW_THREADS
        e = dram_replay(&cfg, view[0].buf, n, view[1].buf, &s, view[2].obj ? &log : NULL);
        Py_END_ALLOW_THREADS
        if (e) raise_replay(module, e);
        else
            result = Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "reads", s.reads,
                                   "writes", s.writes, "activates", s.activates, "precharges",
                                   s.precharges, "refreshes", s.refreshes, "row_hits", s.hits,
                                   "row_misses", s.misses, "row_conflicts", s.conflicts, "busy",
                                   s.busy, "commands", log.count);
    }
    release_views(view, 3);
    return result;
}

PyDoc_STRVAR(dram_map_doc,
             "dram_map($module, config, address)\n--\n\n"
             "(partition, slice, bank, row, address in the partition) of a device address.");

static PyObject *core_dram_map(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"config", "address", NULL};
    PyObject *config;
    unsigned int address;
    uint32_t local, in_slice;
    struct config cfg;
    struct addrmap map;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OI:dram_map", names, &config, &address))
        return NULL;
    if (replay_config(module, config, &cfg) < 0) return NULL;
    addrmap_init(&map, &cfg);
    uint32_t partition = addrmap_partition(&map, address, &local);
    return Py_BuildValue("(IIIII)", partition, addrmap_slice(&map, local, &in_slice),
                         bit_field_of(&map.bank, local), bit_field_of(&map.row, local), local);
}

PyDoc_STRVAR(
    cache_replay_doc,
    "cache_replay($module, bytes, line, ways, sector, hashed, addresses, hit, write=...)\n--\n\n"
    "Look up uint32 addresses in order; hit, write: a byte each. Returns how many dirty lines were "
    "evicted.");

static PyObject *core_cache_replay(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"bytes",     "line", "ways",  "sector", "hashed",
                            "addresses", "hit",  "write", NULL};
    static const size_t sizes[] = {sizeof(uint32_t), 1, 1};
    struct cache_shape shape = {0};
    int hashed;
    (void)module;
    Py_buffer view[3] = {{.obj = NULL}};
    uint64_t evicted = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "IIIIpy*w*|y*:cache_replay", names, &shape.bytes,
                                     &shape.line, &shape.ways, &shape.sector, &hashed, &view[0],
                                     &view[1], &view[2]))
        return NULL;
    shape.hashed = hashed != 0;
    const size_t n = (size_t)view[0].len / sizes[0];
    enum error e = OK;
    if (check_views(view, sizes, 3, n) == 0) {
        Py_BEGIN_ALLOW_THREADS
        e = cache_replay(&shape, view[0].buf, view[2].buf, n, view[1].buf, &evicted);
        Py_END_ALLOW_THREADS
        if (e == ERROR_BAD_CONFIG) PyErr_SetString(PyExc_ValueError, "no cache has that shape");
        else if (e) PyErr_NoMemory();
    }
    release_views(view, 3);
    return PyErr_Occurred() ? NULL : PyLong_FromUnsignedLongLong(evicted);
}

PyDoc_STRVAR(
    memory_replay_doc,
    "memory_replay($module, config, packets, sent, replied, credits, interval, window=0)\n--\n\n"
    "Send packets through the detailed memory system; sent, replied: a uint64 per packet. Returns "
    "its counters.");

static PyObject *core_memory_replay(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"config",  "packets",  "sent",   "replied",
                            "credits", "interval", "window", NULL};
    static const size_t sizes[] = {sizeof(struct memory_packet), sizeof(uint64_t),
                                   sizeof(uint64_t)};
    PyObject *config, *result = NULL;
    Py_buffer view[3] = {{.obj = NULL}};
    struct memory_replay how = {0};
    struct config cfg;
    struct counters counters = {0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Oy*w*w*II|I:memory_replay", names, &config,
                                     &view[0], &view[1], &view[2], &how.credits, &how.interval,
                                     &how.window))
        return NULL;
    const size_t n = (size_t)view[0].len / sizes[0];
    if (check_views(view, sizes, 3, n) == 0 && replay_config(module, config, &cfg) == 0) {
        enum error e;
        Py_BEGIN_ALLOW_THREADS
        e = memory_replay(&cfg, &how, view[0].buf, n, view[1].buf, view[2].buf, &counters);
        Py_END_ALLOW_THREADS
        if (e) raise_replay(module, e);
        else result = counters_dict(&counters);
    }
    release_views(view, 3);
    return result;
}

/* ---- class Smm: the shared-memory management table ------------------------------------------------- */

struct smm_object {
    PyObject_HEAD struct smm table;
};

static struct smm *table_of(PyObject *self) { return &((struct smm_object *)(void *)self)->table; }

static PyObject *smm_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"capacity", "unit", "reserve", NULL};
    unsigned int capacity, unit = 16, reserve = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I|II:Smm", names, &capacity, &unit, &reserve))
        return NULL;
    if (unit == 0 || capacity < unit || reserve > capacity) {
        PyErr_SetString(PyExc_ValueError,
                        "Smm: need 1 <= unit <= capacity and reserve <= capacity");
        return NULL;
    }
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *self = alloc(type, 0);
    if (!self) return NULL;
    smm_init(table_of(self), capacity, unit);
    smm_reserve(table_of(self), reserve);
    return self;
}

static void smm_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

typedef bool smm_alloc_fn(struct smm *smm, uint32_t block, uint32_t size, uint32_t *start);

static PyObject *smm_alloc(PyObject *self, PyObject *args, smm_alloc_fn *alloc) {
    unsigned int block, size;
    uint32_t start;
    if (!PyArg_ParseTuple(args, "II", &block, &size)) return NULL;
    if (!alloc(table_of(self), block, size, &start)) Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(start);
}

static PyObject *smm_object_static(PyObject *self, PyObject *args) {
    return smm_alloc(self, args, smm_alloc_static);
}
static PyObject *smm_object_dynamic(PyObject *self, PyObject *args) {
    return smm_alloc(self, args, smm_alloc_dynamic);
}

static PyObject *smm_object_release(PyObject *self, PyObject *args) {
    unsigned int start;
    if (!PyArg_ParseTuple(args, "I", &start)) return NULL;
    return PyBool_FromLong(smm_release(table_of(self), start));
}

static PyObject *smm_entries(PyObject *self, PyObject *unused) {
    const struct smm *t = table_of(self);
    PyObject *list = PyList_New(0);
    (void)unused;
    for (uint32_t i = 0; list && i < SMM_ENTRIES; i++) {
        const struct smm_entry *e = &t->entry[i];
        if (!e->valid) continue;
        if (append_steal(list, Py_BuildValue("(IIIO)", e->block, e->size, e->start,
                                             e->dynamic ? Py_True : Py_False)) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyMethodDef smm_methods[] = {
    {"alloc_static", smm_object_static, METH_VARARGS,
     "alloc_static($self, block, size, /)\n--\n\nFirst fit from address 0 up; the start, or None "
     "if there is no place."},
    {"alloc_dynamic", smm_object_dynamic, METH_VARARGS,
     "alloc_dynamic($self, block, size, /)\n--\n\nAt the highest free place; the start, or None."},
    {"release", smm_object_release, METH_VARARGS,
     "release($self, start, /)\n--\n\nInvalidate the entry that starts there; False if none does."},
    {"entries", smm_entries, METH_NOARGS,
     "entries($self, /)\n--\n\nValid rows: (block, size, start, dynamic)."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot smm_slots[] = {
    {Py_tp_doc, "Smm(capacity, unit=16, reserve=0)\n--\n\nThe shared-memory management table of "
                "one SM (paper, section 5)."},
    {Py_tp_new, (void *)smm_new},
    {Py_tp_dealloc, (void *)smm_dealloc},
    {Py_tp_methods, smm_methods},
    {0, NULL},
};

static PyType_Spec smm_spec = {
    .name = "smmux._core.Smm",
    .basicsize = sizeof(struct smm_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = smm_slots,
};

/* ---- the module -------------------------------------------------------------------------------------- */

#define METHOD(name)                                                                               \
    { #name, (PyCFunction)(void (*)(void))core_##name, METH_VARARGS | METH_KEYWORDS, name##_doc }

static PyMethodDef core_methods[] = {
    METHOD(launch),       METHOD(occupancy),     METHOD(bank_passes),
    METHOD(coalesce),     METHOD(dram_replay),   METHOD(dram_map),
    METHOD(cache_replay), METHOD(memory_replay), {NULL, NULL, 0, NULL},
};

static PyObject *pc_counters_table(void) {
    PyObject *list = PyList_New(0);
#define PC_COUNTER(name, unit, doc)                                                                \
    if (list && append_steal(list, Py_BuildValue("(sss)", #name, unit, doc)) < 0) Py_CLEAR(list);
#include "pc_counters.def"
    return list;
}

static int module_exec(PyObject *module) {
    if (add_steal(module, "OPS", ops_table()) < 0) return -1;
    if (add_steal(module, "CLASSES", classes_table()) < 0) return -1;
    if (add_steal(module, "CONFIG", config_table()) < 0) return -1;
    if (add_steal(module, "COUNTERS", counters_table()) < 0) return -1;
    if (add_steal(module, "PC_COUNTERS", pc_counters_table()) < 0) return -1;
    if (add_steal(module, "ERRORS", errors_table()) < 0) return -1;
    if (add_steal(module, "ATOMS", names_table(atom_names, ATOM_COUNT)) < 0) return -1;
    if (add_steal(module, "SPECIALS", names_table(special_names, SPECIAL_COUNT)) < 0) return -1;
    if (add_steal(module, "UNIFORMS", names_table(uniform_names, UNIFORM_KIND_COUNT)) < 0)
        return -1;
    struct module_state *state = state_of(module);
    state->smm_type = PyType_FromModuleAndSpec(module, &smm_spec, NULL);
    return state->smm_type ? PyModule_AddObjectRef(module, "Smm", state->smm_type) : -1;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    Py_VISIT(state_of(module)->from_fault);
    Py_VISIT(state_of(module)->smm_type);
    return 0;
}

static int module_clear(PyObject *module) {
    Py_CLEAR(state_of(module)->from_fault);
    Py_CLEAR(state_of(module)->smm_type);
    return 0;
}

static void module_free(void *module) { (void)module_clear((PyObject *)module); }

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)module_exec},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030d0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "smmux._core",
    .m_doc = "The simulated machine: tables and functions of the C core.",
    .m_size = sizeof(struct module_state),
    .m_methods = core_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&module_def); }

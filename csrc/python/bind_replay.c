/* The memory models alone: records in and out through buffers. */
#include "python/bind.h"

#include "models/replay.h"

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

static void raise_error(enum error e) { bind_raise(&(struct fault){.code = e, .array = -1}); }

/* Why a replay failed; ValueError that names the record and what it holds, if one is wrong. */
static void raise_failure(enum error e, const struct replay_refusal *r, const char *noun) {
    if (e != ERROR_BAD_LAUNCH) raise_error(e);
    else if (r->index == REPLAY_WHOLE) PyErr_SetString(PyExc_ValueError, r->what);
    else
        PyErr_Format(PyExc_ValueError, "%s %llu %s: %u bytes at %u, time %llu", noun,
                     (unsigned long long)r->index, r->what, r->bytes, r->address,
                     (unsigned long long)r->time);
}

const char bind_dram_replay_doc[] =
    PyDoc_STR("dram_replay($module, config, requests, done, log=..., poll=None)\n--\n\n"
              "Serve DRAM requests on one channel; done: a uint64 per request. "
              "Returns the channel's statistics.");

PyObject *bind_dram_replay(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs) {
    static char *names[] = {"config", "requests", "done", "log", "poll", NULL};
    static const size_t sizes[] = {sizeof(struct dram_replay_request), sizeof(uint64_t)};
    PyObject *config, *poll = NULL, *result = NULL;
    Py_buffer view[3] = {{.obj = NULL}};
    struct config cfg;
    struct dram_stats s;
    struct replay_refusal refused;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Oy*w*|w*O:dram_replay", names, &config,
                                     &view[0], &view[1], &view[2], &poll))
        return NULL;
    const size_t n = (size_t)view[0].len / sizes[0];
    if (check_views(view, sizes, 2, n) == 0 && bind_memory(config, &cfg) == 0) {
        struct dram_log log = {.entries = view[2].buf,
                               .capacity =
                                   view[2].obj ? (size_t)view[2].len / sizeof *log.entries : 0};
        struct bind_pause pause;
        bind_pause(&pause, poll);
        enum error e = dram_replay(&cfg, view[0].buf, n, view[1].buf, &s, view[2].obj ? &log : NULL,
                                   &(struct replay_watch){bind_interrupted, &pause}, &refused);
        bind_resume(&pause);
        if (e) raise_failure(e, &refused, "request");
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

const char bind_cache_replay_doc[] = PyDoc_STR(
    "cache_replay($module, bytes, line, ways, sector, hashed, addresses, hit, write=..., "
    "poll=None)\n--\n\n"
    "Look up uint32 addresses in order; hit, write: a byte each. Returns how many dirty lines were "
    "evicted.");

PyObject *bind_cache_replay(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs) {
    static char *names[] = {"bytes",     "line", "ways",  "sector", "hashed",
                            "addresses", "hit",  "write", "poll",   NULL};
    static const size_t sizes[] = {sizeof(uint32_t), 1, 1};
    struct cache_shape shape = {0};
    int hashed;
    Py_buffer view[3] = {{.obj = NULL}};
    PyObject *poll = NULL, *result = NULL;
    uint64_t evicted = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O&O&O&py*w*|y*O:cache_replay", names,
                                     bind_uint32, &shape.bytes, bind_uint32, &shape.line,
                                     bind_uint32, &shape.ways, bind_uint32, &shape.sector, &hashed,
                                     &view[0], &view[1], &view[2], &poll))
        return NULL;
    shape.hashed = hashed != 0;
    const size_t n = (size_t)view[0].len / sizes[0];
    const char *refusal = cache_refusal(&shape);
    if (refusal) {
        PyErr_Format(PyExc_ValueError, "no cache has that shape: %s", refusal);
    } else if (check_views(view, sizes, 3, n) == 0) {
        struct bind_pause pause;
        bind_pause(&pause, poll);
        enum error e = cache_replay(&shape, view[0].buf, view[2].buf, n, view[1].buf, &evicted,
                                    &(struct replay_watch){bind_interrupted, &pause});
        bind_resume(&pause);
        if (e) raise_error(e);
        else result = PyLong_FromUnsignedLongLong(evicted);
    }
    release_views(view, 3);
    return result;
}

const char bind_memory_replay_doc[] = PyDoc_STR(
    "memory_replay($module, config, packets, sent, replied, credits, interval, window=0, "
    "poll=None)\n--\n\n"
    "Send packets through the detailed memory system; sent, replied: a uint64 per packet. Returns "
    "its counters.");

PyObject *bind_memory_replay(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs) {
    static char *names[] = {"config",   "packets", "sent", "replied", "credits",
                            "interval", "window",  "poll", NULL};
    static const size_t sizes[] = {sizeof(struct memory_packet), sizeof(uint64_t),
                                   sizeof(uint64_t)};
    PyObject *config, *poll = NULL, *result = NULL;
    Py_buffer view[3] = {{.obj = NULL}};
    struct memory_replay how = {0};
    struct config cfg;
    struct counters counters = {0};
    struct replay_refusal refused;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Oy*w*w*O&O&|O&O:memory_replay", names, &config,
                                     &view[0], &view[1], &view[2], bind_uint32, &how.credits,
                                     bind_uint32, &how.interval, bind_uint32, &how.window, &poll))
        return NULL;
    const size_t n = (size_t)view[0].len / sizes[0];
    if (check_views(view, sizes, 3, n) == 0 && bind_memory(config, &cfg) == 0) {
        struct bind_pause pause;
        bind_pause(&pause, poll);
        enum error e =
            memory_replay(&cfg, &how, view[0].buf, n, view[1].buf, view[2].buf, &counters,
                          &(struct replay_watch){bind_interrupted, &pause}, &refused);
        bind_resume(&pause);
        if (e) raise_failure(e, &refused, "packet");
        else result = bind_counters(&counters);
    }
    release_views(view, 3);
    return result;
}

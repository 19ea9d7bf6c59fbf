#include "python/bind.h"

#include <time.h>

#include "chip/diagnose.h"
#include "chip/gpu.h"

int bind_append(PyObject *list, PyObject *item) {
    int status = item ? PyList_Append(list, item) : -1;
    Py_XDECREF(item);
    return status;
}

int bind_set(PyObject *dict, const char *key, PyObject *item) {
    int status = item ? PyDict_SetItemString(dict, key, item) : -1;
    Py_XDECREF(item);
    return status;
}

/* ---- errors ------------------------------------------------------------------------------ */

static const char *const error_names[ERROR_COUNT] = {
    "OK",
#define ERROR(id, exception, text) #id,
#include "tables/errors.def"
};

/* Calls smmux.errors.from_fault(name, details), which makes the exception. */
static PyObject *exception_of(const struct outcome *out) {
    const struct fault *f = &out->fault;
    PyObject *errors = PyImport_ImportModule("smmux.errors");
    if (!errors) return NULL;
    PyObject *exception = PyObject_CallMethod(
        errors, "from_fault",
        "s{s:I,s:I,s:I,s:I,s:I,s:I,s:(III),s:(III),s:i,s:L,s:K,s:s,s:y#,s:K,s:y#}",
        error_names[f->code], "pc", f->pc, "line", f->line, "placed", f->placed, "sm", f->sm,
        "warp", f->warp, "lane", f->lane, "block", f->block[0], f->block[1], f->block[2], "thread",
        f->thread[0], f->thread[1], f->thread[2], "array", f->array, "address",
        (long long)f->address, "cycle", (unsigned long long)f->cycle, "text", f->text, "findings",
        out->findings ? (const void *)out->findings : "",
        (Py_ssize_t)(out->finding_count * sizeof *out->findings), "findings_lost",
        (unsigned long long)out->findings_lost, "printed",
        out->printed ? (const void *)out->printed : "",
        (Py_ssize_t)(out->printed_count * sizeof *out->printed));
    Py_DECREF(errors);
    return exception;
}

PyObject *bind_raise(const struct fault *f) {
    return bind_raise_outcome(&(struct outcome){.fault = *f});
}

PyObject *bind_raise_outcome(const struct outcome *out) {
    if (out->fault.code == ERROR_NO_MEMORY) return PyErr_NoMemory();
    if (out->fault.code == ERROR_INTERRUPTED && PyErr_Occurred()) return NULL;
    PyObject *exception = exception_of(out);
    if (exception) {
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        Py_DECREF(exception);
    }
    return NULL;
}

/* ---- long runs --------------------------------------------------------------------------- */

#define POLL_MS 50

static int64_t now_ms(void) {
    struct timespec now;
    if (!timespec_get(&now, TIME_UTC)) return 0;
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void bind_pause(struct bind_pause *p, PyObject *poll) {
    p->poll = poll == Py_None ? NULL : poll;
    p->polled = p->ended = p->sampled = now_ms();
    p->finished = 0;
    p->launcher = PyThread_get_thread_ident();
    p->interpreter = PyInterpreterState_Get();
    p->thread = PyEval_SaveThread();
}

void bind_resume(struct bind_pause *p) { PyEval_RestoreThread(p->thread); }

bool bind_enter(struct bind_pause *p, PyThreadState **own) {
    const bool launcher = PyThread_get_thread_ident() == p->launcher;
    *own = launcher ? NULL : PyThreadState_New(p->interpreter);
    if (!launcher && !*own) return false;
    PyEval_RestoreThread(launcher ? p->thread : *own);
    return true;
}

void bind_leave(struct bind_pause *p, PyThreadState *own) {
    if (own) {
        PyThreadState_Clear(own);
        PyThreadState_DeleteCurrent();
    } else {
        p->thread = PyEval_SaveThread();
    }
}

/* In the main thread signal handlers run, in any thread exceptions set from outside arrive. */
static bool wants_to_stop(PyObject *poll) {
    if (PyErr_CheckSignals() < 0) return true;
    PyObject *found = poll ? PyObject_CallNoArgs(poll) : NULL;
    Py_XDECREF(found);
    return poll && !found;
}

bool bind_interrupted(void *context) {
    struct bind_pause *p = context;
    const int64_t now = now_ms();
    if (now >= p->polled && now - p->polled < POLL_MS) return false;
    p->polled = now;
    PyEval_RestoreThread(p->thread);
    const bool stop = wants_to_stop(p->poll);
    p->thread = PyEval_SaveThread();
    return stop;
}

#define SPIN_MS      1000 /* without a block that ends before samples are taken */
#define SAMPLE_SHARE 16   /* of the time that has passed since, between two samples */

/* Take a sample if no block has ended for a while: often at first, then ever more rarely, so that
 * long runs are not held up. */
static bool seems_to_spin(struct bind_pause *p, struct watch *w, int64_t now) {
    if (w->finished != p->finished || now < p->ended) {
        p->finished = w->finished;
        p->ended = now;
        watch_reset(w);
    }
    const int64_t waited = now - p->ended;
    if (waited < SPIN_MS || now - p->sampled < waited / SAMPLE_SHARE) return false;
    p->sampled = now;
    watch_sample(w);
    return watch_spins(w);
}

/* The arguments of poll. */
static PyObject *call_watcher(PyObject *poll, const struct watch *w, bool spins) {
    char where[200] = "";
    if (spins) diagnose_places(w->sms, w->sm_count, where, sizeof where);
    return PyObject_CallFunction(poll, "KIIz", (unsigned long long)w->cycle, w->finished, w->total,
                                 spins ? where : NULL);
}

bool bind_watched(void *context, struct watch *watch) {
    struct bind_pause *p = context;
    const int64_t now = now_ms();
    if (now >= p->polled && now - p->polled < POLL_MS) return false;
    p->polled = now;
    const bool spins = p->poll && seems_to_spin(p, watch, now);
    PyEval_RestoreThread(p->thread);
    bool stop = PyErr_CheckSignals() < 0;
    if (!stop && p->poll) {
        PyObject *found = call_watcher(p->poll, watch, spins);
        Py_XDECREF(found);
        stop = !found;
    }
    p->thread = PyEval_SaveThread();
    return stop;
}

/* ---- arguments --------------------------------------------------------------------------- */

int bind_uint64(PyObject *object, void *out) {
    PyObject *number = PyNumber_Index(object);
    if (!number) return 0;
    unsigned long long value = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    if (PyErr_Occurred()) return 0;
    *(uint64_t *)out = value;
    return 1;
}

int bind_uint32(PyObject *object, void *out) {
    uint64_t value;
    if (!bind_uint64(object, &value)) return 0;
    if (value > UINT32_MAX) {
        PyErr_Format(PyExc_OverflowError, "%llu does not fit 32 bits", (unsigned long long)value);
        return 0;
    }
    *(uint32_t *)out = (uint32_t)value;
    return 1;
}

int bind_words(PyObject *object, uint32_t *out, Py_ssize_t count, const char *what) {
    Py_ssize_t given = PySequence_Size(object); /* before it is read: range(2**40) is a sequence */
    if (given < 0) return -1;
    if (given != count) {
        PyErr_Format(PyExc_ValueError, "%s: expected %zd integers, got %zd", what, count, given);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(object, i);
        int good = item && bind_uint32(item, &out[i]);
        Py_XDECREF(item);
        if (!good) return -1;
    }
    return 0;
}

int bind_config(PyObject *object, struct config *cfg) {
    return bind_words(object, (uint32_t *)cfg, (Py_ssize_t)(sizeof *cfg / sizeof(uint32_t)),
                      "config");
}

int bind_machine(PyObject *object, struct config *cfg) {
    struct fault f = {.code = OK, .array = -1};
    if (bind_config(object, cfg) < 0) return -1;
    return config_check(cfg, &f) ? bind_raise(&f), -1 : 0;
}

int bind_memory(PyObject *object, struct config *cfg) {
    struct fault f = {.code = OK, .array = -1};
    if (bind_machine(object, cfg) < 0) return -1;
    return config_check_memory(cfg, &f) ? bind_raise(&f), -1 : 0;
}

PyObject *bind_counters(const struct counters *c) {
    PyObject *dict = PyDict_New();
#define COUNTER(name, unit, doc)                                                                   \
    if (dict && bind_set(dict, #name, PyLong_FromUnsignedLongLong(c->name)) < 0) Py_CLEAR(dict);
#include "tables/counters.def"
    return dict;
}

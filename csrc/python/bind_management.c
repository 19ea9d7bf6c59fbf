/* Managements of shared memory that are Python classes: one object per SM, called where the core
 * has a block that waits. Calls come from any host thread, one at a time for an SM. */
#include "python/bind.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "chip/launch.h"
#include "sm/management.h"

/* The exception that ended the work of an SM, or NULL. */
struct raised {
    PyObject *error;
};

struct managers {
    struct management functions; /* those of this file */
    struct bind_pause *pause;    /* of the run */
    PyObject *objects;           /* tuple: the manager of each SM */
    PyObject *request, *hole;    /* types */
    struct raised *raised;       /* by SM */
};

/* ---- exceptions -------------------------------------------------------------------------- */

static PyObject *take_exception(void) {
#if PY_VERSION_HEX >= 0x030c0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value && trace) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
#endif
}

static void raise_exception(PyObject *error) {
#if PY_VERSION_HEX >= 0x030c0000
    PyErr_SetRaisedException(error);
#else
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(error)), error, PyException_GetTraceback(error));
#endif
}

/* ---- a call ------------------------------------------------------------------------------ */

/* One call of a manager's method: for which block of which SM. */
struct call {
    struct managers *managers;
    struct sm *sm;
    const struct block *b;
    const char *method;
    PyThreadState *own; /* of this call, see bind_enter */
};

static bool enter(struct call *c) {
    if (bind_enter(c->managers->pause, &c->own)) return true;
    block_fault(c->sm, c->b, ERROR_NO_MEMORY);
    return false;
}

static void leave(struct call *c) { bind_leave(c->managers->pause, c->own); }

/* The SM stops, for a reason that begins with the name of the method. */
static void fail(struct call *c, const char *format, ...) {
    struct fault *f = &c->sm->fault;
    va_list arguments;
    va_start(arguments, format);
    PyObject *reason = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    const char *text = reason ? PyUnicode_AsUTF8(reason) : NULL;
    block_fault(c->sm, c->b, ERROR_MANAGEMENT);
    const char *name = Py_TYPE(PyTuple_GET_ITEM(c->managers->objects, c->sm->id))->tp_name;
    snprintf(f->text, sizeof f->text, "%s() of %s %s", c->method, name, text ? text : "failed");
    size_t end = strlen(f->text);
    if (end == sizeof f->text - 1) { /* a character of several bytes may have been cut */
        while (end && (f->text[end - 1] & 0xc0) == 0x80) end--;
        if (end && (f->text[end - 1] & 0x80)) end--;
        f->text[end] = 0;
    }
    Py_XDECREF(reason);
    PyErr_Clear();
}

static void fail_by_exception(struct call *c) {
    PyObject *error = take_exception();
    fail(c, "raised %s: %S", Py_TYPE(error)->tp_name, error);
    Py_XSETREF(c->managers->raised[c->sm->id].error, error);
}

/* ---- what a manager is told -------------------------------------------------------------- */

static PyObject *request_of(const struct call *c, const struct block *b) {
    const struct sm *sm = c->sm;
    const uint32_t bytes = smm_rounded(&sm->smm, management_bytes(sm, b), b->started);
    return PyObject_CallFunction(c->managers->request, "IIOKKK", b->id, bytes,
                                 b->started ? Py_True : Py_False, (unsigned long long)b->arrival,
                                 (unsigned long long)b->start, (unsigned long long)sm->now);
}

static PyObject *requests_of(const struct call *c, const uint32_t *slots, uint32_t count) {
    PyObject *tuple = PyTuple_New(count);
    for (uint32_t i = 0; tuple && i < count; i++) {
        PyObject *request = request_of(c, &c->sm->blocks[slots[i]]);
        if (request) PyTuple_SET_ITEM(tuple, i, request);
        else Py_CLEAR(tuple);
    }
    return tuple;
}

/* Free ranges in order of address: for allocations, or for static parts. */
static PyObject *holes_of(const struct call *c, bool dynamic) {
    PyObject *list = PyList_New(0);
    uint32_t start = 0, bytes;
    for (; list && smm_hole(&c->sm->smm, dynamic, &start, &bytes); start += bytes)
        if (bind_append(list, PyObject_CallFunction(c->managers->hole, "II", start, bytes)) < 0)
            Py_CLEAR(list);
    return list;
}

/* The method's answer to two arguments, which this takes over; NULL: the run has failed. */
static PyObject *ask(struct call *c, PyObject *first, PyObject *second) {
    PyObject *answer = NULL;
    PyObject *manager = PyTuple_GET_ITEM(c->managers->objects, c->sm->id);
    PyObject *name = PyUnicode_InternFromString(c->method);
    if (name && first && second)
        answer = PyObject_CallMethodObjArgs(manager, name, first, second, NULL);
    Py_XDECREF(name);
    Py_XDECREF(first);
    Py_XDECREF(second);
    if (!answer) fail_by_exception(c);
    return answer;
}

/* ---- the methods ------------------------------------------------------------------------- */

static bool may_start(struct sm *sm, const struct block *b) {
    struct call c = {sm->m->managers, sm, b, "may_start", NULL};
    if (!enter(&c)) return false;
    PyObject *waiting = requests_of(&c, sm->queue, sm->queue_count);
    PyObject *answer = ask(&c, request_of(&c, b), waiting);
    const bool yes = answer == Py_True;
    if (answer && !yes && answer != Py_False) fail(&c, "returned %R, not True or False", answer);
    Py_XDECREF(answer);
    leave(&c);
    return yes;
}

/* Whether the block's part can lie where the manager says; if not, the run fails. */
static bool check_place(struct call *c, PyObject *answer, uint32_t *at) {
    const struct smm *smm = &c->sm->smm;
    const struct smm_entry *other = NULL;
    const bool dynamic = c->b->started;
    const uint32_t bytes = management_bytes(c->sm, c->b), size = smm_rounded(smm, bytes, dynamic);
    if (!bind_uint32(answer, at)) {
        PyErr_Clear();
        fail(c, "returned %R, not an address or None", answer);
        return false;
    }
    switch (smm_fits(smm, bytes, dynamic, *at, &other)) {
    case SMM_FITS: return true;
    case SMM_UNALIGNED: fail(c, "returned %u, not a multiple of %u", *at, smm->unit); break;
    case SMM_OUTSIDE:
        fail(c, "returned %u: %u bytes from there lie beyond the memory of %u", *at, size,
             smm->capacity);
        break;
    case SMM_RESERVED:
        fail(c,
             "returned %u: %u bytes from there reach into the %u at the top that are kept free "
             "of what blocks hold to their end",
             *at, size, smm->reserved);
        break;
    case SMM_OVERLAPS:
        fail(c, "returned %u: %u bytes from there overlap those of block %u from %u to %u", *at,
             size, other->block, other->start, other->start + other->size);
        break;
    case SMM_FULL: fail(c, "returned %u, but the table is full", *at); break;
    }
    return false;
}

static bool place(struct sm *sm, const struct block *b, uint32_t *at) {
    struct call c = {sm->m->managers, sm, b, "place", NULL};
    if (!enter(&c)) return false;
    PyObject *answer = ask(&c, request_of(&c, b), holes_of(&c, b->started));
    const bool placed = answer && answer != Py_None && check_place(&c, answer, at);
    Py_XDECREF(answer);
    leave(&c);
    return placed;
}

/* The index of an object in the tuple, or its size: it is not there, and the run has failed. */
static uint32_t index_of(struct call *c, PyObject *waiting, PyObject *answer) {
    const uint32_t count = (uint32_t)PyTuple_GET_SIZE(waiting);
    uint32_t i = 0;
    int same = 0;
    while (i < count &&
           !(same = PyObject_RichCompareBool(PyTuple_GET_ITEM(waiting, i), answer, Py_EQ)))
        i++;
    if (same < 0) fail_by_exception(c);
    else if (!same) fail(c, "returned %R, which does not wait", answer);
    return same > 0 ? i : count;
}

static uint32_t next_request(struct sm *sm, const uint32_t *slots, uint32_t count) {
    struct call c = {sm->m->managers, sm, &sm->blocks[slots[0]], "next_request", NULL};
    uint32_t found = count;
    if (!enter(&c)) return 0;
    PyObject *waiting = requests_of(&c, slots, count);
    PyObject *answer = ask(&c, Py_XNewRef(waiting), holes_of(&c, true));
    if (answer) found = index_of(&c, waiting, answer);
    Py_XDECREF(answer);
    Py_XDECREF(waiting);
    leave(&c);
    return found < count ? found : 0; /* where it is not, the SM has a fault */
}

/* ---- a launch ---------------------------------------------------------------------------- */

void bind_free_managers(struct managers *ms) {
    if (!ms) return;
    for (Py_ssize_t i = 0; ms->raised && i < PyTuple_GET_SIZE(ms->objects); i++)
        Py_XDECREF(ms->raised[i].error);
    PyMem_Free(ms->raised);
    Py_XDECREF(ms->objects);
    Py_XDECREF(ms->request);
    Py_XDECREF(ms->hole);
    PyMem_Free(ms);
}

static int complete(struct managers *ms, PyObject *list, uint32_t count) {
    PyObject *types = PyImport_ImportModule("smmux.machines.management");
    if (types) ms->request = PyObject_GetAttrString(types, "Request");
    if (types) ms->hole = PyObject_GetAttrString(types, "Hole");
    Py_XDECREF(types);
    if (!ms->request || !ms->hole || !(ms->objects = PySequence_Tuple(list))) return -1;
    const Py_ssize_t given = PyTuple_GET_SIZE(ms->objects);
    if (given != (Py_ssize_t)count) {
        PyErr_Format(PyExc_ValueError, "managers: expected one for each of %u SMs, got %zd", count,
                     given);
        return -1;
    }
    ms->raised = PyMem_Calloc((size_t)given + 1, sizeof *ms->raised);
    return ms->raised ? 0 : (PyErr_NoMemory(), -1);
}

struct managers *bind_managers(PyObject *list, struct launch *l) {
    struct managers *ms = PyMem_Calloc(1, sizeof *ms);
    if (!ms) return PyErr_NoMemory(), NULL;
    ms->functions = (struct management){
        .dynamic = true, .may_start = may_start, .place = place, .next = next_request};
    if (complete(ms, list, l->cfg->sm_count) < 0) {
        bind_free_managers(ms);
        return NULL;
    }
    l->management = &ms->functions;
    l->managers = ms;
    return ms;
}

void bind_managers_begin(struct managers *ms, struct bind_pause *pause) { ms->pause = pause; }

/* An exception such as KeyboardInterrupt is no fault of the manager in which it arrived. */
static PyObject *stopped(const struct managers *ms) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ms->objects); i++) {
        PyObject *error = ms->raised[i].error;
        if (error && !PyErr_GivenExceptionMatches(error, PyExc_Exception)) return error;
    }
    return NULL;
}

PyObject *bind_raise_managed(const struct managers *ms, const struct outcome *out) {
    PyObject *error = stopped(ms);
    if (error) {
        raise_exception(Py_NewRef(error));
        return NULL;
    }
    bind_raise_outcome(out);
    error = out->fault.code == ERROR_MANAGEMENT ? ms->raised[out->fault.sm].error : NULL;
    if (error) {
        PyObject *raised = take_exception();
        PyException_SetCause(raised, Py_NewRef(error));
        raise_exception(raised);
    }
    return NULL;
}

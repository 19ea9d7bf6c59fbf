/* What the files of the CPython binding share: arguments in, error codes to exceptions. The
 * binding is module.c (tables, module), bind.c (this header) and one bind_*.c per part. */
#ifndef SMMUX_BIND_H
#define SMMUX_BIND_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#include "base/config.h"
#include "base/counters.h"
#include "base/errors.h"

/* Free-threaded interpreters lock the object; others have their GIL. */
#ifndef Py_BEGIN_CRITICAL_SECTION
#define Py_BEGIN_CRITICAL_SECTION(op) {
#define Py_END_CRITICAL_SECTION()     }
#endif

/* Put a new reference somewhere and drop it; -1 if it is NULL or that fails. */
int bind_append(PyObject *list, PyObject *item);
int bind_set(PyObject *dict, const char *key, PyObject *item);

/* Argument converters ("O&") of unsigned integers: OverflowError instead of wrapped bits. */
int bind_uint32(PyObject *object, void *out);
int bind_uint64(PyObject *object, void *out);

/* A sequence of `count` unsigned 32-bit integers; -1 with an exception. */
int bind_words(PyObject *object, uint32_t *out, Py_ssize_t count, const char *what);

/* The values of config.def in their order; bind_machine checks them too, and bind_memory those of
 * detailed memory whatever the machine's memory is. */
int bind_config(PyObject *object, struct config *cfg);
int bind_machine(PyObject *object, struct config *cfg);
int bind_memory(PyObject *object, struct config *cfg);

/* The one place where error codes become exceptions, with what checks had found until then; returns
 * NULL. */
struct outcome;
PyObject *bind_raise(const struct fault *f);
PyObject *bind_raise_outcome(const struct outcome *out);

PyObject *bind_counters(const struct counters *c);

/* A run without the GIL, between bind_pause and bind_resume. Ctrl-C reaches it through
 * bind_interrupted (the context is the pause): every 50 ms it takes the GIL back and calls poll(),
 * which ends the run by raising. poll: may be NULL or None. */
struct bind_pause {
    PyObject *poll;
    PyThreadState *thread;
    unsigned long launcher;          /* the thread that has given the GIL up */
    PyInterpreterState *interpreter; /* which runs it */
    int64_t polled;                  /* ms */
    int64_t ended, sampled;          /* ms: the last block that was seen to end, the last sample */
    uint32_t finished;               /* blocks, then */
};
void bind_pause(struct bind_pause *p, PyObject *poll);
void bind_resume(struct bind_pause *p);
bool bind_interrupted(void *context);
/* The same for launches, whose poll is called with the cycle, the blocks that have ended, how many
 * there are, and where the warps are if the kernel seems to spin, else None. */
struct watch;
bool bind_watched(void *context, struct watch *watch);
/* Between these two a host thread of such a run may use Python. The launching thread takes its GIL
 * back; any other one attaches a thread state of the launching interpreter, whichever that is, and
 * drops it afterwards. False: out of memory. */
bool bind_enter(struct bind_pause *p, PyThreadState **own);
void bind_leave(struct bind_pause *p, PyThreadState *own);

/* bind_management.c: objects that manage the shared memory of an SM each, for a run between begin
 * and free. NULL with an exception if they are not one per SM. */
struct managers;
struct launch;
struct managers *bind_managers(PyObject *list, struct launch *l);
void bind_managers_begin(struct managers *ms, struct bind_pause *pause);
void bind_free_managers(struct managers *ms);
/* Like bind_raise_outcome, with the exception of a manager as the cause. */
PyObject *bind_raise_managed(const struct managers *ms, const struct outcome *out);

/* bind_launch.c, bind_models.c, bind_replay.c: functions of the module. */
#define BIND_FUNCTION(name)                                                                        \
    extern const char bind_##name##_doc[];                                                         \
    PyObject *bind_##name(PyObject *module, PyObject *args, PyObject *kwargs);
BIND_FUNCTION(launch)
BIND_FUNCTION(config_fault)
BIND_FUNCTION(occupancy)
BIND_FUNCTION(bank_passes)
BIND_FUNCTION(coalesce)
BIND_FUNCTION(dram_replay)
BIND_FUNCTION(dram_map)
BIND_FUNCTION(cache_replay)
BIND_FUNCTION(memory_replay)

/* bind_smm.c: adds the class Smm to the module. */
int bind_add_smm(PyObject *module);

#endif

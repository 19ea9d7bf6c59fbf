/* The module smmux._core: its tables, generated from the .def files, and its functions. */
#include "python/bind.h"

#include "kernel/program.h"

/* ---- tables ------------------------------------------------------------------------------ */

struct op_row {
    const char *name, *unit, *cls, *operands;
};

static const struct op_row op_rows[] = {
#define OP(id, name, unit, cls, operands) {name, #unit, #cls, operands},
#include "tables/ops.def"
};

static int add_steal(PyObject *module, const char *name, PyObject *value) {
    int status = value ? PyModule_AddObjectRef(module, name, value) : -1;
    Py_XDECREF(value);
    return status;
}

static PyObject *ops_table(void) {
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < (int)OP_COUNT; i++) {
        const struct op_row *row = &op_rows[i];
        PyObject *item = Py_BuildValue("(isss)", i, row->unit, row->cls, row->operands);
        if (bind_set(dict, row->name, item) < 0) Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *classes_table(void) {
    PyObject *dict = PyDict_New();
#define CLASS(id, name, doc)                                                                       \
    if (dict && bind_set(dict, #name, Py_BuildValue("(is)", (int)CLASS_##id, doc)) < 0)            \
        Py_CLEAR(dict);
#include "tables/classes.def"
    return dict;
}

static PyObject *config_table(void) {
    PyObject *list = PyList_New(0);
#define ROW(name, unit, min, max, doc)                                                             \
    if (list && bind_append(list, Py_BuildValue("(sskks)", name, unit, (unsigned long)min,         \
                                                (unsigned long)max, doc)) < 0)                     \
        Py_CLEAR(list);
#define PARAM(name, unit, min, max, doc) ROW(#name, unit, min, max, doc)
#include "tables/config.def"
#define CLASS(id, name, doc) ROW("lat_" #name, "clk", 1, 60000, "latency: " doc)
#include "tables/classes.def"
#define CLASS(id, name, doc) ROW("issue_" #name, "clk", 1, 60000, "issue interval: " doc)
#include "tables/classes.def"
#undef ROW
    return list;
}

static PyObject *counters_table(void) {
    PyObject *list = PyList_New(0);
#define COUNTER(name, unit, doc)                                                                   \
    if (list && bind_append(list, Py_BuildValue("(sss)", #name, unit, doc)) < 0) Py_CLEAR(list);
#include "tables/counters.def"
    return list;
}

static PyObject *pc_counters_table(void) {
    PyObject *list = PyList_New(0);
#define PC_COUNTER(name, unit, doc)                                                                \
    if (list && bind_append(list, Py_BuildValue("(sss)", #name, unit, doc)) < 0) Py_CLEAR(list);
#include "tables/pc_counters.def"
    return list;
}

static PyObject *waits_table(void) {
    PyObject *list = PyList_New(0);
#define WAIT(id, counter, words, doc)                                                              \
    if (list && bind_append(list, Py_BuildValue("(sss)", #id, #counter, words)) < 0) Py_CLEAR(list);
#include "tables/waits.def"
    return list;
}

static PyObject *errors_table(void) {
    PyObject *list = PyList_New(0);
#define ERROR(id, exception, text)                                                                 \
    if (list && bind_append(list, Py_BuildValue("(sss)", #id, #exception, text)) < 0)              \
        Py_CLEAR(list);
#include "tables/errors.def"
    return list;
}

static PyObject *findings_table(void) {
    PyObject *list = PyList_New(0);
#define FINDING(id, name, severity, doc, remedy)                                                   \
    if (list && bind_append(list, Py_BuildValue("(ssss)", name, severity, doc, remedy)) < 0)       \
        Py_CLEAR(list);
#include "tables/findings.def"
    return list;
}

static PyObject *policies_table(void) {
    PyObject *list = PyList_New(0);
#define POLICY(kind, name, doc)                                                                    \
    if (list && bind_append(list, Py_BuildValue("(sss)", #kind, #name, doc)) < 0) Py_CLEAR(list);
#include "tables/policies.def"
    return list;
}

static PyObject *policy_kinds_table(void) {
    PyObject *list = PyList_New(0);
#define POLICY(kind, name, doc)
#define POLICY_KIND(kind, option, doc)                                                             \
    if (list && bind_append(list, Py_BuildValue("(sss)", #kind, option, doc)) < 0) Py_CLEAR(list);
#include "tables/policies.def"
    return list;
}

static PyObject *names_table(const char *const *names, int count) {
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < count; i++)
        if (bind_set(dict, names[i], PyLong_FromLong(i)) < 0) Py_CLEAR(dict);
    return dict;
}

static const char *const atom_names[] = {
    "ADD",     "ADD_F32", "SUB", "MIN_S32", "MIN_U32", "MAX_S32", "MAX_U32", "MIN_F32",
    "MAX_F32", "AND",     "OR",  "XOR",     "EXCH",    "CAS",     "INC",     "DEC"};
static const char *const special_names[] = {"tid.x",   "tid.y",   "tid.z", "ctaid.x",
                                            "ctaid.y", "ctaid.z", "laneid"};
static const char *const uniform_names[] = {"imm", "param", "ntid", "nctaid", "const"};

/* What built this core: for bug reports. */
static const char build[] =
#if defined(__clang__)
    "clang " __clang_version__
#elif defined(__GNUC__)
    "gcc " __VERSION__
#else
    "unknown compiler"
#endif
#if defined(SMMUX_CHECK)
    ", with checks"
#elif defined(SMMUX_NO_CLONES)
    ", plain"
#endif
    ;

/* ---- the module -------------------------------------------------------------------------- */

#define CALL(name) (PyCFunction)(void (*)(void)) bind_##name
#define METHOD(name)                                                                               \
    { #name, CALL(name), METH_VARARGS | METH_KEYWORDS, bind_##name##_doc }

static PyMethodDef core_methods[] = {
    METHOD(launch),       METHOD(occupancy),     METHOD(bank_passes),
    METHOD(coalesce),     METHOD(dram_replay),   METHOD(dram_map),
    METHOD(cache_replay), METHOD(memory_replay), {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module) {
    if (add_steal(module, "OPS", ops_table()) < 0) return -1;
    if (add_steal(module, "CLASSES", classes_table()) < 0) return -1;
    if (add_steal(module, "CONFIG", config_table()) < 0) return -1;
    if (add_steal(module, "COUNTERS", counters_table()) < 0) return -1;
    if (add_steal(module, "PC_COUNTERS", pc_counters_table()) < 0) return -1;
    if (add_steal(module, "WAITS", waits_table()) < 0) return -1;
    if (add_steal(module, "ERRORS", errors_table()) < 0) return -1;
    if (add_steal(module, "FINDINGS", findings_table()) < 0) return -1;
    if (add_steal(module, "POLICIES", policies_table()) < 0) return -1;
    if (add_steal(module, "POLICY_KINDS", policy_kinds_table()) < 0) return -1;
    if (add_steal(module, "ATOMS", names_table(atom_names, ATOM_COUNT)) < 0) return -1;
    if (add_steal(module, "SPECIALS", names_table(special_names, SPECIAL_COUNT)) < 0) return -1;
    if (add_steal(module, "UNIFORMS", names_table(uniform_names, UNIFORM_KIND_COUNT)) < 0)
        return -1;
    if (PyModule_AddStringConstant(module, "BUILD", build) < 0) return -1;
    return bind_add_smm(module);
}

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
    .m_size = 0, /* no state */
    .m_methods = core_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&module_def); }

/* The module smmux._core: its tables, generated from the .def files, and its functions. */
#include "python/bind.h"

#include "kernel/program.h"
#include "kernel/sass.h"
#include "kernel/traits.h"
#include "sm/management.h"

/* ---- tables ------------------------------------------------------------------------------ */

struct op_row {
    const char *name, *cls;
    uint32_t traits;
    const char *operands;
};

static const struct op_row op_rows[] = {
#define OP(id, name, cls, traits, operands) {name, #cls, traits, operands},
#include "tables/ops.def"
};

static int add_steal(PyObject *module, const char *name, PyObject *value) {
    int status = value ? PyModule_AddObjectRef(module, name, value) : -1;
    Py_XDECREF(value);
    return status;
}

/* The names of the traits of an operation. */
static PyObject *traits_of(uint32_t traits) {
    PyObject *list = PyList_New(0);
#define TRAIT(id, name, doc)                                                                       \
    if (list && (traits & id) && bind_append(list, PyUnicode_FromString(name)) < 0) Py_CLEAR(list);
#include "tables/traits.def"
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static PyObject *traits_table(void) {
    PyObject *dict = PyDict_New();
#define TRAIT(id, name, doc)                                                                       \
    if (dict && bind_set(dict, name, PyUnicode_FromString(doc)) < 0) Py_CLEAR(dict);
#include "tables/traits.def"
    return dict;
}

static PyObject *units_table(void) {
    PyObject *list = PyList_New(0);
#define UNIT(id, name, least, most, doc)                                                           \
    if (list && bind_append(list, Py_BuildValue("(ss)", #name, doc)) < 0) Py_CLEAR(list);
#include "tables/units.def"
    return list;
}

static PyObject *ops_table(void) {
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < (int)OP_COUNT; i++) {
        const struct op_row *row = &op_rows[i];
        PyObject *item =
            Py_BuildValue("(iNss)", i, traits_of(row->traits), row->cls, row->operands);
        if (bind_set(dict, row->name, item) < 0) Py_CLEAR(dict);
    }
    return dict;
}

/* Of each operation of compiled code its number, traits, class, operands and modifiers. */
static PyObject *sass_table(void) {
    PyObject *dict = PyDict_New();
#define SASS(id, cls, traits, operands)                                                            \
    if (dict && bind_set(dict, #id,                                                                \
                         Py_BuildValue("(iNssN)", (int)(OP_COUNT + SASS_##id), traits_of(traits),  \
                                       #cls, operands, PyDict_New())) < 0)                         \
        Py_CLEAR(dict);
#define MODIFIER(id, name, bits)                                                                   \
    if (dict && bind_set(PyTuple_GET_ITEM(PyDict_GetItemString(dict, #id), 4), name,               \
                         PyLong_FromLong((long)(bits))) < 0)                                       \
        Py_CLEAR(dict);
#include "tables/sass.def"
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
#define CLASS(id, name, doc) ROW("unit_" #name, "unit", 0, UNIT_KINDS - 1, "the units of: " doc)
#include "tables/classes.def"
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

static PyObject *limits_table(void) {
    PyObject *list = PyList_New(0);
#define LIMIT(key, name, blocks, doc)                                                              \
    if (list && bind_append(list, Py_BuildValue("(sss)", #key, name, doc)) < 0) Py_CLEAR(list);
#include "tables/limits.def"
    return list;
}

static PyObject *waits_table(void) {
    PyObject *list = PyList_New(0);
#define WAIT(id, counter, words, doc)                                                              \
    if (list && bind_append(list, Py_BuildValue("(sss)", #id, #counter, words)) < 0) Py_CLEAR(list);
#include "tables/waits.def"
    return list;
}

static PyObject *trace_table(void) {
    PyObject *list = PyList_New(0);
#define TRACE(id, name, doc)                                                                       \
    if (list && bind_append(list, Py_BuildValue("(ss)", #name, doc)) < 0) Py_CLEAR(list);
#include "tables/trace.def"
    return list;
}

static PyObject *samples_table(void) {
    PyObject *list = PyList_New(0);
#define ROW(name, unit, doc)                                                                       \
    if (list && bind_append(list, Py_BuildValue("(sss)", #name, unit, doc)) < 0) Py_CLEAR(list);
#define TRACED(counter, unit) ROW(counter, unit, "increase of the counter over the interval")
#define STATE(name, unit, doc)
#include "tables/trace.def"
#define WAIT(id, counter, words, doc)                                                              \
    ROW(counter, "clk", "increase of the counter over the interval")
#include "tables/waits.def"
#define STATE(name, unit, doc) ROW(name, unit, doc)
#include "tables/trace.def"
#undef ROW
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

static PyObject *managements_table(void) {
    PyObject *dict = PyDict_New();
#define POLICY_management(name, doc)                                                               \
    if (dict &&                                                                                    \
        bind_set(dict, #name, PyBool_FromLong(managements[MANAGEMENT_##name]->dynamic)) < 0)       \
        Py_CLEAR(dict);
#include "tables/policies.def"
    return dict;
}

struct named_number {
    const char *name;
    int number;
};

/* Names and numbers, up to the row without a name. */
static PyObject *numbers_table(const struct named_number *rows) {
    PyObject *dict = PyDict_New();
    for (; dict && rows->name; rows++)
        if (bind_set(dict, rows->name, PyLong_FromLong(rows->number)) < 0) Py_CLEAR(dict);
    return dict;
}

static const struct named_number constants[] = {
#define CONSTANT(name, value, doc) {#name, name},
#include "tables/encoding.def"
    {NULL, 0}};
static const struct named_number sass_fields[] = {
#define SOURCE_MODIFIER(name, bits, doc)   {#name, bits},
#define PREDICATES(name, shift, bits, doc) {#name, shift},
#include "tables/sass.def"
    {"NOT", SASS_NOT},
    {"FORM", SASS_FORM},
    {"DONE", SASS_DONE},
    {"GENERIC", SASS_GENERIC},
    {"STRONG", SASS_STRONG},
    {"SHARED_HIGH", SHARED_HIGH},
    {"LOCAL_HIGH", LOCAL_HIGH},
    {"ROUTINE_HIGH", ROUTINE_HIGH},
    {NULL, 0}};
static const struct named_number sass_control[] = {
#define CONTROL(name, shift, bits, doc) {#name, shift},
#include "tables/sass.def"
    {NULL, 0}};
static const struct named_number sass_registers[] = {
#define REGISTER(id, name, doc) {name, REGISTER_##id},
#include "tables/sass.def"
    {NULL, 0}};
static const struct named_number sass_routines[] = {
#define ROUTINE(id, name) {name, ROUTINE_##id},
#include "tables/sass.def"
    {NULL, 0}};
static const struct named_number flags[] = {
#define FLAG(name, value, doc) {#name, INSN_##name},
#include "tables/encoding.def"
    {NULL, 0}};
static const struct named_number atoms[] = {
#define NAME_atom(id, name, doc) {name, ATOM_##id},
#include "tables/encoding.def"
    {NULL, 0}};
static const struct named_number specials[] = {
#define NAME_special(id, name, doc) {name, SPECIAL_##id},
#include "tables/encoding.def"
    {NULL, 0}};
static const struct named_number uniforms[] = {
#define NAME_uniform(id, name, doc) {name, UNIFORM_##id},
#include "tables/encoding.def"
    {NULL, 0}};
static const struct named_number barriers[] = {
#define NAME_barrier(id, name, doc) {name, BAR_##id},
#include "tables/encoding.def"
    {NULL, 0}};
static const struct named_number shuffles[] = {
#define NAME_shuffle(id, name, doc) {name, SHFL_##id},
#include "tables/encoding.def"
    {NULL, 0}};
static const struct named_number votes[] = {
#define NAME_vote(id, name, doc) {name, VOTE_##id},
#include "tables/encoding.def"
    {NULL, 0}};

/* A type in the words of NumPy. */
#define NUMPY_TYPE(type)                                                                           \
    _Generic((type)0, uint8_t : "u1", uint16_t : "u2", uint32_t : "u4", int32_t : "i4")

static PyObject *insn_fields(void) {
    PyObject *list = PyList_New(0);
#define FIELD_insn(type, name, doc)                                                                \
    if (list && bind_append(list, Py_BuildValue("(ss)", #name, NUMPY_TYPE(type))) < 0)             \
        Py_CLEAR(list);
#include "tables/encoding.def"
    return list;
}

static PyObject *uniform_fields(void) {
    PyObject *list = PyList_New(0);
#define FIELD_uniform(type, name, doc)                                                             \
    if (list && bind_append(list, Py_BuildValue("(ss)", #name, NUMPY_TYPE(type))) < 0)             \
        Py_CLEAR(list);
#include "tables/encoding.def"
    return list;
}

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
    METHOD(config_fault),  METHOD(launch),        METHOD(occupancy), METHOD(bank_passes),
    METHOD(coalesce),      METHOD(dram_replay),   METHOD(dram_map),  METHOD(cache_replay),
    METHOD(memory_replay), {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module) {
    if (add_steal(module, "OPS", ops_table()) < 0) return -1;
    if (add_steal(module, "SASS", sass_table()) < 0) return -1;
    if (add_steal(module, "SASS_FIELDS", numbers_table(sass_fields)) < 0) return -1;
    if (add_steal(module, "SASS_CONTROL", numbers_table(sass_control)) < 0) return -1;
    if (add_steal(module, "SASS_ROUTINES", numbers_table(sass_routines)) < 0) return -1;
    if (add_steal(module, "SASS_REGISTERS", numbers_table(sass_registers)) < 0) return -1;
    if (add_steal(module, "TRAITS", traits_table()) < 0) return -1;
    if (add_steal(module, "UNITS", units_table()) < 0) return -1;
    if (add_steal(module, "CLASSES", classes_table()) < 0) return -1;
    if (add_steal(module, "CONFIG", config_table()) < 0) return -1;
    if (add_steal(module, "COUNTERS", counters_table()) < 0) return -1;
    if (add_steal(module, "PC_COUNTERS", pc_counters_table()) < 0) return -1;
    if (add_steal(module, "LIMITS", limits_table()) < 0) return -1;
    if (add_steal(module, "WAITS", waits_table()) < 0) return -1;
    if (add_steal(module, "TRACE", trace_table()) < 0) return -1;
    if (add_steal(module, "SAMPLES", samples_table()) < 0) return -1;
    if (add_steal(module, "ERRORS", errors_table()) < 0) return -1;
    if (add_steal(module, "FINDINGS", findings_table()) < 0) return -1;
    if (add_steal(module, "POLICIES", policies_table()) < 0) return -1;
    if (add_steal(module, "POLICY_KINDS", policy_kinds_table()) < 0) return -1;
    if (add_steal(module, "MANAGEMENTS", managements_table()) < 0) return -1;
    if (add_steal(module, "INSN", insn_fields()) < 0) return -1;
    if (add_steal(module, "UNIFORM", uniform_fields()) < 0) return -1;
    if (add_steal(module, "CONSTANTS", numbers_table(constants)) < 0) return -1;
    if (add_steal(module, "FLAGS", numbers_table(flags)) < 0) return -1;
    if (add_steal(module, "ATOMS", numbers_table(atoms)) < 0) return -1;
    if (add_steal(module, "SPECIALS", numbers_table(specials)) < 0) return -1;
    if (add_steal(module, "UNIFORMS", numbers_table(uniforms)) < 0) return -1;
    if (add_steal(module, "BARRIERS", numbers_table(barriers)) < 0) return -1;
    if (add_steal(module, "SHUFFLES", numbers_table(shuffles)) < 0) return -1;
    if (add_steal(module, "VOTES", numbers_table(votes)) < 0) return -1;
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

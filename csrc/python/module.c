/* The module smmux._core: its tables, generated from the .def files, and its functions. */
#include "python/bind.h"

#include "kernel/program.h"
#include "kernel/sass.h"
#include "kernel/traits.h"
#include "sm/management.h"

/* ---- tables ------------------------------------------------------------------------------ */

/* Rows of up to four texts; a row ends at its first NULL. */
struct texts {
    const char *columns[5];
};

#define COUNT(rows)       (sizeof(rows) / sizeof *(rows))
#define TEXTS_TABLE(rows) texts_table(rows, COUNT(rows))

static int add_steal(PyObject *module, const char *name, PyObject *value) {
    int status = value ? PyModule_AddObjectRef(module, name, value) : -1;
    Py_XDECREF(value);
    return status;
}

static PyObject *text_row(const struct texts *row) {
    Py_ssize_t width = 0;
    while (row->columns[width]) width++;
    PyObject *tuple = PyTuple_New(width);
    for (Py_ssize_t i = 0; tuple && i < width; i++) {
        PyObject *text = PyUnicode_FromString(row->columns[i]);
        if (text) PyTuple_SET_ITEM(tuple, i, text);
        else Py_CLEAR(tuple);
    }
    return tuple;
}

/* A list of tuples of texts. */
static PyObject *texts_table(const struct texts *rows, size_t count) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++)
        if (bind_append(list, text_row(&rows[i])) < 0) Py_CLEAR(list);
    return list;
}

static const struct texts units[] = {
#define UNIT(id, name, least, most, doc) {{#name, doc}},
#include "tables/units.def"
};
static const struct texts counters[] = {
#define COUNTER(name, unit, doc) {{#name, unit, doc}},
#include "tables/counters.def"
};
static const struct texts pc_counters[] = {
#define PC_COUNTER(name, unit, doc) {{#name, unit, doc}},
#include "tables/pc_counters.def"
};
static const struct texts limits[] = {
#define LIMIT(key, name, blocks, doc) {{#key, name, doc}},
#include "tables/limits.def"
};
static const struct texts waits[] = {
#define WAIT(id, counter, words, doc) {{#id, #counter, words}},
#include "tables/waits.def"
};
static const struct texts trace[] = {
#define TRACE(id, name, doc) {{#name, doc}},
#include "tables/trace.def"
};
static const struct texts samples[] = {
#define TRACED(counter, unit) {{#counter, unit, "increase of the counter over the interval"}},
#define STATE(name, unit, doc)
#include "tables/trace.def"
#define WAIT(id, counter, words, doc)                                                              \
    {{#counter, "clk", "increase of the counter over the interval"}},
#include "tables/waits.def"
#define STATE(name, unit, doc) {{#name, unit, doc}},
#include "tables/trace.def"
};
static const struct texts errors[] = {
#define ERROR(id, exception, text) {{#id, #exception, text}},
#include "tables/errors.def"
};
static const struct texts findings[] = {
#define FINDING(id, name, severity, doc, remedy) {{name, severity, doc, remedy}},
#include "tables/findings.def"
};
static const struct texts policies[] = {
#define POLICY(kind, name, doc) {{#kind, #name, doc}},
#include "tables/policies.def"
};
static const struct texts policy_kinds[] = {
#define POLICY(kind, name, doc)
#define POLICY_KIND(kind, option, doc) {{#kind, option, doc}},
#include "tables/policies.def"
};

/* A type in the words of NumPy. */
#define NUMPY_TYPE(type)                                                                           \
    _Generic((type)0, uint8_t : "u1", uint16_t : "u2", uint32_t : "u4", int32_t : "i4")

static const struct texts insn_fields[] = {
#define FIELD_insn(type, name, doc) {{#name, NUMPY_TYPE(type)}},
#include "tables/encoding.def"
};
static const struct texts uniform_fields[] = {
#define FIELD_uniform(type, name, doc) {{#name, NUMPY_TYPE(type)}},
#include "tables/encoding.def"
};

static const struct trait_row {
    uint32_t trait;
    const char *name, *doc;
} traits[] = {
#define TRAIT(id, name, doc) {id, name, doc},
#include "tables/traits.def"
};

/* The names of the traits of an operation. */
static PyObject *traits_of(uint32_t set) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < COUNT(traits); i++)
        if ((set & traits[i].trait) && bind_append(list, PyUnicode_FromString(traits[i].name)) < 0)
            Py_CLEAR(list);
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static PyObject *traits_table(void) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < COUNT(traits); i++)
        if (bind_set(dict, traits[i].name, PyUnicode_FromString(traits[i].doc)) < 0) Py_CLEAR(dict);
    return dict;
}

struct op_row {
    const char *name, *cls;
    uint32_t traits;
    const char *operands;
};

static const struct op_row op_rows[] = {
#define OP(id, name, cls, traits, operands) {name, #cls, traits, operands},
#include "tables/ops.def"
};
static const struct op_row sass_rows[] = {
#define SASS(id, cls, traits, operands) {#id, #cls, traits, operands},
#include "tables/sass.def"
};
static const struct modifier_row {
    const char *op, *name;
    int64_t bits;
} modifiers[] = {
#define MODIFIER(id, name, bits) {#id, name, (int64_t)(bits)},
#include "tables/sass.def"
};

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
    for (int i = 0; dict && i < (int)COUNT(sass_rows); i++) {
        const struct op_row *row = &sass_rows[i];
        PyObject *item = Py_BuildValue("(iNssN)", (int)OP_COUNT + i, traits_of(row->traits),
                                       row->cls, row->operands, PyDict_New());
        if (bind_set(dict, row->name, item) < 0) Py_CLEAR(dict);
    }
    for (size_t i = 0; dict && i < COUNT(modifiers); i++) {
        PyObject *own = PyTuple_GET_ITEM(PyDict_GetItemString(dict, modifiers[i].op), 4);
        if (bind_set(own, modifiers[i].name, PyLong_FromLongLong(modifiers[i].bits)) < 0)
            Py_CLEAR(dict);
    }
    return dict;
}

static const struct texts classes[] = {
#define CLASS(id, name, doc) {{#name, doc}},
#include "tables/classes.def"
};

static PyObject *classes_table(void) {
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < (int)COUNT(classes); i++) {
        const char *const *row = classes[i].columns;
        if (bind_set(dict, row[0], Py_BuildValue("(is)", i, row[1])) < 0) Py_CLEAR(dict);
    }
    return dict;
}

static const struct config_row {
    const char *name, *unit;
    uint32_t min, max;
    const char *doc;
} config_rows[] = {
#define PARAM(name, unit, min, max, doc) {#name, unit, min, max, doc},
#include "tables/config.def"
#define CLASS(id, name, doc) {"unit_" #name, "unit", 0, UNIT_KINDS - 1, "the units of: " doc},
#include "tables/classes.def"
#define CLASS(id, name, doc) {"lat_" #name, "clk", 1, 60000, "latency: " doc},
#include "tables/classes.def"
#define CLASS(id, name, doc) {"issue_" #name, "clk", 1, 60000, "issue interval: " doc},
#include "tables/classes.def"
};

static PyObject *config_table(void) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < COUNT(config_rows); i++) {
        const struct config_row *row = &config_rows[i];
        PyObject *item =
            Py_BuildValue("(ssIIs)", row->name, row->unit, row->min, row->max, row->doc);
        if (bind_append(list, item) < 0) Py_CLEAR(list);
    }
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
    {"NEAR", SASS_NEAR},
    {"SHARED_HIGH", SHARED_HIGH},
    {"LOCAL_HIGH", LOCAL_HIGH},
    {"ROUTINE_HIGH", ROUTINE_HIGH},
    {"JUMP_INSIDE", JUMP_INSIDE},
    {"JUMP_ANYWHERE", JUMP_ANYWHERE},
    {"JUMP_CALL", JUMP_CALL},
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
    if (add_steal(module, "UNITS", TEXTS_TABLE(units)) < 0) return -1;
    if (add_steal(module, "CLASSES", classes_table()) < 0) return -1;
    if (add_steal(module, "CONFIG", config_table()) < 0) return -1;
    if (add_steal(module, "COUNTERS", TEXTS_TABLE(counters)) < 0) return -1;
    if (add_steal(module, "PC_COUNTERS", TEXTS_TABLE(pc_counters)) < 0) return -1;
    if (add_steal(module, "LIMITS", TEXTS_TABLE(limits)) < 0) return -1;
    if (add_steal(module, "WAITS", TEXTS_TABLE(waits)) < 0) return -1;
    if (add_steal(module, "TRACE", TEXTS_TABLE(trace)) < 0) return -1;
    if (add_steal(module, "SAMPLES", TEXTS_TABLE(samples)) < 0) return -1;
    if (add_steal(module, "ERRORS", TEXTS_TABLE(errors)) < 0) return -1;
    if (add_steal(module, "FINDINGS", TEXTS_TABLE(findings)) < 0) return -1;
    if (add_steal(module, "POLICIES", TEXTS_TABLE(policies)) < 0) return -1;
    if (add_steal(module, "POLICY_KINDS", TEXTS_TABLE(policy_kinds)) < 0) return -1;
    if (add_steal(module, "MANAGEMENTS", managements_table()) < 0) return -1;
    if (add_steal(module, "INSN", TEXTS_TABLE(insn_fields)) < 0) return -1;
    if (add_steal(module, "UNIFORM", TEXTS_TABLE(uniform_fields)) < 0) return -1;
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

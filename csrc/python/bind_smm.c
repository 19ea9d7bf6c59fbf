/* Class Smm: the shared-memory management table. */
#include "python/bind.h"

#include "sm/smm.h"

struct smm_object {
    PyObject_HEAD struct smm table;
};

static struct smm *table_of(PyObject *self) { return &((struct smm_object *)(void *)self)->table; }

static PyObject *smm_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"capacity", "unit", "reserve", NULL};
    uint32_t capacity, unit = 16, reserve = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|O&O&:Smm", names, bind_uint32, &capacity,
                                     bind_uint32, &unit, bind_uint32, &reserve))
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

static PyObject *smm_object_alloc(PyObject *self, PyObject *args, bool dynamic) {
    uint32_t block, size, start;
    if (!PyArg_ParseTuple(args, "O&O&", bind_uint32, &block, bind_uint32, &size)) return NULL;
    bool placed;
    Py_BEGIN_CRITICAL_SECTION(self);
    placed = smm_alloc(table_of(self), block, size, dynamic, &start);
    Py_END_CRITICAL_SECTION();
    if (!placed) Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(start);
}

static PyObject *smm_object_static(PyObject *self, PyObject *args) {
    return smm_object_alloc(self, args, false);
}
static PyObject *smm_object_dynamic(PyObject *self, PyObject *args) {
    return smm_object_alloc(self, args, true);
}

static PyObject *smm_object_release(PyObject *self, PyObject *args) {
    uint32_t start;
    if (!PyArg_ParseTuple(args, "O&", bind_uint32, &start)) return NULL;
    bool found;
    Py_BEGIN_CRITICAL_SECTION(self);
    found = smm_release(table_of(self), start);
    Py_END_CRITICAL_SECTION();
    return PyBool_FromLong(found);
}

static PyObject *smm_entries(PyObject *self, PyObject *Py_UNUSED(none)) {
    struct smm copy;
    Py_BEGIN_CRITICAL_SECTION(self);
    copy = *table_of(self);
    Py_END_CRITICAL_SECTION();
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < SMM_ENTRIES; i++) {
        const struct smm_entry *e = &copy.entry[i];
        if (!e->valid) continue;
        if (bind_append(list, Py_BuildValue("(IIIO)", e->block, e->size, e->start,
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

int bind_add_smm(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &smm_spec, NULL);
    int status = type ? PyModule_AddObjectRef(module, "Smm", type) : -1;
    Py_XDECREF(type);
    return status;
}

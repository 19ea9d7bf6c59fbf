/* The models of the SM alone: occupancy, banks, coalescing, address maps. */
#include "python/bind.h"

#include "chip/gpu.h"
#include "memory/addrmap.h"
#include "memory/coalesce.h"
#include "sm/occupancy.h"
#include "sm/smem.h"

const char bind_config_fault_doc[] =
    PyDoc_STR("config_fault($module, config)\n--\n\n"
              "Which range or rule these machine parameters break, in words; None: none.");

PyObject *bind_config_fault(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs) {
    static char *names[] = {"config", NULL};
    PyObject *config;
    struct config cfg;
    struct fault f = {.code = OK};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:config_fault", names, &config)) return NULL;
    if (bind_config(config, &cfg) < 0) return NULL;
    if (config_check(&cfg, &f)) return PyUnicode_FromString(f.text);
    Py_RETURN_NONE;
}

const char bind_occupancy_doc[] =
    PyDoc_STR("occupancy($module, config, threads, regs, static_bytes, "
              "dynamic_bytes=0, extra_blocks=0)\n--\n\n"
              "Resident blocks per SM, what each resource alone allows, and the "
              "limiter. With dynamic_bytes the rules of dynamic management.");

PyObject *bind_occupancy(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs) {
    static char *names[] = {"config",        "threads",      "regs", "static_bytes",
                            "dynamic_bytes", "extra_blocks", NULL};
    PyObject *config;
    uint32_t threads, regs, fixed, dynamic = 0, extra = 0;
    uint32_t k = 0;
    struct config cfg;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO&O&O&|O&O&:occupancy", names, &config,
                                     bind_uint32, &threads, bind_uint32, &regs, bind_uint32, &fixed,
                                     bind_uint32, &dynamic, bind_uint32, &extra))
        return NULL;
    if (bind_machine(config, &cfg) < 0) return NULL;
    struct occupancy o = dynamic ? residency_compute(&cfg, threads, regs, fixed, dynamic, extra, &k)
                                 : occupancy_compute(&cfg, threads, regs, fixed);
    PyObject *found = Py_BuildValue("{s:I,s:I,s:s}", "blocks", o.blocks, "static_blocks",
                                    dynamic ? k : o.blocks, "limiter", limiter_name(o.limiter));
#define LIMIT(key, name, blocks, doc)                                                              \
    if (found && bind_set(found, #key, PyLong_FromUnsignedLong(o.key)) < 0) Py_CLEAR(found);
#include "tables/limits.def"
    return found;
}

static int access_arguments(PyObject *addresses, uint32_t width, uint32_t addr[32]) {
    if (bind_words(addresses, addr, 32, "addresses") < 0) return -1;
    if (width == 1 || width == 2 || width == 4 || width == 8 || width == 16) return 0;
    PyErr_SetString(PyExc_ValueError, "width: 1, 2, 4, 8 or 16 bytes");
    return -1;
}

const char bind_bank_passes_doc[] =
    PyDoc_STR("bank_passes($module, config, addresses, width=4, mask=0xffffffff)\n--\n\n"
              "(passes, ideal) of one shared-memory access of a warp: 32 byte addresses.");

PyObject *bind_bank_passes(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs) {
    static char *names[] = {"config", "addresses", "width", "mask", NULL};
    PyObject *config, *addresses;
    uint32_t width = 4, mask = 0xffffffffu;
    uint32_t addr[32];
    struct config cfg;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O&O&:bank_passes", names, &config,
                                     &addresses, bind_uint32, &width, bind_uint32, &mask))
        return NULL;
    if (bind_machine(config, &cfg) < 0 || access_arguments(addresses, width, addr) < 0) return NULL;
    struct smem_cost cost = smem_passes(&cfg, addr, mask, width);
    return Py_BuildValue("(II)", cost.passes, cost.ideal);
}

const char bind_coalesce_doc[] =
    PyDoc_STR("coalesce($module, config, addresses, width=4, mask=0xffffffff, store=False)\n--\n\n"
              "The transactions of one global access of a warp: list of (address, bytes, lanes).");

PyObject *bind_coalesce(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs) {
    static char *names[] = {"config", "addresses", "width", "mask", "store", NULL};
    PyObject *config, *addresses;
    uint32_t width = 4, mask = 0xffffffffu;
    int store = 0;
    uint32_t addr[32];
    struct config cfg;
    struct segment seg[COALESCE_MAX_SEGMENTS];
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O&O&p:coalesce", names, &config, &addresses,
                                     bind_uint32, &width, bind_uint32, &mask, &store))
        return NULL;
    if (bind_machine(config, &cfg) < 0 || access_arguments(addresses, width, addr) < 0) return NULL;
    const bool whole = width == 4 && mask == 0xffffffffu && coalesce_is_line(addr);
    uint32_t n = whole  ? coalesce_whole(&cfg, addr[0], store != 0, seg)
                 : mask ? coalesce(&cfg, addr, mask, width, store != 0, seg)
                        : 0;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++)
        if (bind_append(list, Py_BuildValue("(III)", seg[i].addr, seg[i].bytes, seg[i].lanes)) < 0)
            Py_CLEAR(list);
    return list;
}

const char bind_dram_map_doc[] =
    PyDoc_STR("dram_map($module, config, address)\n--\n\n"
              "(partition, slice, bank, row, address in the partition) of a device address.");

PyObject *bind_dram_map(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs) {
    static char *names[] = {"config", "address", NULL};
    PyObject *config;
    uint32_t address, local, in_slice;
    struct config cfg;
    struct addrmap map;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO&:dram_map", names, &config, bind_uint32,
                                     &address))
        return NULL;
    if (bind_memory(config, &cfg) < 0) return NULL;
    addrmap_init(&map, &cfg);
    uint32_t partition = addrmap_partition(&map, address, &local);
    return Py_BuildValue("(IIIII)", partition, addrmap_slice(&map, local, &in_slice),
                         bit_field_of(&map.bank, local), bit_field_of(&map.row, local), local);
}

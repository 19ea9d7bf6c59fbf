/* The machine, as numbers: generated from config.def and classes.def. */
#ifndef SMMUX_CONFIG_H
#define SMMUX_CONFIG_H

#include <stdint.h>

struct config {
#define PARAM(name, unit, min, max, doc) uint32_t name;
#include "config.def"
#define CLASS(id, name, doc) uint32_t lat_##name;
#include "classes.def"
#define CLASS(id, name, doc) uint32_t issue_##name;
#include "classes.def"
};

#endif

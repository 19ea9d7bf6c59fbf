/* The machine, as numbers: generated from config.def and classes.def. */
#ifndef SMMUX_CONFIG_H
#define SMMUX_CONFIG_H

#include <stdint.h>

struct config {
#define PARAM(name, unit, min, max, doc) uint32_t name;
#include "tables/config.def"
#define CLASS(id, name, doc) uint32_t lat_##name;
#include "tables/classes.def"
#define CLASS(id, name, doc) uint32_t issue_##name;
#include "tables/classes.def"
};

#endif

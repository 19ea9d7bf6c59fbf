/* The machine, as numbers: generated from config.def and classes.def. */
#ifndef SMMUX_CONFIG_H
#define SMMUX_CONFIG_H

#include <stdint.h>

#include "base/errors.h"

struct config {
#define PARAM(name, unit, min, max, doc) uint32_t name;
#include "tables/config.def"
#define CLASS(id, name, doc) uint32_t lat_##name;
#include "tables/classes.def"
#define CLASS(id, name, doc) uint32_t issue_##name;
#include "tables/classes.def"
};

/* Refuse parameters outside the ranges of config.def, and combinations that make no machine. */
enum error config_check(const struct config *cfg, struct fault *fault);

#endif

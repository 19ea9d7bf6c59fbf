/* The machine, as numbers: generated from config.def and classes.def. */
#ifndef SMMUX_CONFIG_H
#define SMMUX_CONFIG_H

#include <stdint.h>

#include "base/errors.h"
#include "base/policies.h"

struct config {
#define PARAM(name, unit, min, max, doc) uint32_t name;
#include "tables/config.def"
#define CLASS(id, name, doc) uint32_t lat_##name;
#include "tables/classes.def"
#define CLASS(id, name, doc) uint32_t issue_##name;
#include "tables/classes.def"
};

/* Refuse parameters outside the ranges of config.def, and those that break a rule of rules.def. */
enum error config_check(const struct config *c, struct fault *f);
/* Refuse what breaks a rule of detailed memory, whichever memory the machine has. */
enum error config_check_memory(const struct config *c, struct fault *f);

#endif

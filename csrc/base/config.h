/* The machine, as numbers: generated from config.def and classes.def. */
#ifndef SMMUX_CONFIG_H
#define SMMUX_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errors.h"
#include "base/policies.h"

/* Kinds of execution units, in the order of units.def. */
enum unit {
#define UNIT(id, name, least, most, doc) UNIT_##id,
#include "tables/units.def"
    UNIT_KINDS
};

/* All parameters, as many uint32_t side by side. */
struct config {
#define PARAM(name, unit, min, max, doc) uint32_t name;
#include "tables/config.def"
#define CLASS(id, name, doc) uint32_t unit_##name;
#include "tables/classes.def"
#define CLASS(id, name, doc) uint32_t lat_##name;
#include "tables/classes.def"
#define CLASS(id, name, doc) uint32_t issue_##name;
#include "tables/classes.def"
};

/* The caches, in the order of caches.def. */
enum config_cache {
#define CACHE(name, what, without, most, least_line, most_line) SHAPE_##name,
#include "tables/caches.def"
    SHAPE_COUNT
};

/* What makes a cache. */
struct cache_shape {
    uint32_t bytes, line, ways; /* bytes = sets * ways * line; any number of sets */
    uint32_t sector;            /* bytes per valid bit; at most 8 sectors in a line */
    uint32_t mshrs;             /* pending misses */
    bool hashed;                /* set index folds the upper line bits in */
    bool shared;                /* `bytes` are shared by 512 sets of so many ways (memory/sets.h) */
};

/* The largest value of each parameter, as far as an int can say it: arrays have that length. */
enum config_most {
#define PARAM(name, unit, min, max, doc) MOST_##name = (max) < INT32_MAX ? (int)(max) : INT32_MAX,
#include "tables/config.def"
};

/* The shape of a cache of the machine. */
struct cache_shape config_shape(const struct config *c, enum config_cache which);
/* How many units of a kind an SM has. */
uint32_t config_units(const struct config *c, enum unit kind);
/* Refuse parameters outside the ranges of config.def, and those that break a rule of rules.def. */
enum error config_check(const struct config *c, struct fault *f);
/* Refuse what breaks a rule of detailed memory, whichever memory the machine has. */
enum error config_check_memory(const struct config *c, struct fault *f);

#endif

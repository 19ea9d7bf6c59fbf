/* Numbers of the policies of each kind, generated from policies.def. */
#ifndef SMMUX_POLICIES_H
#define SMMUX_POLICIES_H

enum {
#define POLICY_management(name, doc) MANAGEMENT_##name,
#include "tables/policies.def"
    MANAGEMENT_COUNT
};

enum {
#define POLICY_scheduler(name, doc) SCHEDULER_##name,
#include "tables/policies.def"
    SCHEDULER_COUNT
};

enum {
#define POLICY_dram(name, doc) DRAM_##name,
#include "tables/policies.def"
    DRAM_COUNT
};

enum {
#define POLICY_page(name, doc) PAGE_##name,
#include "tables/policies.def"
    PAGE_COUNT
};

enum {
#define POLICY_preload(name, doc) PRELOAD_##name,
#include "tables/policies.def"
    PRELOAD_COUNT
};

enum {
#define POLICY_schedule(name, doc) SCHEDULE_##name,
#include "tables/policies.def"
    SCHEDULE_COUNT
};

enum {
#define POLICY_dependence(name, doc) DEPENDENCE_##name,
#include "tables/policies.def"
    DEPENDENCE_COUNT
};

#endif

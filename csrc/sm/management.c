#include "sm/management.h"

#define POLICY_management(name, doc) extern const struct management management_##name;
#include "tables/policies.def"

const struct management *const managements[MANAGEMENT_COUNT] = {
#define POLICY_management(name, doc) &management_##name,
#include "tables/policies.def"
};

uint32_t management_bytes(const struct sm *sm, const struct block *b) {
    return b->started ? b->dynamic_bytes : sm->m->static_smem;
}

bool management_any(struct sm *sm, const struct block *b) {
    (void)sm;
    (void)b;
    return true;
}

bool management_two_ends(struct sm *sm, const struct block *b, uint32_t *at) {
    return smm_find(&sm->smm, management_bytes(sm, b), b->started, at);
}

uint32_t management_first_come(struct sm *sm, const uint32_t *slots, uint32_t count) {
    (void)sm;
    (void)slots;
    (void)count;
    return 0;
}

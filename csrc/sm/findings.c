#include "sm/findings.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

/* Whether a kind is an error, a warning or a note. */
static const char *const severities[] = {
#define FINDING(id, name, severity, doc, remedy) severity,
#include "tables/findings.def"
};

/* Upper bits of a product, which depend on all bits of the places. */
static uint32_t hash(uint32_t kind, const uint64_t place[2]) {
    const uint64_t h = (place[0] * 31 + place[1] + kind) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

void findings_add(struct findings *f, const struct finding *found, const uint64_t place[2]) {
    assert(found->kind < FINDING_KIND_COUNT);
    const bool swap = place[0] > place[1];
    const uint64_t key[2] = {place[swap], place[!swap]};
    const uint32_t mask = 2 * FINDINGS_MAX - 1;
    const bool error = severities[found->kind][0] == 'e';
    const uint32_t room = error ? FINDINGS_MAX : FINDINGS_WARNINGS;
    uint32_t at = hash(found->kind, key) & mask;
    /* The next free slot is taken where two pairs have one hash: the table is never more than half
     * full, so the search ends. */
    for (; f->slot[at]; at = (at + 1) & mask) {
        const uint32_t row = f->slot[at] - 1;
        if (f->row[row].kind == found->kind && !memcmp(f->place[row], key, sizeof key)) {
            f->row[row].count++;
            return;
        }
    }
    if (f->count >= room) { /* the example is lost, that there were more is not */
        f->lost++;
        return;
    }
    f->row[f->count] = *found;
    f->row[f->count].count = 1;
    memcpy(f->place[f->count], key, sizeof key);
    f->slot[at] = ++f->count;
}

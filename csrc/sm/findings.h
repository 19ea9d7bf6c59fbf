/* What the checks of a run found: a bounded table of pairs of source lines, with how often each was
 * seen and its first example. One per SM, and one for global memory, so the same whatever the
 * windows and host threads. Warnings and notes leave room for errors: none is lost unless there are
 * others. */
#ifndef SMMUX_FINDINGS_H
#define SMMUX_FINDINGS_H

#include <stddef.h>
#include <stdint.h>

enum finding_kind {
#define FINDING(id, name, severity, doc, remedy) FINDING_##id,
#include "tables/findings.def"
    FINDING_KIND_COUNT
};

/* Two accesses, or a thread and a barrier, that should not meet as they do. Threads and blocks are
 * numbered x first; thread[0] of block[0] did pc[0], the earlier of the two. */
struct finding {
    uint32_t kind; /* enum finding_kind */
    uint32_t pc[2], thread[2];
    uint32_t block[2];
    uint32_t address; /* byte offset in the array that pc[1] names, without one on the device; or in
                         the static or dynamic part of shared memory by its flags */
    uint32_t sm;
    uint32_t in_global; /* 1: the memory is the device's, else the block's own */
    uint64_t cycle;     /* of the first one */
    uint64_t count;
};

_Static_assert(sizeof(struct finding) == 56 && offsetof(struct finding, cycle) == 40,
               "the layout of smmux.results.checks.RECORD");

#define FINDINGS_MAX      512u /* distinct pairs per SM; a power of two */
#define FINDINGS_WARNINGS 256u /* rows that warnings and notes may take */

/* A hash table of rows. */
struct findings {
    struct finding row[FINDINGS_MAX];
    uint64_t place[FINDINGS_MAX][2];
    uint32_t slot[2 * FINDINGS_MAX]; /* hash table of row numbers + 1 */
    uint32_t count;
    uint64_t lost; /* occurrences of pairs that had no row left */
};

/* Count an occurrence; its kind and the places of its two instructions in the source, in any order,
 * decide which row it belongs to. */
void findings_add(struct findings *f, const struct finding *found, const uint64_t place[2]);

#endif

/* The functional effect of a memory transaction. */
#include "lanes.h"
#include "memsys.h"

static uint8_t *host_of(const struct access *a, uint32_t lane) {
    return a->buffer->host + (a->addr[lane] - a->buffer->address);
}

/* Full warps on consecutive words, the common case. */
static bool consecutive_words(const struct access *a, uint32_t lanes) {
    uint32_t differ = 0;
    if (a->width != 4 || lanes != 0xffffffffu) return false;
    for (uint32_t lane = 1; lane < 32; lane++) differ |= a->addr[lane] ^ (a->addr[0] + 4 * lane);
    return differ == 0;
}

/* A line may reach beyond the array; what lies there belongs to nobody. */
static void fill(struct access *a) {
    const struct buffer *b = a->buffer;
    const uint32_t line = a->addr[0], end = line + sizeof a->data[0];
    const uint32_t from = line < b->low ? b->low : line, to = end > b->high ? b->high : end;
    uint8_t *into = (uint8_t *)a->data[0];
    memset(into, 0, sizeof a->data[0]);
    /* from may lie before the array, inside the same host memory */
    memcpy(into + (from - line), b->host + ((int64_t)from - (int64_t)b->address), to - from);
}

static void load(struct access *a, uint32_t lanes) {
    if (a->flags & ACCESS_FILL) {
        fill(a);
        return;
    }
    if (consecutive_words(a, lanes)) {
        memcpy(a->data[0], host_of(a, 0), sizeof a->data[0]);
        return;
    }
    const uint32_t words = a->width <= 4 ? 1 : a->width / 4;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        const uint8_t *at = host_of(a, lane);
        for (uint32_t i = 0; i < words; i++) a->data[i][lane] = lane_load(at + 4 * i, a->width, a->flags & INSN_SIGNED);
    }
}

static void store(struct access *a, uint32_t lanes) {
    if (consecutive_words(a, lanes)) {
        memcpy(host_of(a, 0), a->data[0], sizeof a->data[0]);
        return;
    }
    const uint32_t words = a->width <= 4 ? 1 : a->width / 4;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        uint8_t *at = host_of(a, lane);
        for (uint32_t i = 0; i < words; i++) lane_store(at + 4 * i, a->width, a->data[i][lane]);
    }
}

void access_perform(struct access *a, uint32_t lanes) {
    switch (a->kind) {
    case ACCESS_LOAD: case ACCESS_TEXTURE: load(a, lanes); break;
    case ACCESS_STORE: store(a, lanes); break;
    case ACCESS_ATOM:
        for (uint32_t left = lanes; left; left &= left - 1) {
            const uint32_t lane = (uint32_t)__builtin_ctz(left);
            a->data[0][lane] = lane_atomic(host_of(a, lane), (enum atom_op)a->sub, a->data[0][lane], a->data[1][lane]);
        }
        break;
    default: break;
    }
}

// One step after another on asynchronous barriers in shared memory, and what each leaves behind: the words, and what
// every lane is told. mbarrier_vectors.py makes the steps.

enum { INIT, ARRIVE, ARRIVE_MANY, ARRIVE_PART, DROP, DROP_MANY, DROP_PART, EXPECT, COMPLETE, ARRIVE_EXPECT, DROP_EXPECT,
       TEST, TRY, COPY, COPY_ALONE, INVALIDATE };

#define WORDS 4

// An operation with a count: one that tells a lane nothing, one that tells it a state, one that answers yes or no.
#define DONE(operation) asm volatile(operation " [%0], %1;" ::"r"(at), "r"(many) : "memory")
#define TOLD(operation) asm volatile(operation " %0, [%1], %2;" : "=l"(state) : "r"(at), "r"(many) : "memory")
#define ASKED(operation)                                                                                                \
    asm volatile("{.reg .pred p; " operation " p, [%1], %2; selp.u64 %0, 1, 0, p;}"                                     \
                 : "=l"(state) : "r"(at), "r"(many & 1) : "memory")

extern "C" __global__ void steps(const int4 *todo, int count, const int *source, unsigned long long *words,
                                 unsigned long long *told) {
    __shared__ unsigned long long barriers[WORDS];
    __shared__ int copied[32];
    const int lane = threadIdx.x;
    if (lane < WORDS) barriers[lane] = 0;
    __syncwarp();
    for (int i = 0; i < count; i++) {
        const int4 step = todo[i]; // operation, its count (negative: that and the lane), lanes, barriers
        const int many = step.y < 0 ? -step.y + lane : step.y;
        const unsigned at = (unsigned)__cvta_generic_to_shared(&barriers[lane & step.w]);
        unsigned long long state = 0;
        if (step.z >> lane & 1) {
            switch (step.x) {
            case INIT: DONE("mbarrier.init.shared.b64"); break;
            case ARRIVE: asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory"); break;
            case ARRIVE_MANY: TOLD("mbarrier.arrive.shared.b64"); break;
            case ARRIVE_PART: TOLD("mbarrier.arrive.noComplete.shared.b64"); break;
            case DROP:
                asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
                break;
            case DROP_MANY: TOLD("mbarrier.arrive_drop.shared.b64"); break;
            case DROP_PART: TOLD("mbarrier.arrive_drop.noComplete.shared.b64"); break;
            case EXPECT: DONE("mbarrier.expect_tx.relaxed.cta.shared::cta.b64"); break;
            case COMPLETE: DONE("mbarrier.complete_tx.relaxed.cta.shared::cta.b64"); break;
            case ARRIVE_EXPECT: TOLD("mbarrier.arrive.expect_tx.shared::cta.b64"); break;
            case DROP_EXPECT: TOLD("mbarrier.arrive_drop.expect_tx.shared::cta.b64"); break;
            case TEST: ASKED("mbarrier.test_wait.parity.shared.b64"); break;
            case TRY: ASKED("mbarrier.try_wait.parity.shared.b64"); break;
            case COPY:
            case COPY_ALONE:
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
                                 (unsigned)__cvta_generic_to_shared(&copied[lane])),
                             "l"(source + lane)
                             : "memory");
                if (step.x == COPY) asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(at) : "memory");
                else asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at) : "memory");
                asm volatile("cp.async.wait_all;" ::: "memory");
                state = copied[lane];
                break;
            case INVALIDATE: asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(at) : "memory"); break;
            }
        }
        __syncwarp();
        for (const long long until = clock64() + 2000; clock64() < until;) {} // arrivals behind copies
        told[32 * i + lane] = state;
        if (lane < WORDS) words[WORDS * i + lane] = ((volatile unsigned long long *)barriers)[lane];
        __syncwarp();
    }
}

// How long a try that fails waits, and chains of operations.
extern "C" __global__ void times(long long *clocks) {
    __shared__ unsigned long long barrier;
    const unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
    unsigned holds;
    if (!threadIdx.x) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(1000) : "memory");
    __syncthreads();
    for (int i = 0; i < 8; i++) {
        const long long begin = clock64();
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                     : "=r"(holds) : "r"(at) : "memory");
        clocks[i] = clock64() - begin + holds;
    }
    for (int i = 8; i < 16; i++) {
        const long long begin = clock64();
        asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 1; selp.u32 %0, 1, 0, p;}"
                     : "=r"(holds) : "r"(at) : "memory");
        clocks[i] = clock64() - begin + holds;
    }
    for (int i = 16; i < 24; i++) {
        const long long begin = clock64();
        unsigned long long state;
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
        holds += (unsigned)state;
        clocks[i] = clock64() - begin + (holds == 12345);
    }
    for (int i = 24; i < 32; i++) {
        const long long begin = clock64();
        const unsigned old = atomicAdd((unsigned *)&barrier + 0, holds);
        holds += old;
        clocks[i] = clock64() - begin + (holds == 12345);
    }
}

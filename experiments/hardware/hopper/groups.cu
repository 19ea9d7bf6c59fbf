// In which order the groups of a warp go on whose lanes have parted. Each place of a kernel that is numbered is written down
// by the lowest lane of the group that is there: the clock and the number, and the group's lanes. Every lane has a list of
// its own, and only predicates choose the lane, so that writing parts nobody.
typedef unsigned int u32;
typedef unsigned long long u64;

#define LIST 256

__device__ __forceinline__ void at(u64 *&list, int place) {
    asm volatile("{ .reg .pred lowest; .reg .u32 lanes, below, when; .reg .u64 line;\n"
                 "activemask.b32 lanes; mov.u32 below, %%lanemask_lt; and.b32 below, below, lanes;\n"
                 "setp.eq.u32 lowest, below, 0; mov.u32 when, %%clock; shl.b32 when, when, 4; or.b32 when, when, %1;\n"
                 "mov.b64 line, {lanes, when}; @lowest st.global.u64 [%0], line; @lowest add.u64 %0, %0, 8; }"
                 : "+l"(list)
                 : "r"(place)
                 : "memory");
}

#define BEGIN                                                                                                           \
    list += threadIdx.x * LIST;                                                                                         \
    int t = threadIdx.x, x = data[t], s = 0;

// Branches in branches.
extern "C" __global__ void branches(const int *data, int *out, u64 *list) {
    BEGIN
    at(list, 0);
    if (x & 1) {
        at(list, 1);
        s += data[s];
        if (x & 2) {
            at(list, 2);
            s += data[s + 1];
            if (x & 4) {
                at(list, 3);
                s += data[s & 7];
            } else {
                at(list, 4);
                s -= data[s & 15];
            }
            at(list, 5);
        } else {
            at(list, 6);
            s += data[s & 3];
        }
        at(list, 7);
    } else {
        at(list, 8);
        s += data[(s + 1) & 31];
        if (x & 4) {
            at(list, 9);
            s += data[s & 31];
        }
        at(list, 10);
        s *= data[s & 1];
    }
    at(list, 11);
    out[t] = s;
}

// Loops that lanes leave one by one, or go on with early.
extern "C" __global__ void loops(const int *data, int *out, u64 *list) {
    BEGIN
    for (int i = 0; i < x % 7 + 1; i++) {
        at(list, 1);
        s += data[(s + i) & 31];
        if ((s & 3) == 1) {
            at(list, 2);
            s += data[s & 15];
            continue;
        }
        at(list, 3);
        if ((s & 7) == 2) {
            at(list, 4);
            break;
        }
        at(list, 5);
        for (int j = 0; j < (x + i) % 3; j++) {
            at(list, 6);
            s += data[(s + j) & 31];
            if (s % 5 == 0) break;
            at(list, 7);
        }
        at(list, 8);
    }
    at(list, 9);
    out[t] = s;
}

// Jumps into and out of loops, whose lanes meet only at the end.
extern "C" __global__ void jumps(const int *data, int *out, u64 *list) {
    BEGIN
    int n = 0;
    if (x & 1) goto second;
first:
    at(list, 1);
    s += x;
    n++;
    if (n > 20) goto end;
    if (s % 3 == 0) goto third;
second:
    at(list, 2);
    s = s * 2 + 1;
    n += 2;
    if (s & 4) {
        if (n > 25) goto end;
        goto first;
    }
third:
    at(list, 3);
    x = (x * 5 + n) % 1000;
    n++;
    if (n > 30 || n < 0) goto end;
    if (x % 7 < 3) goto second;
    goto first;
end:
    at(list, 4);
    out[t] = s * 31 + n;
}

// All of it: a table of jumps, cases that fall through, and a way out of everything.
extern "C" __global__ void tables(const int *data, int *out, u64 *list) {
    BEGIN
    for (int i = 0; i < x % 9 + 1; i++) {
        at(list, 1);
        int j = i;
        do {
            at(list, 2);
            switch ((j * 7 + t) % 5) {
            case 0:
                at(list, 3);
                s += 1;
                break;
            case 1:
                at(list, 4);
                s += data[(t + j) % 32];
                if (s > 500) goto end;
            case 2:
                at(list, 5);
                s ^= j;
                continue;
            case 3:
                at(list, 6);
                for (int k = j; k < j + t % 3; k++) {
                    at(list, 7);
                    if (k % 4 == 3) break;
                    s += k;
                }
                break;
            default:
                at(list, 8);
                if ((s & 15) == 3) j += 2;
                s -= 3;
            }
            at(list, 9);
            if (s % 11 == 0) break;
        } while (++j < data[(t * 3) % 32] % 13);
        at(list, 10);
        s = s * 3 + i;
    }
end:
    at(list, 11);
    out[t] = s;
}

// A switch with code in each case.
extern "C" __global__ void cases(const int *data, int *out, u64 *list) {
    BEGIN
    for (int i = 0; i < 3; i++) {
        at(list, 0);
        switch ((x >> i) & 7) {
        case 0:
            at(list, 1);
            s += data[s & 31];
            break;
        case 1:
            at(list, 2);
            s -= data[s & 31] * 3;
            break;
        case 2:
            at(list, 3);
            s ^= data[(s + 1) & 31];
            break;
        case 3:
            at(list, 4);
            s *= data[s & 31];
            break;
        case 4:
            at(list, 5);
            s += 7 * data[s & 31];
            break;
        case 5:
            at(list, 6);
            s = data[s & 31] - s;
            break;
        case 6:
            at(list, 7);
            s |= data[(s + 2) & 31];
            break;
        default:
            at(list, 8);
            s &= data[s & 31];
        }
        at(list, 9);
    }
    out[t] = s;
}

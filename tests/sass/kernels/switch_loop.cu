// A jump table in a loop, early exits, a goto.
extern "C" __global__ void interpreter(const unsigned char *code, int length, int *stack, int depth)
{
    int *top = stack + threadIdx.x * depth, accumulator = 0;
    for (int pc = 0; pc < length; pc++) {
        switch (code[pc]) {
        case 0: accumulator += top[0]; break;
        case 1: accumulator -= top[1]; break;
        case 2: accumulator *= top[2]; break;
        case 3: accumulator /= top[3] ? top[3] : 1; break;
        case 4: top[0] = accumulator; break;
        case 5: if (accumulator > 100) return; break;
        case 6: pc += accumulator & 3; break;
        case 7: accumulator = __popc(accumulator) + __clz(accumulator) + __brev(accumulator); break;
        case 8: goto out;
        default: top[1] = accumulator ^ code[pc]; continue;
        }
    }
out:
    top[2] = accumulator;
}

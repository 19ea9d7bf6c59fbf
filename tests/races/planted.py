"""Kernels with one thing wrong: each is right with the lines that begin with "+", and wrong with those that begin
with "-" in their place.

t is the thread, T threads a block, g the block, G blocks, i the thread of the grid, n = G * T. The arrays a and b have
2 * n elements of any type, c has as many of int32, which are 0.
"""

from __future__ import annotations

from typing import NamedTuple

EVERY = ("GTX285", "GTX480-16K", "K20c")
UNCACHED = ("GTX285", "K20c")
"""Machines whose loads see what other SMs have stored, so that a loop that waits for it ends."""
WORDS = ("int32", "float32", "uint32")
DOUBLES = ("int64", "float64")
ANY = (*WORDS, *DOUBLES, "int16", "uint8")


class Planted(NamedTuple):
    """A kernel; what is raced for; the types of a and b, the machines, and the (grid, block) sizes that it takes."""

    body: str
    array: str = "a"
    dtypes: tuple[str, ...] = WORDS
    gpus: tuple[str, ...] = EVERY
    sizes: tuple[tuple[int, int], ...] = ((4, 64), (7, 128), (3, 96))


FEW = ((4, 64), (6, 128))
"""Sizes of which all blocks are resident, so that they may wait for each other."""

PLANTED: dict[str, Planted] = {
    # ---- blocks
    "elements of two blocks": Planted(
        """\
        +a[i] = i
        -a[i % (n - T)] = i + g
        """,
        dtypes=ANY,
    ),
    "a neighbour over the border": Planted(
        """\
        +b[i] = a[(i + 1) % n]
        -x = a[(i + 1) % n]
        -a[i] = x + a[i]
        """,
        dtypes=ANY,
    ),
    "a halo one too wide": Planted(
        """\
        a[i] += 1
        +if t == 0 and g > G:
        -if t == 0 and g > 0:
            a[i - 1] += 1
        """,
        dtypes=ANY,
    ),
    "a stencil in place": Planted(
        """\
        x = a[i]
        if t > 0 and t < T - 1:
            x = a[i - 1] + a[i + 1]
        -if t == 0 and g > 0:
        -    x = a[i - 1]
        cuda.syncthreads()
        a[i] = x
        """,
        dtypes=WORDS + DOUBLES,
    ),
    "a result of every block": Planted(
        """\
        if t == 0:
        +    a[g] = g
        -    a[0] = g
        """,
        dtypes=ANY,
    ),
    "one thread of one block": Planted(
        """\
        a[i] = i
        +if g == 2 and t == 7:
        +    a[i] = 3
        -if g == 2 and t == 7:
        -    a[i - T] = 3
        """,
        dtypes=ANY,
    ),
    "the last round of a loop": Planted(
        """\
        for k in range(9):
        +    a[i] += k
        -    a[(i + T * (k // 8)) % n] += k
        """,
    ),
    "blocks that never meet in time": Planted(
        """\
        a[i] = i
        if g == G - 1:
        +    a[i] = t
        -    a[t] = t + 1
        """,
        sizes=((400, 64), (300, 96)),
    ),
    "two phases of one kernel": Planted(
        """\
        a[i] = i
        +cuda.cg.this_grid().sync()
        -cuda.syncthreads()
        b[i] = a[n - 1 - i]
        """,
        dtypes=ANY,
        sizes=FEW,
    ),
    "the wrong buffer of two": Planted(
        """\
        for k in range(4):
        +    a[n * ((k + 1) % 2) + i] = a[n * (k % 2) + (i + T) % n]
        -    a[n * (k % 2) + i] = a[n * (k % 2) + (i + T) % n]
            cuda.cg.this_grid().sync()
        """,
        sizes=FEW,
    ),
    "a transpose in place": Planted(
        """\
        x, y = i // 16, i % 16
        +if x < 16:
        +    b[y * 16 + x] = a[x * 16 + y]
        -if x < 16:
        -    a[y * 16 + x] = a[x * 16 + y]
        """,
        sizes=((4, 64), (8, 32)),
    ),
    "levels of a search": Planted(
        """\
        +b[i] = a[(i * 5 + 1) % n]
        -if a[(i * 5 + 1) % n] == 0:
        -    a[i] = 1
        """,
    ),
    "bytes of a word": Planted(
        """\
        a[i] = i
        -if g == 1:
        -    a[i - 1] = i + 5
        """,
        dtypes=("uint8", "int16"),
    ),
    # ---- warps
    "a neighbour in another warp": Planted(
        """\
        a[i] = i
        +cuda.syncthreads()
        b[i] = a[T * g + (t + 32) % T]
        """,
        dtypes=ANY,
    ),
    "an element of two warps": Planted(
        """\
        +a[i] = i
        -a[T * g + t % 32] = i
        """,
        dtypes=ANY,
    ),
    "a tree in global memory": Planted(
        """\
        h = T // 2
        while h > 0:
            if t < h:
                a[i] += a[i + h]
        +    cuda.syncthreads()
        -    cuda.syncwarp()
            h //= 2
        """,
        sizes=((4, 128), (1, 256), (9, 128)),
        dtypes=WORDS + DOUBLES,
    ),
    "a scan in place": Planted(
        """\
        h = 1
        while h < T:
            x = a[i]
            if t >= h:
                x += a[i - h]
        +    cuda.syncthreads()
            a[i] = x
            cuda.syncthreads()
            h *= 2
        """,
    ),
    "a sum that others do not await": Planted(
        """\
        if t == 0:
            a[i] = 5
        +cuda.syncthreads()
        b[i] = a[T * g]
        """,
        dtypes=ANY,
    ),
    "a loop with one barrier": Planted(
        """\
        for k in range(5):
            a[i] = k
            cuda.syncthreads()
            b[i] += a[T * g + T - 1 - t]
        +    cuda.syncthreads()
        """,
    ),
    # ---- atomics
    "a plain addition among atomics": Planted(
        """\
        cuda.atomic.add(c, i % 7, 1)
        -if i == 40:
        -    c[3] += 1
        """,
        array="c",
    ),
    "a counter cleared by the kernel that counts": Planted(
        """\
        -if i == 0:
        -    c[0] = 0
        cuda.atomic.add(c, 0, 1)
        """,
        array="c",
    ),
    "a count read while others count": Planted(
        """\
        cuda.atomic.add(c, 0, 1)
        +cuda.cg.this_grid().sync()
        b[i] = c[0]
        """,
        array="c",
        sizes=FEW,
    ),
    "a queue without an atomic": Planted(
        """\
        if t == 0:
        +    k = cuda.atomic.add(c, 0, 1)
        -    k = c[0]
        -    c[0] = k + 1
            a[k] = g
        """,
        array="c",
    ),
    "sums of blocks, merged": Planted(
        """\
        if t < 16:
        +    cuda.atomic.add(a, t, 1)
        -    a[t] += 1
        """,
    ),
    # ---- fences, flags, locks
    "the last block, without a fence": Planted(
        """\
        done = cuda.shared.array(1, int32)
        if t == 0:
            a[g] = g
        +    cuda.threadfence()
            done[0] = cuda.atomic.add(c, 0, 1)
        cuda.syncthreads()
        if done[0] == G - 1 and t < G:
            b[t] = a[t]
        """,
        dtypes=ANY,
    ),
    "the last block, without a barrier": Planted(
        """\
        done = cuda.shared.array(1, int32)
        a[i] = i
        +cuda.syncthreads()
        if t == 0:
            cuda.threadfence()
            done[0] = cuda.atomic.inc(c.view(uint32), 0, 1000)
        cuda.syncthreads()
        if done[0] == G - 1:
            for k in range(G):
                b[k * T + t] = a[k * T + t]
        """,
        dtypes=ANY,
    ),
    "a flag without a fence": Planted(
        """\
        if g == 0 and t == 0:
            a[0] = 7
        +    cuda.threadfence()
            c[0] = 1
        if g == 1 and t == 0:
            while c[0] == 0:
                pass
            b[0] = a[0]
        """,
        dtypes=ANY,
        gpus=UNCACHED,
        sizes=FEW,
    ),
    "a flag in front of what it stands for": Planted(
        """\
        if g == 0 and t == 0:
        -    cuda.threadfence()
        -    cuda.atomic.exch(c, 0, 1)
            a[0] = 7
        +    cuda.threadfence()
        +    cuda.atomic.exch(c, 0, 1)
        if g == 1 and t == 0:
            while cuda.atomic.add(c, 0, 0) == 0:
                pass
            b[0] = a[0]
        """,
        sizes=FEW,
    ),
    "a look that does not wait": Planted(
        """\
        if t == 0:
            a[g] = g
            cuda.threadfence()
            cuda.atomic.exch(c, g, 1)
            if g > 0:
        +        while cuda.atomic.max(c, g - 1, 0) == 0:
        +            pass
                b[g] = a[g - 1]
        """,
        sizes=FEW,
    ),
    "no lock": Planted(
        """\
        if t == 0:
        +    while cuda.atomic.cas(c, 0, 0, 1) != 0:
        +        pass
        +    cuda.threadfence()
            a[0] += 1
            cuda.threadfence()
        +    cuda.atomic.exch(c, 0, 0)
        """,
        sizes=FEW,
    ),
    "a lock without a fence": Planted(
        """\
        if t == 0:
            while cuda.atomic.cas(c, 0, 0, 1) != 0:
                pass
            a[0] += 1
        +    cuda.threadfence()
            cuda.atomic.exch(c, 0, 0)
        """,
        dtypes=ANY,
        sizes=FEW,
    ),
    "a lock given back too early": Planted(
        """\
        if t == 0:
            while cuda.atomic.cas(c, 0, 0, 1) != 0:
                pass
        -    cuda.threadfence()
        -    cuda.atomic.exch(c, 0, 0)
            a[0] += 1
        +    cuda.threadfence()
        +    cuda.atomic.exch(c, 0, 0)
        """,
        sizes=FEW,
    ),
    "two locks for one thing": Planted(
        """\
        if t == 0:
        +    k = 0
        -    k = 32 * (g % 2)
            while cuda.atomic.cas(c, k, 0, 1) != 0:
                pass
            a[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(c, k, 0)
        """,
        sizes=FEW,
    ),
    "a barrier of one's own without a fence": Planted(
        """\
        a[i] = i
        cuda.syncthreads()
        if t == 0:
        +    cuda.threadfence()
            cuda.atomic.add(c, 0, 1)
            while cuda.atomic.add(c, 0, 0) < G:
                pass
        cuda.syncthreads()
        b[i] = a[n - 1 - i]
        """,
        dtypes=ANY,
        sizes=FEW,
    ),
    "a barrier of one's own that only some threads await": Planted(
        """\
        a[i] = i
        cuda.threadfence()
        cuda.syncthreads()
        if t == 0:
            cuda.atomic.add(c, 0, 1)
            while c[0] < G:
                pass
        +cuda.syncthreads()
        b[i] = a[n - 1 - i]
        """,
        gpus=UNCACHED,
        sizes=FEW,
    ),
    "sums in a chain of blocks": Planted(
        """\
        if t == 0:
            x = a[g]
            if g > 0:
        +        while c[g - 1] == 0:
        +            pass
                x += b[g - 1]
            b[g] = x
            cuda.threadfence()
            c[g] = 1
        """,
        array="b",
        dtypes=WORDS + DOUBLES,
        gpus=UNCACHED,
        sizes=FEW,
    ),
    "looking back over aggregates": Planted(
        """\
        if t == 0:
            a[g] = g
        +    cuda.threadfence()
            cuda.atomic.exch(c, g, 1)
            x, k = 0, g - 1
            while k >= 0:
                f = cuda.atomic.add(c, k, 0)
                if f == 2:
                    x += int32(b[k])
                    k = -1
                elif f == 1:
                    x += int32(a[k])
                    k -= 1
            b[g] = x + g
            cuda.threadfence()
            cuda.atomic.exch(c, g, 2)
        """,
        sizes=FEW,
    ),
}


def text_of(planted: Planted, right: bool) -> str:
    """The kernel's text."""
    head = [
        "t, T, g, G = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x, cuda.gridDim.x",
        "i, n = g * T + t, G * T",
    ]
    lines = []
    for line in planted.body.splitlines():
        text = line.removeprefix(" " * 8)
        if text.startswith(("+", "-")):
            lines += [text[1:]] if (text[0] == "+") == right else []
        else:
            lines.append(text)
    return "def f(a, b, c):\n" + "".join(f"    {line}\n" for line in head + lines)

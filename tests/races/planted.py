"""Races planted in kernels of all kinds."""

from __future__ import annotations

from .form import ANY, DOUBLES, FEW, WORDS, Planted
from .planted_fences import FENCED

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
    **FENCED,
}

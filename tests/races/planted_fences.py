"""Races planted in kernels whose blocks order each other: fences, flags, locks, barriers of one's own."""

from __future__ import annotations

from .form import ANY, DOUBLES, FEW, UNCACHED, WORDS, Planted

FENCED: dict[str, Planted] = {
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

"""Where shared memory may still be in use by the virtual block whose turn was last, while a kernel is written anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class InUse:
    """Whether a region has to wait at a barrier for the virtual block that used shared memory before it.

    now: whether that block may still use it at the place that is being written. at_jumps: whether it may where the loop
    around is left or its trip cut short. fresh: no region has been met yet.
    """

    def __init__(self) -> None:
        self.now = self.at_jumps = False
        self.fresh = True

    def barrier(self) -> None:
        """All threads have met, so that nobody is behind."""
        self.now = False

    def jump(self) -> None:
        """Some threads can leave or repeat the loop around from here."""
        self.at_jumps |= self.now

    def region(self) -> bool:
        """A region begins; True for the first of all."""
        first, self.fresh = self.fresh, False
        return first

    @contextmanager
    def two_turns(self, ends_at_barrier: bool) -> Iterator[None]:
        """Two virtual blocks take their turns, one written behind the other. ends_at_barrier: all threads meet behind
        the last of what they do, or a loop in it that differs has said whether they do."""
        self.now = True
        yield
        self.now = self.now or not ends_at_barrier

    @contextmanager
    def loop(self, regions: bool, always: bool) -> Iterator[None]:
        """A loop of which all virtual blocks make the same trips. regions: it has some, so that a trip can begin while
        memory is in use by the trip before. always: it makes at least one trip."""
        entered, around = self.now, self.at_jumps
        self.now, self.at_jumps = entered or regions, False
        yield
        self.now = self.now or self.at_jumps or entered and not always
        self.at_jumps = around

    @contextmanager
    def branch(self) -> Iterator[Callable[[], None]]:
        """A condition that is the same for all virtual blocks; gives what to call where its other side begins."""
        before, sides = self.now, [False]

        def other_side() -> None:
            sides.append(self.now)
            self.now = before

        yield other_side
        self.now |= sides[-1]

    @contextmanager
    def shared(self, loop: bool, synchronised: bool) -> Iterator[None]:
        """A statement list that all virtual blocks go through and some take part in, again and again in a loop.
        synchronised: all threads meet before each trip and behind the last."""
        self.now = (self.now or loop) and not synchronised
        yield
        self.now = self.now and not synchronised

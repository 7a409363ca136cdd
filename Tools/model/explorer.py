"""Breadth-first exploration of a model's states, shared by all models here.

A model offers `initial()` and `next(state)`, which yields (what happens, next state) and raises
`Violation` when something that may happen to `state` breaks a promise. States are hashable. Breadth first,
so the trace of a violation is a shortest one in steps of its model."""

import itertools
import time
from collections import namedtuple
from zlib import crc32

Result = namedtuple('Result', 'trace exhaustive states transitions depth seconds')
"""`trace`: the steps to a violation and what it is, or None. `exhaustive`: every state within the bounds was
seen."""

TORN = 'torn'


class Violation(Exception):
    """A broken promise; `event` is what happened last."""

    def __init__(self, event, message):
        super().__init__(message)
        self.event, self.message = event, message


MOST_STATES = 1_500_000  # some gigabytes


def explore(model, seconds, most_states=MOST_STATES):
    """Explores `model` for at most about `seconds`, or about `most_states`, which are kept in memory."""
    start = time.monotonic()
    first = model.initial()
    parents, level, depth, transitions = {first: None}, [first], 0, 0

    def result(trace, exhaustive):
        return Result(trace, exhaustive, len(parents), transitions, depth, time.monotonic() - start)

    while level:
        following = []
        for i, state in enumerate(level):
            if i % 64 == 0 and (time.monotonic() - start > seconds or len(parents) > most_states):
                return result(None, False)
            try:
                for label, successor in model.next(state):
                    transitions += 1
                    if successor not in parents:
                        parents[successor] = (state, label)
                        following.append(successor)
            except Violation as violation:
                return result(_trace(parents, state) + [violation.event, violation.message], False)
        level, depth = following, depth + 1
    return result(None, True)


def _trace(parents, state):
    steps = []
    while parents[state]:
        state, label = parents[state]
        steps.insert(0, label)
    return steps


# The disk of all models: a tuple of cells, and for each cell the writes that no flush has made durable yet.


def seen(disk, pending):
    """What a read gives: the newest write."""
    return tuple(p[-1] if p else d for d, p in zip(disk, pending))


def put(items, index, item):
    return items[:index] + (item,) + items[index + 1 :]


def wrote(pending, cell, content):
    return put(pending, cell, pending[cell] + (content,))


def images(disk, pending, spoilt=lambda cell, writes: ()):
    """Every content that a power cut can leave: in each cell the durable write, any later one, or what
    `spoilt(cell, writes)` adds, such as a torn one."""
    cells = [i for i, p in enumerate(pending) if p]
    choices = [list({disk[cell], *pending[cell], *spoilt(cell, pending[cell])}) for cell in cells]
    for picks in itertools.product(*choices):
        image = list(disk)
        for cell, content in zip(cells, picks):
            image[cell] = content
        yield tuple(image)


def checksum(content):
    """Stands for a group's or page's hash: equal exactly for equal content."""
    return crc32(repr(content).encode())


def kept_and_lost(disk, pending, image, name):
    """For traces: which pending writes an image has and lacks. `name(content)` is a word for a write."""
    kept, lost = [], []
    for old, writes, new in zip(disk, pending, image):
        if writes:
            (kept if new in writes and new != old else lost).append(
                name(new if new in writes else writes[-1])
            )
    return f'keeping [{", ".join(kept)}], losing [{", ".join(lost)}]'


def losses(disk, pending):
    """(cell, content) for each way in which a flush can lose a write: older content of its cell stays."""
    for cell, writes in enumerate(pending):
        for content in {disk[cell], *writes[:-1]} if writes else ():
            yield cell, content

"""Spill: a large open transaction writes finished pages before its checkpoint; a rollback forgets them.

Rules: [P-4] a place is written once with one stamp, [C-4] and [C-9] what checkpoints beside it may
allocate, [C-5] its flush, [C-8], [F-4] what a rollback may cut off the file's end.

A store has one tree page for each key. Small commits go to a journal that is taken as perfect here: `log`.
While a large transaction is open no small commit is made, but a checkpoint of earlier ones may run beside
it. One write may get lost: a flush reports success, the old content stays; then 'page damaged' is a right
answer, a wrong state is not.
"""

from collections import namedtuple

from explorer import Violation, images, kept_and_lost, losses, put, seen, wrote

MUTANTS = {
    'same_place': '[P-4] a page that changed after it was spilled is written again in its place',
    'same_attempt': '[P-4] a transaction after a rollback has the stamp of the one before',
    'takes_spilled': '[C-4] a checkpoint beside the transaction allocates pages that it has spilled',
    'spills_needed': '[C-8] pages are spilled over what the header in the other slot needs',
    'no_flush': '[C-5] a transaction that was spilled whole is not flushed before the header',
    'cuts_all': '[F-4] a rollback cuts the file at its old end, whatever else lies behind it',
}

Page = namedtuple('Page', 'stamp version')
Header = namedtuple('Header', 'gen start refs')  # start: log entries that the pages contain
Big = namedtuple('Big', 'versions pages places stamp end')
"""The open transaction: changed versions by key, the reference of those that are spilled, all places written,
its stamp, and where the file ended when it began.
"""
Memory = namedtuple('Memory', 'versions log header refs old checkpoint big session attempt end')
Checkpoint = namedtuple('Checkpoint', 'phase header pages versions big')
State = namedtuple('State', 'disk pending memory lost left')
Left = namedtuple('Left', 'commits bigs spills checkpoints rollbacks crashes losses')

POOL = 2


class Model:
    """Bounds are counts of events in a history. `tail`: spilled pages go behind the file's old end."""

    def __init__(
        self, mutant=None, keys=2, pages=7, commits=1, bigs=2, spills=3, checkpoints=2, rollbacks=1,
        crashes=1, losses=1, tail=False,
    ):  # fmt: skip
        self.mutant, self.keys, self.pages, self.tail = mutant, keys, pages, tail
        self.left = Left(commits, bigs, spills, checkpoints, rollbacks, crashes, losses)

    def initial(self):
        stamp = (1, 0, 0)
        refs = tuple((key, stamp) for key in range(self.keys))
        header = Header(1, 0, refs)
        disk = (header, header) + (Page(stamp, 0),) * self.keys + (0,) * (self.pages - self.keys)
        versions = (0,) * self.keys
        memory = Memory(versions, (), header, refs, None, None, None, 0, 1, self.keys + 1)
        return State(disk, ((),) * len(disk), memory, None, self.left)

    # Recovery

    def recover(self, view, log):
        header = max((h for h in view[:2]), key=lambda h: h.gen)
        versions = []
        for page, stamp in header.refs:
            content = view[POOL + page]
            if not isinstance(content, Page) or content.stamp != stamp:
                return None
            versions.append(content.version)
        for key, version in log[header.start :]:
            versions[key] = version
        return header, tuple(versions)

    def judge(self, state, view, event):
        memory = state.memory
        result = self.recover(view, memory.log)
        if result is None:
            if state.lost is None:
                raise Violation(event, 'open says page damaged')
            return None
        checkpoint = memory.checkpoint
        allowed = [memory.versions]
        if checkpoint and checkpoint.big and checkpoint.phase in ('one', 'two'):
            allowed.append(checkpoint.versions)
        if result[1] not in allowed:
            raise Violation(event, f'recovered versions {result[1]}, allowed {allowed}')
        return result

    def reopen(self, state, view, result, left):
        header, versions = result
        disk = put(put(view, 0, header), 1, header)
        last = max((p for p, _ in header.refs), default=0)
        end = max(state.memory.end if not state.memory.big else state.memory.big.end, last + 1)
        memory = Memory(
            versions,
            state.memory.log,
            header,
            header.refs,
            None,
            None,
            None,
            state.memory.session + 1,
            1,
            end,
        )
        return State(disk, ((),) * len(disk), memory, state.lost, left)

    # Space

    def free(self, memory, for_spill=False):
        held = {page for page, _ in memory.header.refs}
        if memory.old and not (for_spill and self.mutant == 'spills_needed'):
            held |= {page for page, _ in memory.old.refs}
        if memory.checkpoint:
            held |= set(memory.checkpoint.pages) | {page for page, _ in memory.checkpoint.header.refs}
        if memory.big and (for_spill or self.mutant != 'takes_spilled'):
            held |= set(memory.big.places)
        first = memory.big.end if for_spill and self.tail else 0
        return [page for page in range(first, self.pages) if page not in held]

    # Steps

    def next(self, state):
        memory, left = state.memory, state.left
        if memory.big is None:
            if not (memory.checkpoint and memory.checkpoint.big):
                yield from self.without_big(state)
        else:
            yield from self.with_big(state)
        if memory.checkpoint:
            yield from self.checkpoint_step(state)
        elif left.checkpoints and memory.log[memory.header.start :]:
            after = self.freeze(state._replace(left=left._replace(checkpoints=left.checkpoints - 1)))
            if after:
                yield 'checkpoint: write pages', after
        yield from self.faults(state)

    def without_big(self, state):
        memory, left = state.memory, state.left
        if left.commits:
            for key in range(self.keys):
                version = max(memory.versions) + 1
                yield f'commit of key {key}', state._replace(
                    memory=memory._replace(
                        versions=put(memory.versions, key, version), log=memory.log + ((key, version),)
                    ),
                    left=left._replace(commits=left.commits - 1),
                )
        if left.bigs:
            attempt = memory.attempt if self.mutant != 'same_attempt' else 1
            stamp = (memory.header.gen + 1, memory.session, ('spill', attempt))
            big = Big((), (), (), stamp, memory.end)
            yield 'large transaction begins', state._replace(
                memory=memory._replace(big=big, attempt=memory.attempt + 1),
                left=left._replace(bigs=left.bigs - 1),
            )

    def with_big(self, state):
        memory, left, big = state.memory, state.left, state.memory.big
        versions, pages = dict(big.versions), dict(big.pages)
        for key in range(self.keys):
            if key not in versions or key in pages:
                version = (
                    max([*memory.versions, *versions.values()])
                    + 1
                    + 100 * (self.left.rollbacks - left.rollbacks)
                )
                changed = {**versions, key: version}
                kept = pages if self.mutant == 'same_place' else {k: p for k, p in pages.items() if k != key}
                dirty = tuple(sorted(changed.items()))
                yield f'it changes key {key}', state._replace(
                    memory=memory._replace(
                        big=big._replace(versions=dirty, pages=tuple(sorted(kept.items())))
                    )
                )
        for key in versions if left.spills else ():
            if key not in pages or self.mutant == 'same_place':
                yield from self.spill(state, key)
        if left.rollbacks:
            yield 'rollback', self.rollback(state)
        if not memory.checkpoint and versions:
            after = self.freeze_big(state)
            if after:
                yield 'large transaction commits: write the other pages', after

    def spill(self, state, key):
        memory, left, big = state.memory, state.left, state.memory.big
        pages = dict(big.pages)
        free = self.free(memory, for_spill=True)
        page = pages[key][0] if key in pages else free[0] if free else None
        if page is None:
            return
        pending = wrote(state.pending, POOL + page, Page(big.stamp, dict(big.versions)[key]))
        pages[key] = (page, big.stamp)
        big = big._replace(pages=tuple(sorted(pages.items())), places=big.places + (page,))
        yield f'it spills key {key} to page {page}', state._replace(
            pending=pending,
            memory=memory._replace(big=big, end=max(memory.end, page + 1)),
            left=left._replace(spills=left.spills - 1),
        )

    def rollback(self, state):
        """[C-9, F-4] Its pages are free again; what lies behind all that is in use may be cut off."""
        memory, big = state.memory, state.memory.big
        state = state._replace(
            memory=memory._replace(big=None), left=state.left._replace(rollbacks=state.left.rollbacks - 1)
        )
        if not self.tail:
            return state
        used = {p for p, _ in memory.header.refs} | ({p for p, _ in memory.old.refs} if memory.old else set())
        if memory.checkpoint:
            used |= {p for p, _ in memory.checkpoint.header.refs}
        end = big.end if self.mutant == 'cuts_all' else max([big.end] + [page + 1 for page in used])
        disk, pending = state.disk, state.pending
        for page in range(end, self.pages):
            disk, pending = put(disk, POOL + page, 0), put(pending, POOL + page, ())
        return state._replace(disk=disk, pending=pending, memory=state.memory._replace(end=end))

    def freeze(self, state):
        """A checkpoint of small commits."""
        memory = state.memory
        stamp = (memory.header.gen + 1, memory.session, memory.attempt)
        changed = sorted({key for key, _ in memory.log[memory.header.start :]})
        return self.write(state, changed, memory.versions, dict(), stamp, False)

    def freeze_big(self, state):
        """[C-9] What is not spilled yet is written; small commits before it go with it."""
        memory, big = state.memory, state.memory.big
        versions = list(memory.versions)
        for key, version in big.versions:
            versions[key] = version
        changed = {key for key, _ in big.versions} | {key for key, _ in memory.log[memory.header.start :]}
        keys = sorted(changed - set(dict(big.pages)))
        stamp = (memory.header.gen + 1, memory.session, memory.attempt)
        return self.write(state, keys, tuple(versions), dict(big.pages), stamp, True)

    def write(self, state, keys, versions, spilled, stamp, is_big):
        memory = state.memory
        free = self.free(memory)
        if len(free) < len(keys):
            return None
        refs, pending, pages = list(memory.header.refs), state.pending, []
        for key, ref in spilled.items():
            refs[key] = ref
        for key, page in zip(keys, free):
            refs[key] = (page, stamp)
            pages.append(page)
            pending = wrote(pending, POOL + page, Page(stamp, versions[key]))
        header = Header(memory.header.gen + 1, len(memory.log), tuple(refs))
        places = tuple(pages) + (memory.big.places if is_big else ())
        skips = is_big and not keys and self.mutant == 'no_flush'
        checkpoint = Checkpoint('flushed' if skips else 'written', header, places, versions, is_big)
        memory = memory._replace(
            checkpoint=checkpoint,
            attempt=memory.attempt + 1,
            big=None if is_big else memory.big,
            end=max([memory.end] + [page + 1 for page in pages]),
        )
        return state._replace(pending=pending, memory=memory)

    def flush(self, state, lost=None):
        disk = seen(state.disk, state.pending)
        if lost:
            disk = put(disk, *lost)
        return state._replace(disk=disk, pending=((),) * len(disk), lost=lost or state.lost)

    def checkpoint_step(self, state):
        """[C-5] to [C-8], each with the flush of the step before."""
        memory, left, checkpoint = state.memory, state.left, state.memory.checkpoint
        if checkpoint.phase in ('written', 'flushed'):
            ways = list(losses(state.disk, state.pending)) if left.losses else []
            for lost in [None] + ways:
                after = state
                if checkpoint.phase == 'written':
                    after = self.flush(state, lost)
                elif lost:
                    continue
                what = f'flush, which loses page {lost[0] - POOL}' if lost else 'flush'
                yield f'{what}, header to one slot', after._replace(
                    pending=wrote(after.pending, 0, checkpoint.header),
                    memory=memory._replace(checkpoint=checkpoint._replace(phase='one')),
                    left=left._replace(losses=left.losses - (lost is not None)),
                )
            return
        after = self.flush(state)
        if checkpoint.phase == 'one':
            memory = memory._replace(
                header=checkpoint.header,
                old=memory.header,
                checkpoint=checkpoint._replace(phase='two'),
            )
            pending = wrote(after.pending, 1, checkpoint.header)
            yield 'flush, header to the other slot', after._replace(pending=pending, memory=memory)
        else:
            versions = checkpoint.versions if checkpoint.big else memory.versions
            memory = memory._replace(old=None, checkpoint=None, versions=versions, refs=memory.header.refs)
            yield 'flush, done', after._replace(memory=memory)

    # Faults

    def faults(self, state):
        left = state.left
        for image in images(state.disk, state.pending):
            event = f'power cut {kept_and_lost(state.disk, state.pending, image, self.name)}, open'
            result = self.judge(state, image, event)
            if state.memory.checkpoint or state.memory.old:
                for slot in (0, 1):
                    if image[0] != image[1]:
                        older = put(image, slot, image[1 - slot])
                        self.judge(state, older, f'{event}; slot {slot} is rotten')
            if result and left.crashes and any(state.pending):
                yield event, self.reopen(state, image, result, left._replace(crashes=left.crashes - 1))

    @staticmethod
    def name(content):
        if isinstance(content, Header):
            return f'header {content.gen}'
        return f'page of version {content.version}' if isinstance(content, Page) else 'nothing'


BASE = [
    ('spill', dict(keys=2, pages=6, commits=1, checkpoints=1, bigs=1, spills=2, rollbacks=1)),
    ('a transaction after a rollback', dict(keys=1, pages=5, spills=3)),
    ('spill behind the end', dict(tail=True, pages=6, checkpoints=1, spills=2, losses=0)),
]
LONG = [
    ('two transactions', dict()),
    ('more of all', dict(commits=2, bigs=3, spills=4, checkpoints=3, rollbacks=2, crashes=2)),
    ('more behind the end', dict(commits=2, bigs=3, spills=4, checkpoints=3, rollbacks=2, tail=True)),
]
BOUNDS = {
    'same_attempt': dict(keys=1, commits=0, checkpoints=0),
    'spills_needed': dict(losses=0),
    'takes_spilled': dict(losses=0),
    'no_flush': dict(losses=0),
    'cuts_all': dict(losses=0, tail=True, commits=2),
}

"""Commits, checkpoints, crashes and recovery in one journal ring: the heart of the protocol.

Rules: [C-1], [C-3] to [C-9], [J-2], [J-4], [J-7], [O-1], [O-3] to [O-6], [V-1], [V-2], and that snapshots
keep their pages. Segments, the free map's pages and spilled pages have models of their own.

A store has a few keys, one tree page for each, named by the header with its stamp; a value is small, or a
run of one page. The journal has one cell for a group; a cell is used again every `ring` LSNs, so that it
keeps stale groups. Values repeat after a lost tail, as when a client tries again: that is how identical
groups arise. After a failed flush the cache shows writes that the disk lacks and that no later flush
repeats (`stuck`).
"""

from collections import namedtuple

from core_recovery import ROT, Group, Header, Page, Recovery, Run, RunPage
from explorer import TORN, Violation, checksum, images, kept_and_lost, put, seen, wrote

MUTANTS = {
    'own_run': '[C-1] one DSYNC write although a run of this very group is not flushed',
    'dsync': '[C-1] one DSYNC write although earlier groups are not flushed',
    'retry': '[C-3] the session goes on after a failed flush',
    'pages_unflushed': '[C-5] no flush between pages and header',
    'header_first': '[C-6] the header is written before the pages',
    'one_slot': '[C-7] the header is written to one slot only',
    'free_early': '[C-8] what header N-1 needs is reused before the first flush of header N',
    'snapshot_base': '[C-8] a snapshot counts the freeze of a large transaction that it does not see',
    'snapshot_runs': "[C-8] a snapshot's runs are kept like its tree pages, from the first header on",
    'ack_early': '[C-9] a large transaction is acknowledged after the first slot',
    'no_chain': '[J-2] a group is accepted without its chain',
    'no_header_chain': "[J-2] the first group is accepted without the header's chain",
    'no_run_check': '[J-2] a group is accepted without a look at its runs',
    'any_gap': '[J-4] any group behind a gap means damage',
    'claims_more': '[J-4] a group names the LSN before it as durable, flushed or not',
    'ring_over': '[J-7] groups are written over those that a header needs',
    'open_trusts': '[O-4] open takes what it read as durable',
    'not_rewritten': '[O-4] open flushes, but does not write again what a failed flush may have left out',
    'open_one_slot': '[O-4] open leaves the slots unequal',
    'no_session': '[O-5] groups carry no session id',
    'run_salt': '[V-1] runs are hashed without the session id',
    'run_early': '[V-2] the pages of a run are reused as soon as its value is gone',
}

Memory = namedtuple(
    'Memory',
    'values version dirty lsn chain durable runs header slot old checkpoint session attempt snapshot limbo',
)  # runs: (lsn, page) of the journal; limbo: pages that snapshots may need
Snapshot = namedtuple('Snapshot', 'base refs values')  # refs: None where a page of memory is read
Checkpoint = namedtuple('Checkpoint', 'phase header pages large values dirty')
State = namedtuple(
    'State', 'disk pending stuck memory allowed left'
)  # allowed[0]: the last acknowledged state
Left = namedtuple('Left', 'commits runs checkpoints crashes rots snapshots failures')


class Model(Recovery):
    """Bounds are counts of events in a history; `large`: whether large transactions occur."""

    def __init__(
        self, mutant=None, keys=2, ring=3, pages=6, commits=3, runs=1, checkpoints=1, crashes=1, rots=1,
        snapshots=0, failures=0, large=True,
    ):  # fmt: skip
        super().__init__(mutant, ring)
        self.keys, self.pages, self.large = keys, pages, large
        self.left = Left(commits, runs, checkpoints, crashes, rots, snapshots, failures)

    def initial(self):
        keys = range(self.keys)
        header = Header(0, 1, 0, 0, tuple((k, (0, 0, 0)) for k in keys), frozenset(keys))
        pages = [Page((0, 0, 0), 0)] * self.keys + [0] * (self.pages - self.keys)
        disk = (header, header) + (0,) * self.ring + tuple(pages)
        values = (0,) * self.keys
        memory = Memory(values, 0, frozenset(), 1, 0, 0, (), header, 0, None, None, 0, 0, None, ())
        return State(disk, ((),) * len(disk), frozenset(), memory, (values,), self.left)

    # The disk

    def write(self, state, cell, content):
        return state._replace(pending=wrote(state.pending, cell, content), stuck=state.stuck - {cell})

    def flush(self, state):
        """Everything but what is stuck becomes durable; acknowledges every commit that is not a large one."""
        pending = tuple(p if i in state.stuck else () for i, p in enumerate(state.pending))
        disk = tuple(
            d if i in state.stuck else s
            for i, (d, s) in enumerate(zip(state.disk, seen(state.disk, state.pending)))
        )
        memory = state.memory
        surfacing = (
            memory.checkpoint and memory.checkpoint.large and memory.checkpoint.phase in ('one', 'two')
        )
        if surfacing and self.mutant != 'ack_early':
            allowed = state.allowed
        else:
            allowed = state.allowed[-1:]
        memory = memory._replace(durable=memory.lsn - 1)
        return state._replace(disk=disk, pending=pending, memory=memory, allowed=allowed)

    # Recovery

    def judge(self, state, view, event):
        result = self.recover(view)
        if isinstance(result, str):
            raise Violation(event, f'open says {result}')
        if self.content(result.values) not in state.allowed:
            raise Violation(
                event,
                f'recovered {self.content(result.values)}, allowed {state.allowed}, the first is the last '
                'that was acknowledged',
            )
        return result

    def reopen(self, state, view, pending, result, left):
        """[O-4, O-5] The writer after recovery. `pending`: what only the cache has, after a kill."""
        allowed = state.allowed[: state.allowed.index(self.content(result.values)) + 1]
        memory = Memory(
            result.values, result.version, result.dirty, result.lsn, result.chain, result.lsn - 1,
            result.runs, result.header, result.slot, None, None, state.memory.session + 1, 0, None, (),
        )  # fmt: skip
        if pending is None:
            fresh = State(view, ((),) * len(view), frozenset(), memory, allowed, left)
        else:
            fresh = State(state.disk, pending, state.stuck, memory, allowed, left)
        if self.mutant != 'open_trusts':
            if self.mutant != 'not_rewritten':
                for group in result.groups:
                    if group.lsn > result.durable:
                        fresh = self.write(fresh, self.group_cell(group.lsn), group)
                        if isinstance(group.value, Run):
                            run = RunPage(group.value.version, group.value.salt)
                            fresh = self.write(fresh, self.page_cell(group.value.page), run)
            fresh = self.flush(fresh)
            for slot in (1 - result.slot, result.slot):
                if self.mutant not in ('open_one_slot', 'not_rewritten') or fresh.disk[slot] != result.header:
                    if self.mutant != 'open_one_slot':
                        fresh = self.flush(self.write(fresh, slot, result.header))
        elif pending is None:
            fresh = fresh._replace(allowed=fresh.allowed[-1:])
        again = self.recover(seen(fresh.disk, fresh.pending))
        if isinstance(again, str) or again[:5] != result[:5]:
            raise Violation('open twice', 'the second open finds another state')  # [O-6]
        return fresh

    # Space

    def free_pages(self, memory):
        """[C-4, C-8, V-2] Pages free in the map in use, and held by nothing else."""
        checkpoint, old = memory.checkpoint, memory.old
        used = set(memory.header.used) | (old.used if old else set())
        if checkpoint:
            used |= set(checkpoint.pages)
        if self.mutant == 'run_early':
            used |= checkpoint.header.used if checkpoint else set()
            used |= {v.page for v in memory.values if isinstance(v, Run)}
        else:
            used |= {page for _, page in memory.runs}
        snapshot = memory.snapshot
        if snapshot:
            for page, is_run, first, until in memory.limbo:
                if is_run and self.mutant != 'snapshot_runs':
                    first = 0  # the journal shows a run before any header names it
                if first <= snapshot.base < until:
                    used.add(page)
        return [page for page in range(self.pages) if page not in used]

    def room(self, memory):
        """[J-7]"""
        oldest = memory.old if memory.old and self.mutant != 'ring_over' else memory.header
        return memory.lsn - oldest.start < self.ring

    # Commits

    def commit(self, state, key, is_run, durable):
        memory = state.memory
        version = memory.version + 1
        value, own = version, None
        if is_run:
            free = self.free_pages(memory)
            if not free:
                return None
            own = free[0]
            value = Run(own, version, memory.session if self.mutant != 'run_salt' else 0)
            state = self.write(state, self.page_cell(own), RunPage(version, value.salt))
        dsync = self.may_dsync(state, own)
        known = memory.lsn - 1 if self.mutant == 'claims_more' else memory.durable
        session = memory.session if self.mutant != 'no_session' else 0
        content = (memory.lsn, memory.chain, known, session, key, value)
        group = Group(*content, checksum(content))
        values = put(memory.values, key, value)
        cell = self.group_cell(memory.lsn)
        state = self.write(state, cell, group)._replace(
            allowed=state.allowed + (self.content(values),),
            memory=memory._replace(
                values=values,
                version=version,
                dirty=memory.dirty | {key},
                lsn=memory.lsn + 1,
                chain=group.sum,
                runs=memory.runs + (((memory.lsn, own),) if is_run else ()),
            ),
        )
        if not durable:
            return state
        if not dsync:
            return self.flush(state)
        return state._replace(
            disk=put(state.disk, cell, group),
            pending=put(state.pending, cell, ()),
            memory=state.memory._replace(durable=memory.lsn),
            allowed=state.allowed[-1:],
        )

    def may_dsync(self, state, own):
        """[C-1] Whether one write that is durable by itself makes the commit durable."""
        if self.mutant == 'dsync':
            return True
        if any(state.pending[2 : 2 + self.ring]):
            return False
        pages = {page for _, page in state.memory.runs}
        if own is not None and self.mutant != 'own_run':
            pages.add(own)
        return not any(state.pending[self.page_cell(page)] for page in pages)

    # Checkpoints

    def freeze(self, state, large):
        """[C-4, C-9] Page numbers and stamps; the header that will be written."""
        memory = state.memory
        values, version, dirty, lsn, chain = (
            memory.values,
            memory.version,
            memory.dirty,
            memory.lsn,
            memory.chain,
        )
        gen = memory.header.gen + 1
        stamp = (gen, memory.session, memory.attempt)
        if large:
            version, lsn, chain = version + 1, lsn + 1, checksum(('large', stamp))
            values, dirty = (version,) * self.keys, frozenset(range(self.keys))
        free = self.free_pages(memory)
        if len(free) < len(dirty):
            return None
        refs, pages = list(memory.header.refs), []
        for key in sorted(dirty):
            pages.append(free.pop(0))
            refs[key] = (pages[-1], stamp)
        tree = {page for page, _ in refs}
        used = frozenset(tree | {v.page for v in values if isinstance(v, Run)})
        header = Header(gen, lsn, chain, version, tuple(refs), used)
        limbo = self.limbo(memory, header, tree) if memory.snapshot or state.left.snapshots else ()
        checkpoint = Checkpoint('frozen', header, tuple(pages), large, values, memory.dirty)
        return state._replace(
            memory=memory._replace(
                limbo=limbo, dirty=frozenset(), attempt=memory.attempt + 1, checkpoint=checkpoint
            )
        )

    def limbo(self, memory, header, tree):
        """(page, whether a run, first header, header that no longer has it) of what `header` gives up."""
        before = {page for page, _ in memory.header.refs}
        limbo = set(memory.limbo)
        limbo |= {
            (page, False, stamp[0], header.gen) for page, stamp in memory.header.refs if page not in tree
        }
        runs = (memory.header.used - before) | {page for _, page in memory.runs}
        for page in runs - header.used:
            first = memory.header.gen if page in memory.header.used else header.gen
            limbo.add((page, True, first, header.gen))
        return tuple(sorted(limbo))

    def write_pages(self, state):
        checkpoint = state.memory.checkpoint
        for key, (page, stamp) in enumerate(checkpoint.header.refs):
            if page in checkpoint.pages:
                state = self.write(state, self.page_cell(page), Page(stamp, checkpoint.values[key]))
        return state

    def write_header(self, state):
        """[C-6] From here on a large transaction may surface."""
        memory, checkpoint = state.memory, state.memory.checkpoint
        if checkpoint.large:
            header = checkpoint.header
            state = state._replace(allowed=state.allowed + (self.content(checkpoint.values),))
            memory = memory._replace(
                values=checkpoint.values, version=header.version, lsn=header.start, chain=header.chain
            )
        return self.write(state._replace(memory=memory), 1 - memory.slot, checkpoint.header)

    @staticmethod
    def at_phase(state, phase):
        return state._replace(
            memory=state.memory._replace(checkpoint=state.memory.checkpoint._replace(phase=phase))
        )

    def adopt(self, state, free):
        """Header N is the one in use; `free`: what only N-1 needs may be reused."""
        memory = state.memory
        header = memory.checkpoint.header
        runs = tuple(r for r in memory.runs if r[0] >= header.start) if free else memory.runs
        old = None if free else memory.header
        return state._replace(memory=memory._replace(header=header, slot=1 - memory.slot, old=old, runs=runs))

    def checkpoint_step(self, state):
        """[C-5] to [C-8]: each step begins with the flush of the one before."""
        phase = state.memory.checkpoint.phase
        if phase == 'frozen':
            if self.mutant == 'header_first':
                return 'header to one slot', self.at_phase(self.write_header(state), 'pages')
            return 'write pages', self.at_phase(self.write_pages(state), 'written')
        if phase == 'pages':
            return 'write pages', self.at_phase(self.write_pages(state), 'one')
        if phase == 'written':
            if self.mutant != 'pages_unflushed':
                state = self.flush(state)
            state = self.at_phase(self.write_header(state), 'one')
            if self.mutant == 'free_early':
                state = self.adopt(state, True)
            return 'flush, header to one slot', state
        state = self.flush(state)
        if phase == 'one':
            if self.mutant == 'free_early':
                done = state.memory._replace(checkpoint=None)
                return 'flush, done', state._replace(memory=done, allowed=state.allowed[-1:])
            if self.mutant == 'one_slot':
                state = self.adopt(state, True)
                done = state.memory._replace(checkpoint=None)
                return 'flush, done', state._replace(memory=done, allowed=state.allowed[-1:])
            state = self.adopt(state, False)
            state = self.write(state, 1 - state.memory.slot, state.memory.header)
            return 'flush, header to the other slot', self.at_phase(state, 'two')
        memory = state.memory
        runs = tuple(r for r in memory.runs if r[0] >= memory.header.start)
        memory = memory._replace(checkpoint=None, old=None, runs=runs)
        return 'flush, done', state._replace(memory=memory, allowed=state.allowed[-1:])

    # Snapshots in the process

    def begin_snapshot(self, state):
        """Its base is the last freeze whose state it sees."""
        memory, checkpoint = state.memory, state.memory.checkpoint
        sees = checkpoint and (not checkpoint.large or self.mutant == 'snapshot_base')
        base = checkpoint.header.gen if sees else memory.header.gen
        in_memory = set(memory.dirty) | (set(checkpoint.dirty) if checkpoint else set())
        refs = tuple(None if k in in_memory else memory.header.refs[k] for k in range(self.keys))
        return state._replace(memory=memory._replace(snapshot=Snapshot(base, refs, memory.values)))

    def check_snapshot(self, state):
        view = seen(state.disk, state.pending)
        for ref, value in zip(state.memory.snapshot.refs, state.memory.snapshot.values):
            if ref and view[self.page_cell(ref[0])] != Page(ref[1], value):
                raise Violation('read the snapshot', f'its tree page {ref[0]} is overwritten')
            if isinstance(value, Run) and not self._has_run(view, value):
                raise Violation('read the snapshot', f'its run in page {value.page} is overwritten')

    # Steps

    def next(self, state):
        memory, left, checkpoint = state.memory, state.left, state.memory.checkpoint
        if memory.snapshot:
            self.check_snapshot(state)
            yield 'end snapshot', state._replace(memory=memory._replace(snapshot=None))
        elif left.snapshots and not (checkpoint and checkpoint.large and checkpoint.phase in ('one', 'two')):
            yield 'begin snapshot', self.begin_snapshot(
                state._replace(left=left._replace(snapshots=left.snapshots - 1))
            )
        if left.commits and self.room(memory) and not (checkpoint and checkpoint.large):
            yield from self.commits(state)
        if memory.durable < memory.lsn - 1 and not (checkpoint and checkpoint.large):
            yield 'flush', self.flush(state)
        if checkpoint:
            yield self.checkpoint_step(state)
        elif left.checkpoints:
            yield from self.freezes(state)
        yield from self.faults(state)

    def commits(self, state):
        left = state.left
        for key in range(self.keys):
            for is_run in (False, True)[: 1 + (left.runs > 0)]:
                for durable in (False, True):
                    after = self.commit(state, key, is_run, durable)
                    if after:
                        kind = ('durable' if durable else 'relaxed') + ' commit' + ' of a run' * is_run
                        fewer = left._replace(commits=left.commits - 1, runs=left.runs - is_run)
                        yield f'{kind}, key {key}, LSN {state.memory.lsn}', after._replace(left=fewer)

    def freezes(self, state):
        left = state.left
        for large in (False, True):
            if large and (not left.commits or not self.large) or not large and not state.memory.dirty:
                continue
            after = self.freeze(state, large)
            if after:
                fewer = left._replace(commits=left.commits - large, checkpoints=left.checkpoints - 1)
                yield ('large transaction' if large else 'checkpoint') + ': freeze', after._replace(
                    left=fewer
                )

    # Faults

    def faults(self, state):
        left = state.left
        fewer = left._replace(crashes=left.crashes - 1)
        spoilt = lambda cell, writes: (TORN,) if 2 <= cell < 2 + self.ring else ()
        for image in images(state.disk, state.pending, spoilt):
            event = f'power cut {kept_and_lost(state.disk, state.pending, image, self.name)}, open'
            result = self.judge(state, image, event)
            if left.crashes and any(state.pending):
                yield event, self.reopen(state, image, None, result, fewer)
            for slot in (0, 1) if left.rots else ():
                rotten = put(image, slot, ROT)
                what = f'{event}; the slot with {self.name(image[slot])} is rotten'
                result = self.judge(state, rotten, what)
                if left.crashes:
                    yield what, self.reopen(state, rotten, None, result, fewer._replace(rots=left.rots - 1))
        if any(state.pending):
            yield from self.survivors(state, fewer)

    def survivors(self, state, fewer):
        """The process ends, by a kill or after a failed flush; the cache lives on."""
        view, left = seen(state.disk, state.pending), state.left
        result = self.judge(state, view, 'kill, open')
        if left.crashes:
            yield 'kill, open', self.reopen(state, view, state.pending, result, fewer)
        if left.failures:
            less = left._replace(failures=left.failures - 1)
            failed = state._replace(stuck=frozenset(i for i, p in enumerate(state.pending) if p), left=less)
            if self.mutant == 'retry':
                yield 'failed flush', failed
            else:
                yield 'failed flush, open', self.reopen(failed, view, state.pending, result, less)

    @staticmethod
    def name(content):
        if isinstance(content, Header):
            return f'header {content.gen}'
        if isinstance(content, Group):
            return f'group {content.lsn}'
        if isinstance(content, RunPage):
            return f'run of version {content.version}'
        return f'page of header {content.stamp[0]}' if isinstance(content, Page) else 'nothing'


SNAPSHOTS = dict(keys=1, snapshots=1, crashes=0, rots=0, checkpoints=2, ring=4, runs=2)
BASE = [
    ('commits, runs, large transactions', dict(keys=1, pages=5, commits=4)),
    ('two keys, two crashes', dict(commits=2, ring=2, crashes=2, rots=0, pages=5)),
    ('failed flush', dict(keys=1, pages=5, failures=1, rots=0, commits=2)),
    ('snapshots', dict(SNAPSHOTS, runs=1)),
]
LONG = [
    ('two keys', dict(commits=4, checkpoints=2)),
    ('two crashes', dict(crashes=2, commits=3, ring=2)),
    ('three runs', dict(commits=3, runs=3, rots=0, checkpoints=2)),
    (
        'one key, many commits',
        dict(keys=1, runs=0, pages=4, large=False, crashes=2, commits=6, checkpoints=3),
    ),
    ('snapshots', dict(snapshots=1, crashes=0, rots=0, checkpoints=3, pages=7, ring=4, runs=2, commits=3)),
    ('failed flushes', dict(failures=2, commits=4, rots=0)),
]
SMALL = dict(keys=1, rots=0, pages=5)
BOUNDS = {
    'own_run': SMALL,
    'dsync': SMALL,
    'retry': dict(SMALL, failures=1),
    'pages_unflushed': SMALL,
    'header_first': SMALL,
    'one_slot': dict(keys=1, pages=4, commits=4, checkpoints=2),
    'free_early': dict(keys=1, pages=5, rots=0),
    'snapshot_base': SNAPSHOTS,
    'snapshot_runs': SNAPSHOTS,
    'no_chain': dict(SMALL, commits=4),
    'no_header_chain': dict(keys=1, runs=0, rots=0, pages=4, large=False, commits=6, checkpoints=2),
    'claims_more': SMALL,
    'ring_over': dict(keys=1, ring=2, pages=5, commits=4),
    'open_trusts': SMALL,
    'not_rewritten': dict(SMALL, failures=1),
    'open_one_slot': dict(keys=1, pages=5, commits=4),
    'no_session': dict(SMALL, commits=4, ring=3),
    'run_salt': dict(SMALL, runs=2, commits=4),
    'run_early': dict(SMALL, runs=2),
}

"""Who sees what and when: appended and visible state, durable and relaxed commits, failed flushes, and a
reader in another process that pins its generation.

Rules: [C-2], [C-3], [C-9], [X-2], [X-3], group commit's part of [C-1].

A history is a sequence of transactions; a state is the number of them that it contains. Of the disk only
one thing is kept: how many transactions a power cut cannot take away (`safe`). Each checkpoint writes one
page, in the first place that nothing needs. Both processes see the page cache.
"""

from collections import namedtuple

from explorer import Violation

MUTANTS = {
    'covers_later': '[C-1] a flush acknowledges what was appended while it ran',
    'visible_at_append': '[C-2] a durable commit is seen when it is written',
    'relaxed_hidden': '[C-2] a relaxed commit is acknowledged, but not seen',
    'acknowledged_at_append': '[C-2] a durable commit is acknowledged when it is written',
    'retry': '[C-3] the session goes on after a failed flush',
    'failure_shows': '[C-3] after a failed flush readers see what it left unknown',
    'large_early': '[C-9] a large transaction is seen and acknowledged when one slot has its header',
    'large_no_lsn': '[C-9] a large transaction takes no LSN and leaves the chain as it was',
    'no_second_look': '[X-2] a reader does not look at the header again after it has pinned',
    'no_last_look': '[X-2] a reader does not look at the header again after it has read the journal',
    'ignores_pins': '[X-3] pages of a pinned generation are reused',
}

Commit = namedtuple('Commit', 'kind lsn before chain')  # kind: durable, relaxed or large
Header = namedtuple('Header', 'gen base lsn chain page')  # base: transactions in its pages
Writer = namedtuple('Writer', 'history lsn chain flight flushed safe lost visible acknowledged poisoned')
"""`flight`: what a running flush covers; `flushed`: what the writer takes for durable; `safe`: what is;
`lost`: a failed flush left out what lies between `safe` and this; `acknowledged`: the greatest index, for
durable and for relaxed.
"""
Checkpoint = namedtuple('Checkpoint', 'phase header large')
Reader = namedtuple('Reader', 'step header pin state lsn chain began')
State = namedtuple('State', 'slots pages writer checkpoint reader left')
Left = namedtuple('Left', 'commits larges checkpoints failures reads')

IDLE = Reader('idle', None, None, None, 0, 0, 0)


class Model:
    """Bounds are counts of events. `recheck`: whether a reader looks at the header after the journal."""

    def __init__(self, mutant=None, commits=3, larges=0, checkpoints=0, failures=1, reads=0, recheck=True):
        self.mutant, self.recheck = mutant, recheck and mutant != 'no_last_look'
        self.left = Left(commits, larges, checkpoints, failures, reads)

    def initial(self):
        header = Header(1, 0, 1, 'first', 0)
        writer = Writer((), 1, 'first', None, 0, 0, 0, 0, (0, 0), False)
        return State((header, header), (1, None, None), writer, None, IDLE, self.left)

    # Promises

    def check(self, state, event):
        writer = state.writer
        durable, relaxed = writer.acknowledged
        if durable > writer.safe:
            raise Violation(
                event, f'transaction {durable} is acknowledged as durable, but a power cut loses it'
            )
        if writer.visible < max(durable, relaxed):
            raise Violation(event, 'an acknowledged transaction is not seen')
        seen = writer.history[writer.safe : writer.visible]
        if seen and seen[-1].kind != 'relaxed':
            raise Violation(event, f'durable transaction {writer.visible} is seen, but a power cut loses it')
        return state

    # Steps

    def next(self, state):
        for label, after in self.steps(state):
            if after.writer.visible < state.writer.visible:
                raise Violation(label, 'what was seen is not seen any more')
            yield label, self.check(after, label)

    def steps(self, state):
        if not state.writer.poisoned:
            yield from self.commits(state)
            yield from self.flushes(state)
            yield from self.checkpoints(state)
        if self.left.reads:
            yield from self.reader(state)

    def commits(self, state):
        writer, left = state.writer, state.left
        if not left.commits or (state.checkpoint and state.checkpoint.large):
            return
        for kind in ('durable', 'relaxed'):
            history = writer.history + (Commit(kind, writer.lsn, writer.chain, len(writer.history) + 1),)
            after = writer._replace(history=history, lsn=writer.lsn + 1, chain=len(history))
            durable, relaxed = after.acknowledged
            if kind == 'relaxed':
                after = after._replace(acknowledged=(durable, len(history)))
                if self.mutant != 'relaxed_hidden':
                    after = after._replace(visible=len(history))
            elif self.mutant == 'visible_at_append':
                after = after._replace(visible=len(history))
            elif self.mutant == 'acknowledged_at_append':
                after = after._replace(visible=len(history), acknowledged=(len(history), relaxed))
            yield f'{kind} commit {len(history)} is appended', state._replace(
                writer=after, left=left._replace(commits=left.commits - 1)
            )

    def flushes(self, state):
        writer, left = state.writer, state.left
        if writer.flight is None:
            if writer.flushed < len(writer.history) and not state.checkpoint:
                yield 'flush begins', state._replace(writer=writer._replace(flight=len(writer.history)))
            return
        yield f'flush of {writer.flight} returns', state._replace(writer=self.flushed(writer, writer.flight))
        if left.failures:
            failed = writer._replace(flight=None, lost=len(writer.history), poisoned=self.mutant != 'retry')
            if self.mutant == 'failure_shows':
                failed = failed._replace(visible=len(writer.history))
            yield 'flush fails', state._replace(writer=failed, left=left._replace(failures=left.failures - 1))

    def flushed(self, writer, upto):
        """A flush that began when `upto` transactions were appended has returned."""
        covered = len(writer.history) if self.mutant == 'covers_later' else upto
        safe = writer.safe if writer.lost > writer.safe else max(writer.safe, upto)
        durable, relaxed = writer.acknowledged
        last = max([i + 1 for i, c in enumerate(writer.history[:covered]) if c.kind == 'durable'], default=0)
        return writer._replace(
            flight=None,
            flushed=max(writer.flushed, covered),
            safe=safe,
            visible=max(writer.visible, covered),
            acknowledged=(max(durable, last), relaxed),
        )

    def checkpoints(self, state):
        writer, left, checkpoint = state.writer, state.left, state.checkpoint
        if checkpoint:
            yield self.checkpoint_step(state)
            return
        if writer.flight is not None:
            return
        gen = state.slots[0].gen + 1
        if left.checkpoints and len(writer.history) > state.slots[0].base:
            header = Header(gen, len(writer.history), writer.lsn, writer.chain, None)
            yield 'checkpoint: freeze', state._replace(
                checkpoint=Checkpoint('pages', header, False),
                left=left._replace(checkpoints=left.checkpoints - 1),
            )
        if left.larges:
            number = len(writer.history) + 1
            lsn, chain = writer.lsn + 1, number
            if self.mutant == 'large_no_lsn':
                lsn, chain = writer.lsn, writer.chain
            header = Header(gen, number, lsn, chain, None)
            yield f'large transaction {number}', state._replace(
                checkpoint=Checkpoint('pages', header, True), left=left._replace(larges=left.larges - 1)
            )

    def checkpoint_step(self, state):
        writer, (phase, header, large) = state.writer, state.checkpoint
        if phase == 'pages':  # written and flushed, with every group to the frozen state
            place = self.place_for_page(state)
            pages = state.pages[:place] + (header.gen,) + state.pages[place + 1 :]
            flushed = self.flushed(writer, len(writer.history))
            frozen = Checkpoint('one', header._replace(page=place), large)
            return 'pages are written and flushed', state._replace(
                pages=pages, writer=flushed, checkpoint=frozen
            )
        if phase == 'one':
            if large:
                before = writer.history[-1].chain if writer.history else 'first'
                history = writer.history + (Commit('large', writer.lsn, before, header.chain),)
                writer = writer._replace(history=history, lsn=header.lsn, chain=header.chain)
                if self.mutant == 'large_early':
                    writer = self.large_done(writer)
            slots = (header, state.slots[1])
            return 'header to one slot', state._replace(
                slots=slots, writer=writer, checkpoint=Checkpoint('two', header, large)
            )
        if phase == 'two':
            return 'flush, header to the other slot', state._replace(
                slots=(header, header), checkpoint=Checkpoint('done', header, large)
            )
        if large:
            writer = self.large_done(writer._replace(safe=len(writer.history), flushed=len(writer.history)))
        return 'flush, done', state._replace(writer=writer, checkpoint=None)

    @staticmethod
    def large_done(writer):
        number = len(writer.history)
        return writer._replace(visible=number, acknowledged=(number, writer.acknowledged[1]))

    def place_for_page(self, state):
        """[C-8, X-3] The first place that no slot and no pin needs."""
        needed = {slot.page for slot in state.slots}
        pin = state.reader.pin
        if pin and self.mutant != 'ignores_pins':
            needed.add(pin.page)
        return min(place for place in range(len(state.pages)) if place not in needed)

    # A reader in another process, one read of the file at each step

    def reader(self, state):
        reader, left = state.reader, state.left
        newest = max(state.slots)

        def to(label, **changes):
            return f'reader: {label}', state._replace(reader=reader._replace(**changes))

        if reader.step == 'idle':
            if left.reads:
                acknowledged = max(state.writer.acknowledged)
                label, after = to('begins', step='header', began=acknowledged)
                yield label, after._replace(left=left._replace(reads=left.reads - 1))
        elif reader.step == 'header':
            if reader.header and newest.gen == reader.header.gen:
                yield to('the generation is the same', step='journal')
            else:
                yield to(f'reads header {newest.gen}', step='pin', header=newest)
        elif reader.step == 'pin':
            step = 'page' if self.mutant == 'no_second_look' else 'look'
            yield to('pins it', step=step, pin=reader.header)
        elif reader.step == 'look':
            if reader.header in state.slots:
                yield to('the header is still there', step='page')
            else:
                yield to('the header is gone', step='header', pin=None, header=None)
        elif reader.step == 'page':
            header = reader.header
            if state.pages[header.page] != header.gen:
                raise Violation(
                    'reader: reads the page', f'the page of generation {header.gen} is overwritten'
                )
            yield to('reads the page', step='journal', state=header.base, lsn=header.lsn, chain=header.chain)
        elif reader.step == 'journal':
            step = 'last look' if self.recheck else 'done'
            for recycled in (False, True):
                at, lsn, chain = self.replay(state, reader, recycled)
                label = 'reads the journal' + ', recycled for the header in both slots' * recycled
                yield to(label, step=step, state=at, lsn=lsn, chain=chain)
        elif reader.step == 'last look':
            if newest.gen == reader.header.gen:
                yield to('the generation is still the same', step='done')
            else:
                yield to('there is a newer generation', step='header')
        elif reader.step == 'done':
            if reader.state < reader.began:
                raise Violation(
                    'reader: done', f'sees {reader.state}, when {reader.began} was acknowledged before'
                )
            yield to('done', step='idle')

    def replay(self, state, reader, recycled):
        at, lsn, chain = reader.state, reader.lsn, reader.chain
        first = min(slot.lsn for slot in state.slots) if recycled else 0
        for number, commit in enumerate(state.writer.history, 1):
            if commit.kind != 'large' and commit.lsn >= first and (commit.lsn, commit.before) == (lsn, chain):
                if number != at + 1:
                    raise Violation('reader: reads the journal', f'applies {number} to the state after {at}')
                at, lsn, chain = number, lsn + 1, commit.chain
        return at, lsn, chain


BASE = [
    ('commits', dict(commits=5)),
    ('commits and large ones', dict(commits=3, larges=1, checkpoints=1)),
    ('a reader in another process', dict(commits=2, larges=2, checkpoints=1, failures=0, reads=2)),
]
LONG = [
    ('longer', dict(commits=8, larges=1, checkpoints=1)),
    ('a reader, longer', dict(commits=4, larges=3, checkpoints=2, failures=1, reads=3)),
]
READER = dict(commits=1, larges=2, checkpoints=1, failures=0, reads=2)
BOUNDS = {
    'large_early': dict(larges=1),
    'large_no_lsn': dict(READER, recheck=False),
    'no_second_look': READER,
    'no_last_look': READER,
    'ignores_pins': dict(READER, larges=3),
}

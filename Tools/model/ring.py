"""The journal ring: segments, their links in two copies, groups, and headers that name a position in it.

A segment is two link copies and some cells; a group takes one cell or two. A commit is its LSN, so a
recovered state is the last LSN that was replayed. Pages are left out: a checkpoint is its headers.
Segments B and C are pages of a tree when they are not in the ring. A group may be hollow after a power
cut: intact, but its run was lost.
"""

from collections import namedtuple

from explorer import TORN, Violation, checksum, images, kept_and_lost, put, seen, wrote

MUTANTS = {
    'header_unflushed': '[J-1] a new segment is linked before its own header is durable',
    'used_after_one': '[J-1] a segment is used, or reused, after the first copy of the changed link',
    'no_sweep': '[O-4] groups that recovery dropped stay as they are',
    'not_levelled': '[O-4] copies that a crash left unequal stay so at open',
    'literal_position': "[J-3] the first group is looked for at the header's position alone",
    'enter_needed': '[J-7] a segment is entered although a header needs a later part of it',
    'insert_anywhere': '[J-7] a segment is put behind any other',
    'remove_position': '[J-7] a segment is taken out although a header has its position in it',
    'scan_one': '[J-4] only the segment of the missing group is scanned',
    'gap_goes_on': '[J-8] a writer opens up to a gap without a checkpoint beyond it',
    'close_early': '[C-11] a clean close takes segments out before header N is in both slots',
    'free_early': '[C-8] space that only header N-1 needs is written before header N is in both slots',
}
# What a writer may enter [J-7] and where a reader looks [J-3] guard each other: if readers look everywhere,
# the mutants of [J-7] do no harm. So they are tried with one that looks in the next segment alone (`narrow`).

SEGMENTS = 'ABC'
PAGES, ROT = 'pages', 'rot'
Header = namedtuple('Header', 'gen start chain position')  # position: (segment, cell)
Link = namedtuple('Link', 'seq next')
Group = namedtuple('Group', 'lsn chain durable session size sum hollow')
Rest = namedtuple('Rest', 'sum')  # the second cell of a group
Memory = namedtuple(
    'Memory',
    'lsn chain position durable session ring spare seqs header old frozen phase slot closing change groups',
)
Change = namedtuple('Change', 'kind segments at link copy')  # a change, under way, of the link of `at`
State = namedtuple('State', 'disk pending memory allowed left')
"""`allowed`: (LSN, chain) of the states that recovery may find, the last acknowledged one first."""
Left = namedtuple('Left', 'commits checkpoints changes crashes rots')
Recovered = namedtuple('Recovered', 'answer last chain position groups ring header slot greatest dropped')
"""`dropped`: places of groups with the missing LSN or a greater one."""


class Model:
    """Bounds are counts of events in a history. `narrow`: a reader looks in the next segment alone.
    `linked`: segments in the ring at first. `runs`: groups may be hollow.
    `zeroing`: a writer zeroes a place that it passes over.
    """

    def __init__(
        self, mutant=None, cells=2, commits=4, checkpoints=1, changes=2, crashes=1, rots=1, segments=2,
        narrow=False, runs=False, linked=1, zeroing=True,
    ):  # fmt: skip
        self.mutant, self.cells, self.places = mutant, cells, range(segments)
        self.narrow, self.runs, self.zeroing = narrow, runs, zeroing
        self.left = Left(commits, checkpoints, changes, crashes, rots)
        self.span, self.linked = 2 + cells, linked
        self.known = {}

    def initial(self):
        header, ring = Header(1, 1, 0, (0, 0)), tuple(range(self.linked))
        disk, spare = (header, header), tuple(self.places[self.linked :])
        for place in ring:
            disk += (Link(1, (place + 1) % self.linked),) * 2 + (0,) * self.cells
        disk += (PAGES,) * (self.span * len(spare))
        memory = Memory(1, 0, (0, 0), 0, 0, ring, spare, 1, header, None, None, None, 0, False, None, ())
        return State(disk, ((),) * len(disk), memory, ((0, 0),), self.left)

    # Cells of the disk: two slots, then for each segment two link copies and the cells of groups.

    def copy(self, place, which):
        return 2 + place * self.span + which

    def cell(self, place, index):
        return 4 + place * self.span + index

    # Recovery

    def recover(self, view):
        if view not in self.known:
            if len(self.known) > 500_000:
                self.known.clear()
            self.known[view] = self._recover(view)
        return self.known[view]

    def _recover(self, view):
        """[O-1] to [O-3]. The answer is 'ok', 'gap' or 'damaged'."""
        slots = [(h.gen, i) for i, h in enumerate(view[:2]) if isinstance(h, Header)]
        slot = max(slots)[1]
        header, ring = view[slot], self._ring(view)
        if ring is None or header.position[0] not in ring:
            return Recovered('damaged', *[None] * 9)
        chained = self._chained(view, ring, header)
        durable = max([group.durable for group, _ in chained] + [header.start - 1])
        last, chain, position, groups = header.start - 1, header.chain, header.position, []
        for group, place in chained:
            if group.hollow and group.lsn > durable:
                break
            last, chain, position = group.lsn, group.sum, (place[0], place[1] + group.size)
            groups.append((group.lsn, *place, group.size))
        greatest, gap, dropped = last, False, []
        for place in [position[0]] if self.mutant == 'scan_one' else ring:  # [J-4]
            for index in range(self.cells):
                group = self.group(view, place, index)
                if group and group.lsn > last:
                    dropped.append((place, index))
                if group and group.lsn > last + 1:
                    greatest = max(greatest, group.lsn)
                    gap |= group.durable > last
        answer, groups, dropped = 'gap' if gap else 'ok', tuple(groups), tuple(dropped)
        return Recovered(answer, last, chain, position, groups, ring, header, slot, greatest, dropped)

    def _ring(self, view):
        ring, place = [], 0
        while place not in ring:
            copies = [
                c for c in (view[self.copy(place, 0)], view[self.copy(place, 1)]) if isinstance(c, Link)
            ]
            if not copies:
                return None
            ring.append(place)
            place = max(copies).next
        return tuple(ring) if place == 0 else None

    def _chained(self, view, ring, header):
        """[J-2] The chained groups from the header's position on, with their places."""
        chained, position, lsn, chain = [], header.position, header.start, header.chain
        while True:
            for place in self._places(ring, position, lsn == header.start):
                group = self.group(view, *place)
                if group and group.lsn == lsn and group.chain == chain:
                    break
            else:
                return chained
            chained.append((group, place))
            position, lsn, chain = (place[0], place[1] + group.size), lsn + 1, group.sum

    def _places(self, ring, position, first):
        """[J-3] Where the group after one that ends at `position` may be."""
        yield position
        if not (first and self.mutant == 'literal_position'):
            at = ring.index(position[0])
            for step in range(1, 2 if self.narrow else len(ring) + 1):
                yield ring[(at + step) % len(ring)], 0

    def group(self, view, place, index):
        """The self-valid group at a cell, or None."""
        group = view[self.cell(place, index)] if index < self.cells else None
        if not isinstance(group, Group):
            return None
        if group.size == 2 and (
            index + 1 >= self.cells or view[self.cell(place, index + 1)] != Rest(group.sum)
        ):
            return None
        return group

    def judge(self, state, view, event):
        result = self.recover(view)
        if result.answer != 'ok':
            raise Violation(event, f'open says {result.answer}')
        if (result.last, result.chain) not in state.allowed:
            allowed = [lsn for lsn, _ in state.allowed]
            which = 'another group of ' if result.last in allowed else ''
            raise Violation(event, f'recovered {which}LSN {result.last}, allowed {allowed}')
        return result

    def judge_loss(self, state, view, lost, event):
        """A group is rotten: when an intact one says that it was flushed, open must not pass over it."""
        result = self.recover(view)
        if result.answer == 'ok' and result.last < lost:
            for lsn, place, index, _ in state.memory.groups:
                group = self.group(view, place, index)
                if lsn > lost and group and group.durable >= lost:
                    raise Violation(event, f'opened at LSN {result.last}; {lsn} says that {lost} was flushed')
        return result

    def reopen(self, state, view, result, left):
        """[O-4, O-5] The writer after recovery, with its repairs done and flushed."""
        pending = ((),) * len(view)
        for place in result.ring if self.mutant != 'not_levelled' else ():
            copies = self.copy(place, 0), self.copy(place, 1)
            newest = max(view[copy] for copy in copies if isinstance(view[copy], Link))
            for copy in copies:
                pending = wrote(pending, copy, newest)
        if result.answer == 'ok' and self.mutant != 'no_sweep':
            for place in result.dropped:
                pending = wrote(pending, self.cell(*place), 0)
            for image in images(view, pending):
                if self.recover(image)[:3] != result[:3]:
                    raise Violation('power cut during open', 'the second open finds another state')  # [O-6]
        disk = list(seen(view, pending))
        disk[1 - result.slot] = disk[result.slot]
        header, last, chain, groups = result.header, result.last, result.chain, result.groups
        if result.answer == 'gap' and self.mutant != 'gap_goes_on':  # [J-8]
            last, chain, groups = result.greatest, checksum(('gap', state.memory.session)), ()
            header = Header(header.gen + 1, last + 1, chain, result.position)
            disk[0] = disk[1] = header
        seqs = max(c.seq for c in disk if isinstance(c, Link))
        spare = tuple(p for p in self.places if p not in result.ring)
        memory = Memory(
            last + 1, chain, result.position, last, state.memory.session + 1, result.ring, spare, seqs,
            header, None, None, None, 0, False, None, groups,
        )  # fmt: skip
        return State(tuple(disk), ((),) * len(disk), memory, ((last, chain),), left)

    # Where the writer may go

    def needed(self, memory):
        """[J-7] The cells that headers need; the segments with such cells or a header's position."""
        oldest = memory.old or memory.header
        cells = {
            (place, index + i)
            for lsn, place, index, size in memory.groups
            if lsn >= oldest.start
            for i in range(size)
        }
        headers = [h for h in (memory.header, memory.old, memory.frozen) if h]
        return cells, {place for place, _ in cells} | {h.position[0] for h in headers}

    def place_for(self, memory, size):
        """[J-3, J-7] Where the next group goes, or None."""
        cells, segments = self.needed(memory)
        segment, index = memory.position
        if index + size <= self.cells:
            fits = cells.isdisjoint((segment, i) for i in range(index, index + size))
            return (segment, index) if fits else None
        after = memory.ring[(memory.ring.index(segment) + 1) % len(memory.ring)]
        if memory.change and after in memory.change.segments:
            return None  # not before its change is complete, nor while it is being taken out
        if self.mutant == 'enter_needed':
            return (after, 0) if cells.isdisjoint((after, i) for i in range(size)) else None
        return (after, 0) if after not in segments else None

    # Steps

    def next(self, state):
        memory = state.memory
        if not memory.closing:
            yield from self.commits(state)
        if memory.durable < memory.lsn - 1:
            yield 'flush', self.flush(state)
        if memory.phase:
            yield self.checkpoint_step(state)
        else:
            yield from self.freezes(state)
        if memory.change:
            yield self.change_step(state)
        else:
            yield from self.changes(state)
        for place in memory.spare:
            if isinstance(seen(state.disk, state.pending)[self.copy(place, 0)], Link):
                yield f'pages of {SEGMENTS[place]} are reused', self.reuse(state, place, (PAGES,) * self.span)
        yield from self.faults(state)

    def flush(self, state):
        disk, memory = seen(state.disk, state.pending), state.memory
        memory = memory._replace(durable=memory.lsn - 1)
        return State(disk, ((),) * len(disk), memory, state.allowed[-1:], state.left)

    def reuse(self, state, place, contents):
        pending = state.pending
        for i, content in enumerate(contents):
            pending = wrote(pending, self.copy(place, 0) + i, content)
        return state._replace(pending=pending)

    def commits(self, state):
        memory, left = state.memory, state.left
        for size in (1, 2) if left.commits else ():
            place = self.place_for(memory, size)
            if not place:
                continue
            content = (memory.lsn, memory.chain, memory.durable, memory.session, size)
            group = Group(*content, checksum(content), False)
            pending = wrote(state.pending, self.cell(*place), group)
            if size == 2:
                pending = wrote(pending, self.cell(place[0], place[1] + 1), Rest(group.sum))
            passed = memory.position
            if place != passed and passed[1] < self.cells and passed not in self.needed(memory)[0]:
                if self.zeroing:
                    pending = wrote(pending, self.cell(*passed), 0)
            after = memory._replace(
                lsn=memory.lsn + 1,
                chain=group.sum,
                position=(place[0], place[1] + size),
                groups=memory.groups + ((memory.lsn, *place, size),),
            )
            yield f'group {memory.lsn} of {size} cells at {SEGMENTS[place[0]]}{place[1]}', state._replace(
                pending=pending,
                memory=after,
                allowed=state.allowed + ((memory.lsn, group.sum),),
                left=left._replace(commits=left.commits - 1),
            )

    def freezes(self, state):
        """[C-4, C-11]"""
        memory, left = state.memory, state.left
        if not left.checkpoints or memory.lsn == memory.header.start or memory.closing:
            return
        state = state._replace(left=left._replace(checkpoints=left.checkpoints - 1))
        frozen = Header(memory.header.gen + 1, memory.lsn, memory.chain, memory.position)
        memory = memory._replace(phase='frozen', frozen=frozen)
        yield 'freeze', state._replace(memory=memory)
        if not memory.change:
            memory = memory._replace(frozen=frozen._replace(position=(0, 0)), closing=True)
            yield 'clean close: freeze', state._replace(memory=memory)

    def checkpoint_step(self, state):
        """[C-5] to [C-8]: each step begins with the flush of the one before."""
        state = self.flush(state)
        memory = state.memory
        early = self.mutant == 'free_early'
        if memory.phase == 'frozen':
            pending = wrote(state.pending, memory.slot, memory.frozen)
            memory = memory._replace(phase='one', header=memory.frozen if early else memory.header)
            return 'flush, header to one slot', state._replace(pending=pending, memory=memory)
        if memory.phase == 'one':
            pending = wrote(state.pending, 1 - memory.slot, memory.frozen)
            old = None if early else memory.header
            memory = memory._replace(phase='two', header=memory.frozen, old=old, frozen=None)
            return 'flush, header to the other slot', state._replace(pending=pending, memory=memory)
        memory = memory._replace(
            phase=None,
            old=None,
            groups=tuple(g for g in memory.groups if g[0] >= memory.header.start),
            position=memory.header.position if memory.closing else memory.position,
        )
        return 'flush, checkpoint done', state._replace(memory=memory)

    def changes(self, state):
        """[J-1, J-7] Begins a change of the ring."""
        memory, left = state.memory, state.left
        ring, writer = memory.ring, memory.position[0]
        early = self.mutant == 'close_early' and memory.phase in ('frozen', 'one')
        if memory.closing and (memory.phase is None or early) and len(ring) > 1:
            change = Change('remove', ring[1:], 0, Link(memory.seqs + 1, 0), 0)
            memory = memory._replace(change=change, seqs=memory.seqs + 1)
            yield 'clean close: all other segments are to go', state._replace(memory=memory)
        if not left.changes or memory.closing:
            return
        state = state._replace(left=left._replace(changes=left.changes - 1))
        for at in ring if self.mutant == 'insert_anywhere' else [writer]:
            for place in memory.spare[:1]:
                yield self.insertion(state, place, at)
        cells, segments = self.needed(memory)
        if self.mutant == 'remove_position':
            segments = {place for place, _ in cells}
        for i, place in enumerate(ring):
            if i and place not in segments and place != writer:
                link = Link(memory.seqs + 1, ring[(i + 1) % len(ring)])
                after = memory._replace(
                    change=Change('remove', (place,), ring[i - 1], link, 0), seqs=link.seq
                )
                yield f'{SEGMENTS[place]} is to go', state._replace(memory=after)

    def insertion(self, state, place, at):
        memory = state.memory
        after = memory.ring[(memory.ring.index(at) + 1) % len(memory.ring)]
        state = self.reuse(state, place, (Link(memory.seqs + 1, after),) * 2)
        memory = memory._replace(
            change=Change('insert', (place,), at, Link(memory.seqs + 2, place), 0),
            spare=tuple(p for p in memory.spare if p != place),
            seqs=memory.seqs + 2,
        )
        return f'header of new segment {SEGMENTS[place]}', state._replace(memory=memory)

    def change_step(self, state):
        """[J-1] Each step begins with the flush of the one before."""
        change = state.memory.change
        if change.copy or self.mutant != 'header_unflushed':
            state = self.flush(state)
        memory = state.memory
        if change.copy < (1 if self.mutant == 'used_after_one' else 2):
            pending = wrote(state.pending, self.copy(change.at, change.copy), change.link)
            memory = memory._replace(change=change._replace(copy=change.copy + 1))
            label = f'flush, link of {SEGMENTS[change.at]} in copy {change.copy}'
            return label, state._replace(pending=pending, memory=memory)
        ring, spare = memory.ring, memory.spare
        if change.kind == 'insert':
            at = ring.index(change.at) + 1
            ring = ring[:at] + change.segments + ring[at:]
        else:
            ring = tuple(p for p in ring if p not in change.segments)
            spare = tuple(sorted(spare + change.segments))
        memory = memory._replace(change=None, ring=ring, spare=spare)
        return 'flush, the link is changed', state._replace(memory=memory)

    # Faults

    def faults(self, state):
        left = state.left
        for image in images(state.disk, state.pending, self.spoilt):
            event = f'power cut {kept_and_lost(state.disk, state.pending, image, self.name)}, open'
            result = self.judge(state, image, event)
            crash = left.crashes and any(state.pending)
            if crash:
                yield event, self.reopen(state, image, result, left._replace(crashes=left.crashes - 1))
            if left.rots:
                yield from self.rots(state, image, event)

    def spoilt(self, cell, writes):
        if cell < 2 or (cell - 2) % self.span < 2:
            return ()
        last = writes[-1]
        if self.runs and isinstance(last, Group) and last.size == 1:
            return TORN, last._replace(hollow=True)
        return (TORN,)

    def rots(self, state, image, event):
        """One sector is rotten: a slot, a copy of a link, or a group (then open goes up to the gap)."""
        left = state.left
        fewer = left._replace(crashes=left.crashes - 1, rots=left.rots - 1)
        for index, content in enumerate(image):
            if isinstance(content, (Header, Link)):
                what = f'{event}; {self.name(content)} in cell {index} is rotten'
                rotten = put(image, index, ROT)
                result = self.judge(state, rotten, what)
                if left.crashes and any(state.pending):
                    yield what, self.reopen(state, rotten, result, fewer)
        for lsn, place, index, _ in state.memory.groups:
            rotten = put(image, self.cell(place, index), ROT)
            what = f'{event}; group {lsn} is rotten, opened up to the gap'
            result = self.judge_loss(state, rotten, lsn, what)
            if result.answer == 'gap':
                yield what, self.reopen(state, rotten, result, left._replace(rots=left.rots - 1))

    @staticmethod
    def name(content):
        if isinstance(content, Group):
            return f'group {content.lsn}' + ' without its run' * content.hollow
        if isinstance(content, Header):
            return f'header {content.gen}'
        if isinstance(content, Link):
            return f'link to {SEGMENTS[content.next]}'
        return {PAGES: 'pages', 0: 'zeros'}.get(content, 'rest of a group')


BASE = [
    ('one segment, another comes', dict(commits=3, changes=1)),
    ('two segments, one goes', dict(linked=2, commits=3, changes=1, rots=0)),
    ('two segments, rot', dict(linked=2, commits=2, changes=1)),
    ('runs, two crashes', dict(linked=2, runs=True, rots=0, changes=0, commits=3, crashes=2)),
    (
        'runs, three crashes, no place zeroed',
        dict(zeroing=False, linked=2, runs=True, rots=0, changes=0, checkpoints=0, crashes=3),
    ),
    ('a reader that looks in the next segment alone', dict(narrow=True, rots=0, changes=1)),
]
LONG = [
    ('both ways', dict(commits=4)),
    ('three segments', dict(segments=3, linked=2, commits=5, changes=2)),
    ('three segments, runs, two crashes', dict(segments=3, commits=5, runs=True, crashes=2)),
    ('runs, no place zeroed', dict(zeroing=False, linked=2, runs=True, rots=0, changes=1, crashes=3)),
    ('longer segments', dict(cells=3, commits=6, checkpoints=2)),
]
TWO = dict(linked=2, rots=0, changes=1)
BOUNDS = {
    'used_after_one': dict(checkpoints=0, commits=2, changes=1),
    'not_levelled': dict(checkpoints=0, commits=2, changes=1),
    'no_sweep': dict(runs=True, linked=2, rots=0, changes=0, checkpoints=0, crashes=2),
    'enter_needed': dict(narrow=True, rots=0),
    'insert_anywhere': dict(TWO, narrow=True, segments=3),
    'literal_position': dict(TWO, changes=0),
    'remove_position': TWO,
    'scan_one': dict(linked=2, changes=0),
    'close_early': TWO,
    'free_early': dict(linked=2, changes=0),
}

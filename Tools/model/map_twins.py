"""The free map: bitmaps of zones and the space page that names them, each in two twins written alternately.

Rules: [S-1] what is in use, [S-2]'s counterpart for pages, [S-3] twins, [S-4], [P-1] stamps, [P-4], the
map's part of [C-4] to [C-8] and [H-1].

A store has one tree page for each key in a pool of two zones; the pairs of twins lie apart from the pool.
The values are left out but for a version in each page. Besides power cuts, one write may get lost: the
flush reports success, the old content stays. Then an answer 'page damaged' is right, and a wrong state is
not.
"""

from collections import namedtuple

from explorer import Violation, images, kept_and_lost, losses, put, seen, wrote

MUTANTS = {
    'in_place': '[S-3] a save of the map writes the live twin',
    'keeps_swap': '[S-3] a checkpoint that was given up leaves its swap in memory',
    'no_stamp': '[P-1] a twin is taken without a look at its stamp',
    'no_attempt': '[P-4] a repeated attempt has the same stamp',
    'other_twin': '[S-4] the other twin stands in for one whose stamp does not fit',
    'new_map': '[C-4] pages are allocated from the map that is being made',
    'no_marks': '[S-1] pages that are given up keep their bit',
    'early_reuse': '[C-8] the next checkpoint begins when one slot has the header',
}

ROT = 'rot'
ZONES, PER_ZONE = 2, 3
Page = namedtuple('Page', 'stamp version')
Zone = namedtuple('Zone', 'stamp used')  # used: pages with bit 1
Space = namedtuple('Space', 'stamp twins')  # twins: (live, stamp) of each zone
Header = namedtuple('Header', 'gen refs space')  # refs: (page, stamp) of each key; space: (live, stamp)
Memory = namedtuple('Memory', 'header refs used saved twins space phase next session attempt versions')
"""The state in use; `saved` are the twins of its zones, `twins` and `space` the ones that are live for the
writer; `next` is the header of a checkpoint under way.
"""
State = namedtuple('State', 'disk pending memory lost left')  # lost: (cell, content) of a lost write, or None
Left = namedtuple('Left', 'checkpoints gives_up crashes losses rots')

# Cells of the disk: two slots, the space twins, two twins for each zone, the pool.
SPACE, POOL = 2, 4 + 2 * ZONES


def zone_cell(zone, which):
    return 4 + 2 * zone + which


class Model:
    """Bounds are counts of events in a history."""

    def __init__(self, mutant=None, keys=2, checkpoints=3, gives_up=1, crashes=1, losses=1, rots=0):
        self.mutant, self.keys = mutant, keys
        self.left = Left(checkpoints, gives_up, crashes, losses, rots)
        self.known = {}

    def initial(self):
        """The tree's pages lie in different zones."""
        stamp = (1, 0, 0)
        pool = [0] * (ZONES * PER_ZONE)
        refs = tuple((key * PER_ZONE % len(pool) + key // ZONES, stamp) for key in range(self.keys))
        for page, _ in refs:
            pool[page] = Page(stamp, 0)
        used = frozenset(page for page, _ in refs)
        zones = [Zone(stamp, self.in_zone(used, zone)) for zone in range(ZONES)]
        twins = ((0, stamp),) * ZONES
        header = Header(1, refs, (0, stamp))
        disk = (header, header, Space(stamp, twins), 0)
        for zone in zones:
            disk += (zone, 0)
        disk += tuple(pool)
        memory = Memory(header, refs, used, twins, twins, (0, stamp), None, None, 0, 0, (0,) * self.keys)
        return State(disk, ((),) * len(disk), memory, None, self.left)

    @staticmethod
    def in_zone(pages, zone):
        return frozenset(p for p in pages if p // PER_ZONE == zone)

    # Recovery

    def recover(self, view):
        if view not in self.known:
            self.known[view] = self._recover(view)
        return self.known[view]

    def _recover(self, view):
        """(header, versions, twins, pages in use), or a word that says why not."""
        headers = [h for h in view[:2] if isinstance(h, Header)]
        header = max(headers, key=lambda h: h.gen)
        versions = []
        for page, stamp in header.refs:
            content = view[POOL + page]
            if not isinstance(content, Page) or content.stamp != stamp:
                return 'page damaged'
            versions.append(content.version)
        space = self._twin(view, SPACE, header.space, Space)
        if space is None:
            return 'page damaged'
        used = set()
        for zone, twin in enumerate(space.twins):
            content = self._twin(view, zone_cell(zone, 0), twin, Zone)
            if content is None:
                return 'page damaged'
            used |= content.used
        return header, tuple(versions), space.twins, frozenset(used)

    def _twin(self, view, cell, twin, kind):
        """The live twin of the pair at `cell`, when its stamp is right."""
        live, stamp = twin
        content = view[cell + live]
        if isinstance(content, kind) and (content.stamp == stamp or self.mutant == 'no_stamp'):
            return content
        other = view[cell + 1 - live]
        return other if self.mutant == 'other_twin' and isinstance(other, kind) else None

    def judge(self, state, view, event):
        """[S-1] What the map says is exactly what the header's state uses; contents are right."""
        result = self.recover(view)
        if isinstance(result, str):
            if state.lost:
                return None
            raise Violation(event, f'open says {result}')
        header, versions, _, used = result
        reachable = {page for page, _ in header.refs}
        if reachable - used:
            raise Violation(event, f'pages {sorted(reachable - used)} are both free and reachable')
        if used - reachable:
            raise Violation(event, f'pages {sorted(used - reachable)} are in use by nothing')
        memory = state.memory
        if versions != memory.versions and not (memory.next and versions == self.next_versions(memory)):
            raise Violation(event, f'recovered {versions}, written {memory.versions}')
        return result

    @staticmethod
    def next_versions(memory):
        old = dict(zip(memory.refs, memory.versions))
        return tuple(old.get(ref, memory.next.gen) for ref in memory.next.refs)

    def reopen(self, state, view, result, left):
        header, versions, twins, used = result
        disk = put(put(view, 0, header), 1, header)
        session = state.memory.session + 1
        memory = Memory(
            header, header.refs, used, twins, twins, header.space, None, None, session, 0, versions
        )
        return State(disk, ((),) * len(disk), memory, state.lost, left)

    # Steps

    def flush(self, state, lost=None):
        """`lost`: (cell, content) where the disk loses the last write and keeps that content."""
        disk = seen(state.disk, state.pending)
        if lost:
            disk = put(disk, *lost)
        return state._replace(disk=disk, pending=((),) * len(disk), lost=lost or state.lost)

    def next(self, state):
        memory, left = state.memory, state.left
        if memory.phase is None:
            if left.checkpoints:
                yield from self.freezes(state)
        else:
            for label, after in self.checkpoint_step(state):
                yield label, after
            if memory.phase == 'written' and left.gives_up:
                yield 'no space: checkpoint given up', self.give_up(state)
        yield from self.faults(state)

    def freezes(self, state):
        """[C-4] For each set of changed keys: new pages, maps and twins, all written."""
        fewer = state.left._replace(checkpoints=state.left.checkpoints - 1)
        for changed in range(1, 1 << self.keys):
            keys = [key for key in range(self.keys) if changed >> key & 1]
            after = self.write_checkpoint(state._replace(left=fewer), keys)
            if after:
                yield f'checkpoint of keys {keys}: write pages and twins', after

    def write_checkpoint(self, state, keys):
        memory = state.memory
        gen = memory.header.gen + 1
        attempt = 0 if self.mutant == 'no_attempt' else memory.attempt
        stamp = (gen, memory.session if self.mutant != 'no_attempt' else 0, attempt)
        given_up = {memory.refs[key][0] for key in keys}
        taken = set(memory.used) - (given_up if self.mutant == 'new_map' else set())
        refs, pending = list(memory.refs), state.pending
        for key in keys:
            free = [page for page in range(ZONES * PER_ZONE) if page not in taken]
            if not free:
                return None
            taken.add(free[0])
            refs[key] = (free[0], stamp)
            pending = wrote(pending, POOL + free[0], Page(stamp, gen))
        used = frozenset(p for p, _ in refs) | (
            frozenset(given_up) if self.mutant == 'no_marks' else frozenset()
        )
        twins = list(memory.twins)
        for zone in range(ZONES):
            if self.in_zone(used, zone) != self.in_zone(memory.used, zone):
                twins[zone] = self.swapped(twins[zone], stamp)
                cell = zone_cell(zone, twins[zone][0])
                pending = wrote(pending, cell, Zone(stamp, self.in_zone(used, zone)))
        space = self.swapped(memory.space, stamp)
        pending = wrote(pending, SPACE + space[0], Space(stamp, tuple(twins)))
        header = Header(gen, tuple(refs), space)
        after = memory._replace(
            phase='written', next=header, attempt=memory.attempt + 1, twins=tuple(twins), space=space
        )
        return state._replace(pending=pending, memory=after)

    def swapped(self, twin, stamp):
        return (twin[0] if self.mutant == 'in_place' else 1 - twin[0]), stamp

    def give_up(self, state):
        """[C-3] The checkpoint fails for want of space; what it wrote stays where it is."""
        memory = state.memory._replace(phase=None, next=None)
        if self.mutant != 'keeps_swap':
            memory = memory._replace(twins=memory.saved, space=memory.header.space)
        return state._replace(memory=memory, left=state.left._replace(gives_up=state.left.gives_up - 1))

    def checkpoint_step(self, state):
        """[C-5] to [C-7], each with the flush of the step before; a write may get lost in the first."""
        memory, left = state.memory, state.left
        if memory.phase == 'written':
            ways = list(losses(state.disk, state.pending)) if left.losses else []
            for lost in [None] + ways:
                after = self.flush(state, lost)
                after = after._replace(
                    pending=wrote(after.pending, 0, memory.next),
                    memory=memory._replace(phase='one'),
                    left=left._replace(losses=left.losses - (lost is not None)),
                )
                name = f', which loses the {self.name(state.pending[lost[0]][-1])}' if lost else ''
                yield f'flush{name}, header to one slot', after
        elif memory.phase == 'one' and self.mutant != 'early_reuse':
            after = self.flush(state)
            pending = wrote(after.pending, 1, memory.next)
            yield 'flush, header to the other slot', after._replace(
                pending=pending, memory=memory._replace(phase='two')
            )
        else:
            header, state = memory.next, self.flush(state)
            used = frozenset(page for page, _ in header.refs)
            if self.mutant == 'no_marks':
                used |= memory.used
            after = memory._replace(
                header=header, refs=header.refs, used=used, saved=memory.twins, phase=None, next=None,
                versions=self.next_versions(memory),
            )  # fmt: skip
            yield 'flush, done', state._replace(memory=after)

    # Faults

    def faults(self, state):
        left = state.left
        for image in images(state.disk, state.pending):
            event = f'power cut {kept_and_lost(state.disk, state.pending, image, self.name)}, open'
            result = self.judge(state, image, event)
            if result and left.crashes and any(state.pending):
                yield event, self.reopen(state, image, result, left._replace(crashes=left.crashes - 1))
            for slot in (0, 1) if left.rots else ():
                self.judge(state, put(image, slot, ROT), f'{event}; slot {slot} is rotten')

    @staticmethod
    def name(content):
        kind = type(content).__name__.lower()
        if isinstance(content, Header):
            return f'header {content.gen}'
        if isinstance(content, (Page, Zone, Space)):
            return f'{kind} of checkpoint {content.stamp[0]}'
        return 'nothing'


BASE = [
    ('lost writes', dict(checkpoints=2)),
    ('rotten slots', dict(losses=0, rots=1)),
    ('three checkpoints of one key', dict(keys=1)),
]
LONG = [
    ('three keys', dict(keys=3)),
    ('two crashes', dict(crashes=2, gives_up=2, checkpoints=4)),
]
BOUNDS = {
    'in_place': dict(losses=0),
    'keeps_swap': dict(losses=0),
    'new_map': dict(losses=0),
    'no_marks': dict(losses=0),
    'early_reuse': dict(losses=0, rots=1),
}

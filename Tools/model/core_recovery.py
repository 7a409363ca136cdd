"""What is on the disk of the core model, and what open makes of it: [O-1], [O-3], [J-2], [J-4]."""

from collections import namedtuple

ROT = 'rot'
Header = namedtuple('Header', 'gen start chain version refs used')  # refs: (page, stamp) of each key
Group = namedtuple('Group', 'lsn chain durable session key value sum')
Page = namedtuple('Page', 'stamp value')
RunPage = namedtuple('RunPage', 'version salt')
Run = namedtuple('Run', 'page version salt')  # as a value
Recovered = namedtuple('Recovered', 'values version dirty lsn chain runs header slot durable groups')


class Recovery:
    """Disks are tuples of cells. `mutant`: the rule that is broken, if any; `ring`: the journal's cells."""

    def __init__(self, mutant, ring):
        self.mutant, self.ring, self.known = mutant, ring, {}

    # Cells of the disk: two slots, the ring's groups, the pages.

    def group_cell(self, lsn):
        return 2 + lsn % self.ring

    def page_cell(self, page):
        return 2 + self.ring + page

    def recover(self, view):
        if view not in self.known:
            if len(self.known) > 500_000:
                self.known.clear()
            self.known[view] = self._recover(view)
        return self.known[view]

    def _recover(self, view):
        """[O-1, O-3] What open finds, or a word that says why it refuses."""
        slots = [(h.gen, i) for i, h in enumerate(view[:2]) if h != ROT]
        if not slots:
            return 'header damaged'
        slot = max(slots)[1]
        header = view[slot]
        values, damaged = [], False
        for page, stamp in header.refs:
            content = view[self.page_cell(page)]
            good = isinstance(content, Page) and content.stamp == stamp
            damaged |= not good
            values.append(content.value if good else 0)
        chained = self._chained(view, header)
        durable = max([group.durable for group in chained] + [header.start - 1])
        lsn, chain, version, runs, groups = header.start, header.chain, header.version, [], []
        for group in chained:
            if isinstance(group.value, Run):
                if (
                    group.lsn > durable
                    and self.mutant != 'no_run_check'
                    and not self._has_run(view, group.value)
                ):
                    break
                runs.append((group.lsn, group.value.page))
            values[group.key] = group.value
            lsn, chain, version = lsn + 1, group.sum, version + 1
            groups.append(group)
        for group in view[2 : 2 + self.ring]:  # [J-4]
            if (
                isinstance(group, Group)
                and group.lsn > lsn
                and (group.durable >= lsn or self.mutant == 'any_gap')
            ):
                return 'journal damaged'
        if damaged or any(isinstance(v, Run) and not self._has_run(view, v) for v in values):
            return 'page damaged'
        dirty = frozenset(group.key for group in groups)
        return Recovered(
            tuple(values), version, dirty, lsn, chain, tuple(runs), header, slot, durable, tuple(groups)
        )

    def _chained(self, view, header):
        chained, lsn, chain = [], header.start, header.chain
        while lsn < header.start + self.ring:
            group = view[self.group_cell(lsn)]
            if not isinstance(group, Group) or group.lsn != lsn:
                break
            lax = self.mutant == 'no_chain' or (self.mutant == 'no_header_chain' and lsn == header.start)
            if group.chain != chain and not lax:
                break
            chained.append(group)
            lsn, chain = lsn + 1, group.sum
        return chained

    def _has_run(self, view, run):
        return view[self.page_cell(run.page)] == RunPage(run.version, run.salt)

    @staticmethod
    def content(values):
        """What a user sees."""
        return tuple(('run', v.version) if isinstance(v, Run) else v for v in values)

"""The free map, and the check of a whole store (SPEC.md 9)."""

from roost_format import (
    FREE_MAP,
    MAP_BITS,
    NEXT_SPACE,
    NO_TWIN,
    PUT_RUN,
    SPACE,
    SPACE_TWINS,
    StoreProblem,
    first_page,
    header_end,
    live_page,
    unpack_twin,
)
from roost_pages import run_extent


class FreeMap:
    """The live twins of the map, read whole."""

    def __init__(self, pages, header):
        self.pages, self.header = pages, header
        self.zone_pages = (pages.page_size - MAP_BITS) * 8
        self.twins = []  # twin references of the zones' pages
        self.space_twins = []
        self.claimed = set()
        self.bits = []  # bytes of each zone
        self.notes = []
        self._read_space(header.space)
        for number, twin in enumerate(self.twins):
            self._read_zone(number, twin)

    def _read_space(self, twin):
        capacity = (self.pages.page_size - SPACE_TWINS) // 32
        while twin != NO_TWIN:
            self._claim(twin)
            self.space_twins.append(twin)
            data, head = self.pages.read(live_page(twin), twin.stamp, SPACE)
            following = unpack_twin(data, NEXT_SPACE)
            if head.count > capacity or (following != NO_TWIN and head.count != capacity):
                raise StoreProblem('pageDamaged', f'page {head.number}: a space page with {head.count} zones')
            for i in range(head.count):
                self.twins.append(self._claim(unpack_twin(data, SPACE_TWINS + 32 * i)))
            twin = following
        if len(self.twins) * self.zone_pages < self.header.page_count:
            raise StoreProblem('pageDamaged', f'{len(self.twins)} zones do not cover the page count')

    def _claim(self, twin):
        """[S-5] All twins are different pages of the state; so a chain of them comes to an end."""
        for page in (twin.a, twin.b):
            in_range = first_page(self.pages.page_size) <= page < self.header.page_count
            if page in self.claimed or not in_range:
                raise StoreProblem('pageDamaged', f'a twin reference names page {page}')
            self.claimed.add(page)
        return twin

    def _read_zone(self, number, twin):
        data, head = self.pages.read(live_page(twin), twin.stamp, FREE_MAP)
        if head.last != number:
            raise StoreProblem(
                'pageDamaged', f'page {head.number}: the map of zone {head.last}, not {number}'
            )
        if any(data[32:MAP_BITS]):
            self.notes.append(f'page {head.number}: bytes 32 to 63 of a free-map page are not zero')
        bits = data[MAP_BITS:]
        self.bits.append(bits)
        free = self.zone_pages - sum(byte.bit_count() for byte in bits)
        if free != twin.free:
            self.notes.append(f'zone {number} has {free} free pages, its twin reference says {twin.free}')

    def in_use(self, page):
        zone, index = divmod(page, self.zone_pages)
        return zone < len(self.bits) and self.bits[zone][index >> 3] >> (index & 7) & 1 == 1

    def used_pages(self):
        """Every page with bit 1."""
        for zone, bits in enumerate(self.bits):
            for at, byte in enumerate(bits):
                if byte:
                    for bit in range(8):
                        if byte >> bit & 1:
                            yield zone * self.zone_pages + at * 8 + bit


def check(store):
    """Reads everything that the store holds; returns the problems as lines of text, none when it is sound."""
    problems = []
    owners = {}  # page: what the header's state uses it for

    def own(page, what):
        if page in owners:
            problems.append(f'page {page} is used twice: {owners[page]}, {what}')
        owners[page] = what
        if page >= store.header.page_count:
            problems.append(f'page {page} ({what}) lies behind the page count {store.header.page_count}')

    def attempt(what, work):
        try:
            return work()
        except StoreProblem as problem:
            problems.append(f'{what}: {problem}')

    for page in range(first_page(store.header.page_size)):
        own(page, 'headers and first segment')
    attempt('catalog', lambda: _own_tree(store, store.catalog_tree, 'catalog', 0, own, problems))
    for name, table in sorted(store.stored_tables.items()):
        what = 'table ' + name.decode('utf-8', 'backslashreplace')
        attempt(what, lambda: _own_tree(store, table.tree, what, table.id, own, problems))
    sound = not problems
    free_map = attempt('free map', lambda: FreeMap(store.pages, store.header))
    if free_map:
        for twin in free_map.twins + free_map.space_twins:
            own(twin.a, 'map twin')
            own(twin.b, 'map twin')
        problems += free_map.notes
        _compare(free_map, owners, problems, sound)
    _check_journal(store, owners, problems)
    return problems + store.pages.untidy + store.notes()


def _own_tree(store, tree, what, table_id, own, problems):
    """Walks a tree and reads its runs."""

    def on_page(head):
        own(head.number, what)
        if head.table != table_id:
            problems.append(f'page {head.number} ({what}) says that it belongs to table {head.table}')

    for _, value in tree.walk(on_page):
        if not isinstance(value, bytes):
            store.value(value)
            for page in run_extent(store.pages, value):
                own(page, f'run of {what}')


def _compare(free_map, owners, problems, sound):
    """[S-1] Exactly what the state uses has bit 1."""
    for page in sorted(owners):
        if not free_map.in_use(page):
            problems.append(f'page {page} is free in the map, but used: {owners[page]}')
    if sound:  # else what the unread trees use is not known
        lost = [page for page in free_map.used_pages() if page not in owners]
        if lost:
            problems.append(f'{len(lost)} pages are in use in the map, but nothing uses them: {lost[:8]}')


def _check_journal(store, owners, problems):
    """[S-2, V-2] Segments and the journal's runs lie on pages that the header's state does not use."""
    size = store.header.page_size
    first = header_end(size)
    holders = dict(owners)

    def hold(pages, what):
        for page in pages:
            if page in holders:
                problems.append(f'page {page} is used twice: {holders[page]}, {what}')
            holders[page] = what

    for segment in store.journal.ring:
        if segment.offset != first:
            hold(range(segment.offset // size, (segment.offset + segment.length) // size), 'journal segment')
        if segment.copies < 2:
            problems.append(f'the segment at {segment.offset} has one readable header copy')
    for group in store.journal.groups:
        for record in group.records:
            if record.kind == PUT_RUN:
                hold(run_extent(store.pages, record.value), f'run of group {group.lsn}')

"""The dump: a store's content as text (SPEC.md 18)."""

import zlib

_SPELLING = [chr(b) if 0x20 <= b <= 0x7E and b != 0x5C else f'\\x{b:02x}' for b in range(256)]


def escape(data):
    """[U-5] The one spelling of a byte string."""
    return ''.join(map(_SPELLING.__getitem__, data))


def unescape(text):
    """The bytes that `text` spells; ValueError when that is not their one spelling."""
    parts = text.split('\\x')
    data = bytearray(parts[0].encode('ascii'))
    for part in parts[1:]:
        data.append(int(part[:2], 16))
        data += part[2:].encode('ascii')
    if escape(data) != text:
        raise ValueError(f'not the spelling of a byte string: {text!r}')
    return bytes(data)


def dump(store, out, table_name=None):
    """[U-1 .. U-7] Writes the dump of all tables, or of one, to `out`. KeyError: no such table."""
    crc, entries = 0, 0

    def line(text):
        nonlocal crc
        data = text.encode('ascii') + b'\n'
        crc = zlib.crc32(data, crc)
        out.write(data)

    tables = sorted(store.tables.items())
    if table_name is not None:
        wanted = unescape(table_name) if table_name.isascii() else table_name.encode('utf-8')
        tables = [(name, table) for name, table in tables if name == wanted]
        if not tables:
            raise KeyError(table_name)
    line('roost-dump 1')
    for name, table in tables:
        count = table.count()
        line(f'table {escape(name)} {count}')
        for key, value in table.items():
            line(f'{escape(key)}\t{escape(value)}')
        entries += count
    out.write(f'end {len(tables)} {entries} {crc:08x}\n'.encode('ascii'))

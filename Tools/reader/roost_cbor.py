"""Coded values: a deterministic form of CBOR (SPEC.md 16, [R-8] to [R-11]), read strictly and written.

Integers, floats, text, bytes, lists, dicts with text keys, booleans and None stand for themselves; `Single`
is a float of four bytes; `Tagged` is any tagged value.
"""

import struct
from collections import namedtuple
from decimal import Decimal

MAX_DEPTH = 200
DECIMAL, URL, UUID, DATE, PRESENT_NIL = 4, 32, 37, 40001, 40002
BIGNUM, NEGATIVE_BIGNUM = 2, 3

Tagged = namedtuple('Tagged', 'tag value')


class Single(float):
    """A float that is stored in four bytes."""


class CodedError(ValueError):
    """Bytes that are no coded value in the one form it may have."""


def decode(data):
    """The value that `data` holds, and nothing but."""
    value, at = _decode(data, 0, 0)
    if at != len(data):
        raise CodedError('bytes behind the value')
    return value


def _take(data, at, length):
    if at + length > len(data):
        raise CodedError('the value is cut off')
    return data[at : at + length], at + length


def _head(data, at):
    """(major type, additional information, argument, offset behind). The argument is in its shortest form."""
    (first,), at = _take(data, at, 1)
    major, low = first >> 5, first & 31
    if low < 24:
        return major, low, low, at
    if low > 27:
        raise CodedError('an indefinite length or a reserved head')
    raw, at = _take(data, at, 1 << (low - 24))
    argument = int.from_bytes(raw, 'big')
    if major != 7 and argument < (24, 1 << 8, 1 << 16, 1 << 32)[low - 24]:
        raise CodedError('a head longer than needed')
    return major, low, argument, at


def _decode(data, at, depth):
    if depth > MAX_DEPTH:
        raise CodedError('nested too deep')
    start = at
    major, low, argument, at = _head(data, at)
    if major == 0:
        return argument, at
    if major == 1:
        if argument >= 1 << 63:
            raise CodedError('an integer below -2^63')
        return -1 - argument, at
    if major in (2, 3):
        raw, at = _take(data, at, argument)
        if major == 2:
            return raw, at
        try:
            return raw.decode('utf-8'), at
        except UnicodeDecodeError:
            raise CodedError('text that is not UTF-8') from None
    if major == 4:
        items = []
        for _ in range(argument):
            item, at = _decode(data, at, depth + 1)
            items.append(item)
        return items, at
    if major == 5:
        return _decode_map(data, at, argument, depth)
    if major == 6:
        value, at = (
            _decode(data, at, depth + 1) if argument not in (2, 3) else _decode_big(data, at, argument)
        )
        return _tagged(argument, value), at
    return _simple(data, low, argument, at, start)


def _decode_map(data, at, count, depth):
    items, last = {}, None
    for _ in range(count):
        start = at
        key, at = _decode(data, at, depth + 1)
        if not isinstance(key, str):
            raise CodedError('a map key that is no text')
        if last is not None and data[start:at] <= last:
            raise CodedError('map keys out of order')
        last = data[start:at]
        items[key], at = _decode(data, at, depth + 1)
    return items, at


def _simple(data, low, argument, at, start):
    if low == 26:
        return Single(struct.unpack('>f', data[start + 1 : at])[0]), at
    if low == 27:
        return struct.unpack('>d', data[start + 1 : at])[0], at
    if low in (20, 21, 22):
        return (False, True, None)[low - 20], at
    raise CodedError('a simple value that is not used')


def _decode_big(data, at, tag):
    raw, at = _decode(data, at, 1)
    if not isinstance(raw, bytes) or raw[:1] == b'\0':
        raise CodedError('a bignum that is not in its shortest form')
    number = int.from_bytes(raw, 'big')
    if number <= (MASK64 if tag == BIGNUM else MASK63):
        raise CodedError('a bignum that is no big number')
    return (number if tag == BIGNUM else -1 - number), at


MASK64, MASK63 = (1 << 64) - 1, (1 << 63) - 1


def _tagged(tag, value):
    if tag in (BIGNUM, NEGATIVE_BIGNUM):
        return value
    fits = {
        DECIMAL: lambda: value is None or _is_decimal(value),
        URL: lambda: isinstance(value, str),
        UUID: lambda: isinstance(value, bytes) and len(value) == 16,
        DATE: lambda: isinstance(value, float) and not isinstance(value, Single),
        PRESENT_NIL: lambda: True,
    }.get(tag)
    if not fits or not fits():
        raise CodedError(f'tag {tag} with a content that does not fit, or an unknown tag')
    return Tagged(tag, value)


def _is_decimal(value):
    """[R-9] Whether an array is the exponent and integer of a decimal number in its one form."""
    if not isinstance(value, list) or len(value) != 2 or not all(type(part) is int for part in value):
        return False
    exponent, integer = value
    return -128 <= exponent <= 127 and (integer % 10 != 0 or exponent == 127 or integer == 0)


def decimal(value):
    """The number of a decimal's content, or None for not-a-number."""
    return None if value is None else Decimal(value[1]).scaleb(value[0])


# Writing


def encode(value):
    """The one form of a value."""
    if isinstance(value, Tagged):
        return _pack(6, value.tag) + encode(value.value)
    if value is None or isinstance(value, bool):
        return {None: b'\xf6', False: b'\xf4', True: b'\xf5'}[value]
    if isinstance(value, int):
        if -(1 << 63) <= value <= MASK64:
            return _pack(0, value) if value >= 0 else _pack(1, -1 - value)
        size = (abs(value).bit_length() + 7) // 8
        return b'\xc2' + encode(value.to_bytes(size, 'big')) if value > 0 else _negative_big(value)
    if isinstance(value, Single):
        return b'\xfa' + struct.pack('>f', value)
    if isinstance(value, float):
        return b'\xfb' + struct.pack('>d', value)
    if isinstance(value, bytes):
        return _pack(2, len(value)) + value
    if isinstance(value, str):
        raw = value.encode('utf-8')
        return _pack(3, len(raw)) + raw
    if isinstance(value, list):
        return _pack(4, len(value)) + b''.join(map(encode, value))
    pairs = sorted((encode(key), encode(item)) for key, item in value.items())
    return _pack(5, len(pairs)) + b''.join(key + item for key, item in pairs)


def _negative_big(value):
    magnitude = -1 - value
    return b'\xc3' + encode(magnitude.to_bytes((magnitude.bit_length() + 7) // 8, 'big'))


def _pack(major, argument):
    if argument < 24:
        return bytes([major << 5 | argument])
    for low, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if argument < 1 << 8 * size:
            return bytes([major << 5 | low]) + argument.to_bytes(size, 'big')
    raise CodedError('too long')

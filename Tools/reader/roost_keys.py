"""Keys made of typed components whose bytes order as their values (SPEC.md 15)."""

import math
import struct
import unicodedata
import uuid
from collections import namedtuple
from decimal import Decimal

NIL, FALSE, TRUE, ZERO, DOUBLE, DECIMAL, DATE = 0x05, 0x08, 0x09, 0x20, 0x30, 0x31, 0x34
STRING, BYTES, UUID, IDENTIFIER = 0x40, 0x44, 0x48, 0x50
SIGN = 1 << 63
MASK = (1 << 64) - 1

Identifier = namedtuple('Identifier', 'number')
Date = namedtuple('Date', 'seconds')


def integer(value):
    """[K-3]"""
    size = (abs(value).bit_length() + 7) // 8
    magnitude = abs(value).to_bytes(size, 'big')
    if value < 0:
        return bytes([ZERO - size]) + bytes(255 - byte for byte in magnitude)
    return bytes([ZERO + size]) + magnitude


def double_bytes(value):
    """[K-4] -0.0 counts as 0.0, and every NaN as one, above all numbers."""
    if math.isnan(value):
        return b'\xff' * 8
    bits = int.from_bytes(struct.pack('>d', 0.0 if value == 0 else value), 'big')
    return (bits ^ (MASK if bits & SIGN else SIGN)).to_bytes(8, 'big')


def decimal(value):
    """[K-5] `None` is not-a-number."""
    if value is None:
        return bytes([DECIMAL, 4])
    sign, digits, exponent = value.as_tuple()
    text = ''.join(map(str, digits)).lstrip('0')
    if not text:
        return bytes([DECIMAL, 2])
    rest = (0x8000 + exponent + len(text)).to_bytes(2, 'big')
    text = text.rstrip('0')
    text += '0' * (len(text) % 2)
    rest += bytes(int(text[i : i + 2]) + 1 for i in range(0, len(text), 2)) + b'\0'
    return bytes([DECIMAL, 1]) + bytes(255 - b for b in rest) if sign else bytes([DECIMAL, 3]) + rest


def escaped(tag, content):
    """[K-6]"""
    return bytes([tag]) + content.replace(b'\0', b'\0\xff') + b'\0'


def component(value):
    """A value's component; strings in normal form C. [K-2, K-7]"""
    if value is None:
        return bytes([NIL])
    if isinstance(value, bool):
        return bytes([TRUE if value else FALSE])
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, float):
        return bytes([DOUBLE]) + double_bytes(value)
    if isinstance(value, Decimal):
        return decimal(value)
    if isinstance(value, Date):
        return bytes([DATE]) + double_bytes(value.seconds)
    if isinstance(value, str):
        return escaped(STRING, unicodedata.normalize('NFC', value).encode('utf-8'))
    if isinstance(value, bytes):
        return escaped(BYTES, value)
    if isinstance(value, uuid.UUID):
        return bytes([UUID]) + value.bytes
    return bytes([IDENTIFIER]) + value.number.to_bytes(8, 'big')


def key(*values):
    """[K-1]"""
    return b''.join(map(component, values))

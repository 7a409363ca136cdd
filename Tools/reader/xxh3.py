"""XXH3-64 with a seed, in plain Python.

The file format's only checksum. `digest` is the pure form; `hash64` takes the PyPI package `xxhash` when it
can be imported, because the pure form reads about 25 megabytes a second.
"""

import struct

MASK32 = 0xFFFFFFFF
MASK64 = 0xFFFFFFFFFFFFFFFF

PRIME32_1, PRIME32_2, PRIME32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
PRIME64_1, PRIME64_2, PRIME64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
PRIME64_4, PRIME64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
PRIME_MX1, PRIME_MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

SECRET = bytes.fromhex(
    'b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f'
    'cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c'
    '3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8'
    'a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364'
    'eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e'
    '2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e'
)

STRIPE, STRIPES_PER_BLOCK = 64, 16
BLOCK = STRIPE * STRIPES_PER_BLOCK


def _u32(data, at):
    return int.from_bytes(data[at : at + 4], 'little')


def _u64(data, at):
    return int.from_bytes(data[at : at + 8], 'little')


def _swap(value, width):
    return int.from_bytes(value.to_bytes(width, 'little'), 'big')


def _rotate(value, by):
    return ((value << by) | (value >> (64 - by))) & MASK64


def _fold(a, b):
    """The two halves of the 128-bit product, xored."""
    product = a * b
    return (product & MASK64) ^ (product >> 64)


def _avalanche(h):
    h ^= h >> 37
    h = h * PRIME_MX1 & MASK64
    return h ^ (h >> 32)


def _avalanche64(h):
    """The final mix of XXH64, used for up to 3 bytes."""
    h ^= h >> 33
    h = h * PRIME64_2 & MASK64
    h ^= h >> 29
    h = h * PRIME64_3 & MASK64
    return h ^ (h >> 32)


def _short(data, seed):
    """Up to 16 bytes."""
    n = len(data)
    if n > 8:
        flip_low = ((_u64(SECRET, 24) ^ _u64(SECRET, 32)) + seed) & MASK64
        flip_high = ((_u64(SECRET, 40) ^ _u64(SECRET, 48)) - seed) & MASK64
        low, high = _u64(data, 0) ^ flip_low, _u64(data, n - 8) ^ flip_high
        return _avalanche((n + _swap(low, 8) + high + _fold(low, high)) & MASK64)
    if n >= 4:
        seed ^= _swap(seed & MASK32, 4) << 32
        flip = ((_u64(SECRET, 8) ^ _u64(SECRET, 16)) - seed) & MASK64
        h = (_u32(data, n - 4) + (_u32(data, 0) << 32)) ^ flip
        h ^= _rotate(h, 49) ^ _rotate(h, 24)
        h = h * PRIME_MX2 & MASK64
        h ^= (h >> 35) + n
        h = h * PRIME_MX2 & MASK64
        return h ^ (h >> 28)
    if n:
        combined = (data[0] << 16) | (data[n >> 1] << 24) | data[n - 1] | (n << 8)
        flip = ((_u32(SECRET, 0) ^ _u32(SECRET, 4)) + seed) & MASK64
        return _avalanche64(combined ^ flip)
    return _avalanche64(seed ^ _u64(SECRET, 56) ^ _u64(SECRET, 64))


def _mix16(data, at, secret_at, seed):
    return _fold(
        _u64(data, at) ^ ((_u64(SECRET, secret_at) + seed) & MASK64),
        _u64(data, at + 8) ^ ((_u64(SECRET, secret_at + 8) - seed) & MASK64),
    )


def _medium(data, seed):
    """17 to 240 bytes."""
    n = len(data)
    acc = n * PRIME64_1
    if n <= 128:
        for i in reversed(range((n - 1) // 32 + 1)):
            acc += _mix16(data, 16 * i, 32 * i, seed)
            acc += _mix16(data, n - 16 * (i + 1), 32 * i + 16, seed)
        return _avalanche(acc & MASK64)
    for i in range(8):
        acc += _mix16(data, 16 * i, 16 * i, seed)
    acc = _avalanche(acc & MASK64)
    for i in range(8, n // 16):
        acc += _mix16(data, 16 * i, 16 * (i - 8) + 3, seed)
    acc += _mix16(data, n - 16, 136 - 17, seed)
    return _avalanche(acc & MASK64)


def _seeded_secret(seed):
    words = struct.unpack('<24Q', SECRET[:192])
    return struct.pack('<24Q', *((w + (-seed if i & 1 else seed)) & MASK64 for i, w in enumerate(words)))


def _accumulate(acc, words, keys):
    for i in range(8):
        value = words[i]
        key = value ^ keys[i]
        acc[i ^ 1] += value
        acc[i] += (key & MASK32) * (key >> 32)


def _long(data, seed):
    """More than 240 bytes."""
    n = len(data)
    secret = _seeded_secret(seed)
    acc = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1]
    stripe_keys = [struct.unpack_from('<8Q', secret, 8 * i) for i in range(STRIPES_PER_BLOCK)]
    scramble_keys = struct.unpack_from('<8Q', secret, 128)
    unpack = struct.Struct('<8Q').unpack_from
    stripes = (n - 1) // STRIPE
    for s in range(stripes):
        _accumulate(acc, unpack(data, s * STRIPE), stripe_keys[s % STRIPES_PER_BLOCK])
        # A block ends with a scramble, but not one that holds the last byte.
        if s % STRIPES_PER_BLOCK == STRIPES_PER_BLOCK - 1 and (s + 1) * STRIPE <= (n - 1) // BLOCK * BLOCK:
            for i in range(8):
                a = acc[i] & MASK64
                acc[i] = ((a ^ (a >> 47) ^ scramble_keys[i]) * PRIME32_1) & MASK64
    _accumulate(acc, unpack(data, n - STRIPE), struct.unpack_from('<8Q', secret, 121))
    merge_keys = struct.unpack_from('<8Q', secret, 11)
    result = n * PRIME64_1
    for i in range(0, 8, 2):
        result += _fold((acc[i] & MASK64) ^ merge_keys[i], (acc[i + 1] & MASK64) ^ merge_keys[i + 1])
    return _avalanche(result & MASK64)


def digest(data, seed=0):
    """XXH3_64bits_withSeed of `data`."""
    seed &= MASK64
    if len(data) <= 16:
        return _short(data, seed)
    if len(data) <= 240:
        return _medium(data, seed)
    return _long(data, seed)


try:
    import xxhash
except ImportError:
    hash64 = digest
else:

    def hash64(data, seed=0):
        return xxhash.xxh3_64_intdigest(data, seed & MASK64)

import random
import unittest

import xxh3

# XXH3_64bits_withSeed of bytes 0, 1, 2, ... (mod 256), made with the reference implementation.
VECTORS = [
    (0, 0x0, 0x2D06800538D394C2),
    (0, 0x9E3779B97F4A7C15, 0x602B0E2CD6662C8B),
    (1, 0x0, 0xC44BDFF4074EECDB),
    (1, 0x9E3779B97F4A7C15, 0x062B185E4E01441A),
    (3, 0x0, 0x5F4299FC161C9CBB),
    (3, 0x9E3779B97F4A7C15, 0xBE1FD1F503B5D59E),
    (4, 0x0, 0x60DAB036A58211F2),
    (4, 0x9E3779B97F4A7C15, 0x89878861FCE0DA55),
    (8, 0x0, 0x3A1C2D7C85AF88F8),
    (8, 0x9E3779B97F4A7C15, 0xB82D9EF5FD6B3172),
    (9, 0x0, 0xE9612598145BB9DC),
    (9, 0x9E3779B97F4A7C15, 0xFE11EEFF350B91EF),
    (16, 0x0, 0x8355E3A6F61770DB),
    (16, 0x9E3779B97F4A7C15, 0x3D392960BFD9DF8A),
    (17, 0x0, 0x9EF341A99DE37328),
    (17, 0x9E3779B97F4A7C15, 0x89E5F063C641DE9F),
    (32, 0x0, 0x3523581FE96E4C05),
    (32, 0x9E3779B97F4A7C15, 0xE21AAD9E4C41F9F8),
    (33, 0x0, 0xE68C56BA88991E58),
    (33, 0x9E3779B97F4A7C15, 0x3B39CDB25965E390),
    (64, 0x0, 0x6187EB9089B0ED55),
    (64, 0x9E3779B97F4A7C15, 0x0ED104450790536F),
    (65, 0x0, 0x6928C76CE90422D0),
    (65, 0x9E3779B97F4A7C15, 0xA87508FA98055C07),
    (96, 0x0, 0x278A3E12EA046DFB),
    (96, 0x9E3779B97F4A7C15, 0x8B0D1D8169EB865A),
    (97, 0x0, 0xE7220282DC4E14F4),
    (97, 0x9E3779B97F4A7C15, 0xC425356A198956E8),
    (128, 0x0, 0x85C6174C7FF4C46B),
    (128, 0x9E3779B97F4A7C15, 0x77BF966868F4B200),
    (129, 0x0, 0xEC7642B431BA3E5A),
    (129, 0x9E3779B97F4A7C15, 0x747F159FDD2D2177),
    (192, 0x0, 0x981EB7DF4A4911D7),
    (192, 0x9E3779B97F4A7C15, 0x91C10FBF31FCF567),
    (240, 0x0, 0x375A384D957FE865),
    (240, 0x9E3779B97F4A7C15, 0xE6E766DB0868C372),
    (241, 0x0, 0x02E8CD95421C6D02),
    (241, 0x9E3779B97F4A7C15, 0x172114DE208C5A80),
    (512, 0x0, 0x1059105AD19BFA09),
    (512, 0x9E3779B97F4A7C15, 0xA878E715E0C3781A),
    (1024, 0x0, 0xA870F92984398D22),
    (1024, 0x9E3779B97F4A7C15, 0x998502A823864329),
    (1025, 0x0, 0x78C86E91EE939852),
    (1025, 0x9E3779B97F4A7C15, 0x7A2DA45362D89AE8),
    (2048, 0x0, 0xDD420471FF96BD00),
    (2048, 0x9E3779B97F4A7C15, 0x7F738D385E516426),
    (4088, 0x0, 0x65F4ADC8831043FD),
    (4088, 0x9E3779B97F4A7C15, 0x4CEF80A8DC24F26F),
    (8184, 0x0, 0xA6A25166E3F31B2D),
    (8184, 0x9E3779B97F4A7C15, 0xAB189A2B8D5D6D1C),
]


class XXH3Tests(unittest.TestCase):
    def test_vectors(self):
        for length, seed, expected in VECTORS:
            data = bytes(i & 0xFF for i in range(length))
            self.assertEqual(xxh3.digest(data, seed), expected, (length, seed))

    def test_against_the_package(self):
        try:
            import xxhash
        except ImportError:
            self.skipTest('the package xxhash is not installed')
        rng = random.Random(1)
        for length in [*range(0, 300), 1023, 1024, 1025, 2048, 2049, 4088, 8184, 65_536]:
            data = rng.randbytes(length)
            for seed in (0, 1, rng.getrandbits(64), (1 << 64) - 1):
                self.assertEqual(
                    xxh3.digest(data, seed), xxhash.xxh3_64_intdigest(data, seed), (length, seed)
                )


if __name__ == '__main__':
    unittest.main()

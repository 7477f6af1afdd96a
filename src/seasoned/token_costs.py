"""What the token estimate was fitted to: how often a token ends between two characters.

Fitted by quantile regression (0.975) to the larger of the counts of cl100k_base and o200k_base over 24,000 texts
of 80 languages, code, JSON, links, digits, emoji and random characters of every script. A cost is written as one
character: `0` is 0, and each following code point is 1/40 of a token more.
"""

from __future__ import annotations

from typing import Final

SCALE: Final = 40
"""Steps of one token in the costs below."""

EARLY: Final = (
    "l111ll1l9d1711i1l111A11N11",
    "TV1?111l11111Z11X11K1XWl1T",
    "1111A7X15991V=1cX@711XXXl1",
    "111:1I1l11OH1J1lXeA?1l[lJX",
    "111131BJA1U111_K1111X]111<",
    "1f11321l1lX1XJ1@X8111Xl:UX",
    "bLf11@V[111YVe1XX11H1X<X9l",
    "1lll1lX<1`Rll^1lX1l1l7lXlX",
    "@Z11111ll1Z11115>[11l9lMJk",
    "1XXJ11XK1C;?ll1l1l8KEdXXXJ",
    "lXalFX11gFBll2WlXAE1llla@l",
    "1?[9111`1l=8ll12X1V111?X1X",
    "11l11H1l1ll1=l121llK11lX1X",
    "141121111hf1hJ181l11<1hX21",
    ">111J1<l1R111119X1111?11lP",
    "1l8J?Xa1l`11lO11X9l11XL11l",
    "l1XXl[XXlXlX5XXXEXXX1X1OX[",
    "11111114<b<1781l11158UE1=1",
    "HlJ71Y116lGT1l1A1X111l?Q11",
    "1l1=11l16ll=1l11X1@7Pl=l1E",
    "219S1>DD1lI111l1l111G8l11l",
    "8clX1l4l9Xljla1XX1l]lGXXlX",
    "1lMX@XA11JXll111d21l:l1X3X",
    "4X11P`XX1Xa2Xl11=XQ:`^X2XX",
    "13IlLROl:@f1Ye11Xl1I4X1XPX",
    ">1X1;Xlg\\X1AiAJh1Gll1l1X1L",
)
"""Between two small letters a to z, the second among the first four of its word: rows first, columns second."""

LATIN: Final = (
    "5111XX91GXX115X1N1@CX6LP1Q",
    "12N51QNX25N1SX1XN1XM1X:N1?",
    "1X<W1NXG1311XK1X11111NXNP1",
    "1QX11XSXSXX=UN1XNE1XXXNN3X",
    "@111XVPOAXT11131C111UX11H<",
    "1NXX11NX1NX1NO1XXMQX?XNN1N",
    "@XX11X9PXXI1X91NN1JL1XNNXX",
    "1XXX1XXS13;1XX1XNS111OXN1X",
    "9111A1CXXMX1E11811FGX1XXX1",
    ":XXX?XXNX>1N1XXXXXXXXXXNXX",
    "?1XXAX11XE:X11X1=XXXVSXNK1",
    "X1X11@X114192X111X519>XN1P",
    "11XX1XDX;X73EFE1NP1XTXXX;N",
    "11911S1UAX4XXKXXXX11@XX1XN",
    "XXX1XWXX6XX16151111X1<11XX",
    "1LN41NNXXX11X11?X111XNXRMN",
    "ANNQXXNNXXJXN1XN?NSN11NNXX",
    "1X111XX11X1771511C12X1XXDX",
    "97XX11X@:1X1XV7A=X7FDX1XNQ",
    "7N=X1XX11XWWXX8KN11?XXXX1X",
    "111G111X1KW111X1X1X19OG111",
    ";XXN1XXXLXXXSX1NNHNXX9N3XX",
    "XOXX1XNX11A=X11XXX1XXXX1@N",
    "NN1O11XN6XNX1X1C11N15FN1WN",
    "X17WMXUSNXXXXX11XXXXXGXN2X",
    "811@68XWGNXNNW=XX6R11NKN19",
)
"""Between two small letters a to z further on in a word."""

CYRILLIC: Final = (
    "llZS17l0X;0WB9X0;0?0X@206XXXXX04",
    "?X\\XX0XXlXXMX[_X[XX4XXXXXX09XXXX",
    "MXBXXbXX=X0JXO\\X;9GXXXXXXXl0XXXM",
    "YXXXlHXX[XXlXl0XlXXXXXXXXXX`XXXX",
    "8XfXX5XXHXl0XX0X0=XlXXXXXXX0AgXX",
    "XXk0O0KZX0D000[X00NXXXj_0XXXXXXX",
    "0XXXF>XXJXXXX08XXXXXXXXXXXXXXXXX",
    "@CXB0\\XXlXXX000lXXlaXXXXXXXXXXXX",
    "XF0X00ll5`^00:X0;I0X0MF;lXXXXXX3",
    "XXXlXXXXXXXCX5XXX0>XXXXXXXXXXXXX",
    "[X0XXlXX0XXGXX8XgY0TXXXXXXXlXXXX",
    "1lX0X40X0XMXXJJXXXXlXXXXXXXX0X10",
    "lX0XX=XX[XXXelcXXXX0XXXXXXX0XXX0",
    "OXXO@0XX0XlXX_>XXX0J:XXXXXX00XXj",
    "X00<<00X00_0@_X<EN<XXXX0XXXXXXX0",
    "QXXXX=XX=XXXX04X0XXJXXXXXXlXXXXX",
    "4X00[<00]XXX093XXQ?MXlXXXXX^XXX2",
    "YXXXXWXX0X00X60FX56@XXXXXXll0XX0",
    "RX0XX@XXYXJX2E?X706XXXXXXXl@0XXX",
    "X0200X0lX0XAQNXll00gXXXKX8X0XX0X",
    "GXXXXXXXXXXXXXXXIXXXXXXXXXXXXXXX",
    "XXXXXXXXSXXXXX0XXXelXXXXXXXXXXXX",
    "HXXXXVXX0XXXXXXXXXXXXXBXXXX>XXXX",
    "0XXXX0XX^XXXXDXXXX0XXXXXXXXlXXXX",
    "LXXXX:XXXXX0Xl4XXXXlXXXXXXXXXXXX",
    "XXXXX5XX6XXXXXXXXXXXXXXXXXXXXXXX",
    "XXlXl0XXXXXXXXXXlXXXXXXXXXXXXXXX",
    "XXXXX0X0X0Xl0XXAlX0XX0XcXXXXXXXd",
    "XXXXXXX0XX0XX0XXX00XXXXX0XXXXXXX",
    "XXX4XXXXXXXlXRXXXX0XXXXXXXXXXXXX",
    "XXXXXXXXXXXXXXXXXXXXXXX0X0XXXXXX",
    "XXXXXTX0XXXX0XXXXh>XXEXXXXXXXXXX",
)
"""Between two Cyrillic letters а to я, capitals folded: rows and columns as above."""

GROUPS: Final = {
    "capital": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "digit": "0123456789",
    "space": " ",
    "newline": "\n\r",
    "tab": "\t",
    "stop": ".,",
    "quote": "'\"`",
    "bracket": "()[]{}<>",
    "dash": "-_",
    "slash": "/:\\;",
    "sign": "!#$%&*+=?@^|~",
}
"""The other characters of ASCII by group; small letters, controls, accented Latin and the rest are groups too."""

GROUP_ORDER: Final = (
    "letter",
    "capital",
    "digit",
    "space",
    "newline",
    "tab",
    "control",
    "stop",
    "quote",
    "bracket",
    "dash",
    "slash",
    "sign",
    "accented",
    "other",
)

BETWEEN: Final = (
    "HXVVVXXVXVVVX>:",
    ">FVVVXXVXXVVXXR",
    "VV>VXXVVXXVVXXV",
    "00X4W4HW9:@44B4",
    "TTXACKH<X<<>@X<",
    ":IX4W4HXOUS4XH5",
    "XXXRHHMHHHHX4XX",
    "0PVD7HH49UL8PHG",
    "?XV44HH7I5Q?QGX",
    "2IXL4XH6:>Q4XXX",
    "00VX4HHPANHOXHX",
    ";XVC4XHL4XX9XX;",
    "KVVF4XMR:;JOXXX",
    "4AVNXHXXXXXXXHJ",
    "46V744X4ECX4FXE",
)
"""Between two groups, in `GROUP_ORDER`: the row is the first, the column the second."""

SAME_SIGN: Final = 0.175
"""Between two equal punctuation signs."""

REPEATED: Final = 0.25
"""What is added where a pair of characters, neither a space nor a digit, repeats the pair before it."""

SCRIPTS: Final = (
    ("LATX", ((0xC0, 0x180),), 0.85, 0.4),  # accented Latin
    ("LAT1P", ((0x80, 0xC0),), 0.95, -0.15),  # Latin-1 signs
    ("LATB", ((0x180, 0x300),), 1.475, 0.3),  # further Latin and phonetic letters
    ("MARK", ((0x300, 0x370),), 1.0, 0.6),  # combining marks
    ("GREEK", ((0x370, 0x400),), 0.7, 0.8),  # Greek
    ("CYR", ((0x410, 0x460),), 0.675, 0.675),  # Cyrillic
    ("CYRX", ((0x400, 0x410), (0x460, 0x530)), 1.9, -0.125),  # further Cyrillic
    ("ARMEN", ((0x530, 0x590),), 1.25, 1.0),  # Armenian
    ("HEBR", ((0x590, 0x600),), 0.7, 0.725),  # Hebrew
    ("ARAB", ((0x600, 0x660),), 0.7, 0.475),  # Arabic
    ("ARABX", ((0x660, 0x700),), 0.675, 1.0),  # Arabic signs and further letters
    ("INDIC", ((0x900, 0x980),), 0.725, 1.0),  # Devanagari
    ("INDIC2", ((0x980, 0xE00),), 1.05, 1.0),  # other Indic scripts
    ("THAI", ((0xE00, 0xE80),), 0.7, 0.825),  # Thai
    ("SEA", ((0xE80, 0x10A0),), 1.45, 1.0),  # Lao, Tibetan, Burmese
    ("GEORG", ((0x10A0, 0x1100),), 1.2, 1.0),  # Georgian
    ("SEA2", ((0x1100, 0x1E00),), 1.9, 1.0),  # Hangul jamo, Ethiopic, Khmer and others
    ("VIET", ((0x1E00, 0x1F00),), 1.275, 0.6),  # Vietnamese
    ("GPUN", ((0x2010, 0x2040),), 0.475, 0.975),  # dashes and quotes
    ("SYM", ((0x2000, 0x2010), (0x2040, 0x2C00)), 2.225, 1.0),  # symbols
    ("CJKP", ((0x3000, 0x3040),), 0.05, 0.6),  # CJK punctuation and first kana
    ("KANA", ((0x3040, 0x3100),), 1.75, -0.8),  # kana
    ("HAN", ((0x4E00, 0xA000),), 2.75, -0.5),  # Han, rare
    ("HANG", ((0xAC00, 0xD7A4),), 1.85, 0.975),  # Hangul, rare
    ("FULL", ((0xFF00, 0xFFF0),), 0.475, -0.375),  # full width
    ("HANC", (), 1.4, -0.125),  # Han, common
    ("HANT", (), 1.175, -0.6),  # Han, common in traditional
    ("HANGC", (), 1.55, -0.625),  # Hangul, common
    ("OTHER", (), 2.05, 1.0),  # other
    ("EMOJI", (), 1.6, 1.0),  # emoji
    ("ASTRAL", (), 2.925, 1.0),  # beyond the first plane
)
"""Classes beyond ASCII: name, code points, cost of one more, and what is added after one of the same class."""

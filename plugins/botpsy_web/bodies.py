"""The body of an answer: unpacked within limits, and decoded as what it says it is, or looks like."""

import codecs
import re
import zlib

from charset_normalizer import from_bytes

from botpsy_web.problems import WebProblem

_WINDOW = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
UNPACKED = "gzip, deflate"
"""What `Unpacker` takes, as a request says it (RFC 9110 §12.5.3)."""

_MEANT = {
    **dict.fromkeys(("iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii", "l1"), "cp1252"),
    **dict.fromkeys(("gb2312", "gb_2312-80", "gbk", "x-gbk"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "korean"), "cp949"),
    **dict.fromkeys(("big5", "big5-hkscs", "cn-big5"), "big5hkscs"),
    **dict.fromkeys(("iso-8859-9", "latin5"), "cp1254"),
    **dict.fromkeys(("iso-8859-11", "tis-620"), "cp874"),
    **dict.fromkeys(("x-mac-roman", "macintosh"), "mac-roman"),
    **dict.fromkeys(("x-cp1250", "x-cp1251", "x-cp1252"), ""),
    "utf8": "utf-8",
    "unicode": "utf-16-le",
    "utf-16": "utf-16-le",
}
"""What pages mean by a name, where Python takes it otherwise (WHATWG Encoding §4.2)."""
_NO_CHARSETS = frozenset(("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"))
"""Codecs of Python's that no page is written in, or that let a page say something else than it seems."""
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]+)",
    re.IGNORECASE,
)
_LOOKED_AT = 2048
_GUESSED_FROM = 20_000


class Unpacker:
    """Unpacks a body piece by piece, and stops at a limit: a bomb costs no more than that."""

    def __init__(self, coding: str, most: int) -> None:
        """`coding` is the Content-Encoding; `most` the bytes to unpack. Raises `WebProblem`."""
        self._left = most
        self._decoder = None
        self._first = True
        self._coding = coding.strip().lower()
        if self._coding in ("", "identity"):
            return
        if self._coding not in _WINDOW:
            raise WebProblem("The site packed the page in a way that was not asked for; it can't be read.")
        self._decoder = zlib.decompressobj(_WINDOW[self._coding])

    @property
    def full(self) -> bool:
        """True once the limit is reached: there is more, or may be."""
        return self._left <= 0

    def add(self, piece: bytes) -> bytes:
        """Return what one more piece holds, up to the limit. Raises `WebProblem`."""
        if self._decoder is None:
            unpacked = piece[: self._left]
        elif not piece or self._decoder.eof:
            return b""
        else:
            if self._first and self._coding == "deflate" and piece[0] & 0x0F != 8:
                self._decoder = zlib.decompressobj(-zlib.MAX_WBITS)  # many servers leave the frame out
            self._first = False
            try:
                unpacked = self._decoder.decompress(piece, max(self._left, 1))
            except zlib.error as error:
                raise WebProblem("The page came in damaged; try it again.") from error
        self._left -= len(unpacked)
        return unpacked


def decoded(body: bytes, charset: str = "") -> str:
    """Return a body's text. `charset` is what the answer's Content-Type says, if anything.

    A byte order mark goes first, then the header, then the page itself (WHATWG HTML §13.2.3.2);
    with none of them, UTF-8 where it is that, else a guess from the letters. Never fails.
    """
    for mark, codec in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace")
    declared = _DECLARED.search(body[:_LOOKED_AT])
    inside = (declared[1] or declared[2]).decode("ascii") if declared else ""
    if inside.lower().startswith("utf-16"):
        inside = "utf-8"  # it was read as bytes of ASCII, so it can't be that
    for name in (charset, inside):
        if codec := _codec(name):
            return body.decode(codec, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(body) - 4 and error.reason == "unexpected end of data":
            return body.decode("utf-8", "ignore")  # cut in the middle of a character
    guess = from_bytes(body[:_GUESSED_FROM]).best()
    return body.decode((guess and _codec(guess.encoding)) or "cp1252", "replace")


def _codec(name: str) -> str:
    """Return the Python codec that a page means by a name, or nothing where there is none."""
    name = name.strip().strip("\"'").lower()
    name = _MEANT.get(name) or name.removeprefix("x-")
    try:
        b"x".decode(name, "replace")  # "base64" is a codec too, and turns bytes into bytes
        found = codecs.lookup(name).name if name else ""
        return "" if found in _NO_CHARSETS else found
    except (LookupError, ValueError, UnicodeError):
        return ""

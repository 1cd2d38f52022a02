"""Files that are compressed, or not in UTF-8: read as the UTF-8 text that is in them."""

from __future__ import annotations

import codecs
from typing import BinaryIO

from scstream.sources.base import Place
from scstream.sources.guess.encoding import damaged, open_packed
from scstream.sources.readers import BLOCK, Reader
from scstream.sources.trail import Trail
from scstream.support.advice import Advice, advised


class DecodedReader(Reader):
    """Reads a file's text as UTF-8. Offsets count the bytes of that text.

    A resume unpacks the file from its beginning and skips what was read before.
    """

    def __init__(
        self, path: str, compression: str | None, encoding: str, raw: BinaryIO | None = None
    ) -> None:
        super().__init__()
        self.path = path
        self.encoding = encoding
        self._file: BinaryIO = open_packed(path, compression, raw)
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._left = b""  # decoded, and not yet handed out
        self._ended = False

    def seek(self, offset: int, seen: Place | None) -> None:
        """Skip this many bytes, which must be those that were read before."""
        base = seen["base"] if seen else 0
        trail, left = self.trail or Trail(), offset - base
        if base:
            trail.begin_file(base)
        while left:
            data = self._next()
            if not data:
                raise self._replaced(f"ends {left:,} bytes before the place of the checkpoint")
            self._left, data = data[left:], data[:left]
            left -= len(data)
            trail.add(data)
            trail.forget(offset - left)
        if seen and trail.mark(offset)["digest"] != seen.get("digest"):
            raise self._replaced("is not what was read before")

    def _replaced(self, what: str) -> ValueError:
        return ValueError(
            f"{self.path} {what}: it is not the file that the checkpoint was made with. Put it "
            "back, or start over with another folder for checkpoints and new outputs."
        )

    def read(self) -> bytes | None:
        """Return the next bytes, none at the end."""
        data, self._left = self._left or self._next(), b""
        if self.trail is not None:
            self.trail.add(data)
        return data

    def _next(self) -> bytes:
        """Return the next bytes of text as UTF-8."""
        while not self._ended:
            with damaged(self.path):
                raw = self._file.read(BLOCK)
            self._ended = not raw
            try:
                text = self._decoder.decode(raw, final=self._ended)
            except UnicodeDecodeError as error:
                raise advised(
                    ValueError(
                        f"{self.path} is not {self.encoding}: {error.reason}. Name its encoding, "
                        "such as utf-8, latin-1 or utf-16."
                    ),
                    Advice("encoding"),
                ) from None
            data = text.encode("utf-8", "surrogatepass")
            if data:
                return data
        return b""

    def close(self) -> None:
        """Close the file."""
        self._file.close()

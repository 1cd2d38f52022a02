"""CSV and TSV: fields between separators, quoted or not, read by the core."""

from __future__ import annotations

import numpy as np

from scstream.core import Form, Found, powers_of_ten, scan
from scstream.sources.base import MalformedRow, Place
from scstream.sources.chunks import Chunk, Ints
from scstream.sources.fields import (
    RETURN,
    NumberForm,
    bare_return,
    scan_roles,
    settle,
    text_columns,
)
from scstream.sources.guess.amounts import is_number
from scstream.sources.guess.dialect import Dialect, guess_dialect, spread
from scstream.sources.guess.encoding import LOOK, refuse_packed
from scstream.sources.guess.head import (
    named_columns,
    preamble,
    refuse_json_lines,
    refuse_other,
    same_columns,
)
from scstream.sources.guess.header import scale
from scstream.sources.guess.looks import Look
from scstream.sources.guess.values import ALSO_MISSING, MISSING
from scstream.sources.listing import Listing
from scstream.sources.options import SourceOptions
from scstream.sources.places import unsound, whole
from scstream.sources.records import TextRecords, split
from scstream.sources.rows import assemble
from scstream.sources.text import TextSource
from scstream.support.advice import Advice, advised
from scstream.support.messages import note

_FEW = 10  # records that are looked for at the beginning of a further file


class SeparatedSource(TextSource):
    """Reads CSV and TSV."""

    def __init__(self, files: Listing, options: SourceOptions) -> None:
        self.separator = options.separator or ","
        self.decimal = options.decimal or "."
        if self.separator == self.decimal and options.separator:
            raise ValueError(f"Fields and decimals are both separated by {self.separator!r}.")
        super().__init__(files, options)
        self._beneath = 0  # lines below the names that are not data
        self._words = {word.lower() for word in options.missing}
        self._missing = self._words | {*MISSING, *ALSO_MISSING}

    # -- what the columns are -------------------------------------------------------------------

    def seek(self, place: Place) -> None:
        """Stand where a batch with this place ended."""
        super().seek(place)
        for name in ("separator", "decimal"):
            sign = place.get(name, getattr(self, name))
            if not isinstance(sign, str) or len(sign) != 1 or not sign.isascii():
                raise unsound(name, sign)
            setattr(self, name, sign)
        self._beneath = whole(place, "beneath", 0, 3) if "beneath" in place else 0

    def _kept(self) -> Place:
        signs = {"separator": self.separator, "decimal": self.decimal}
        beneath = {"beneath": self._beneath} if self._beneath else {}
        return super()._kept() | signs | beneath

    def _begin(self, text: bytes, final: bool) -> int | None:
        """Find out how the table is written and what its columns are."""
        if not text.strip() or not self._enough(text, final):
            return None
        refuse_packed(text, self.name, self.options.encoding)
        refuse_other(text, self.name)
        refuse_json_lines(text, self.name)
        before, dialect = self._dialect(text)
        text = text[before:]
        bounds = self._records(text, final, cap=text.count(b"\n") + 1)
        rows = [self._split(text[a:b]) for a, b in bounds[spread(len(bounds)), :2].tolist()]
        if not rows:
            return None
        if bare_return(text[bounds[0, 0] : bounds[0, 1]]):
            raise MalformedRow(f"{self.name}, line {bounds[0, 3] + 1}: {RETURN}.")
        self._beneath = dialect.beneath
        head = dialect.header + dialect.beneath
        below = rows[head:]
        names = list(map(str, range(len(rows[0]))))
        if dialect.header:
            names = named_columns(rows[0], below)
        self._tell_doubt(rows[0], header=dialect.header)
        if not below and final:
            raise ValueError(f"{self.name} has a header but no rows.")
        whole = [row for row in below if len(row) == len(names)]
        values = [
            [f for f in column if not self._is_missing(f)] for column in zip(*whole, strict=True)
        ]
        if not whole:
            raise advised(ValueError(self._no_row_fits(names, below)), Advice("separator"))
        total = len(bounds) - head
        self._look(Look(names, values, len(whole), total, self.decimal), named=dialect.header)
        return before + (int(bounds[head - 1, 2]) if head else 0)

    def _dialect(self, text: bytes) -> tuple[int, Dialect]:
        """Return how many bytes come before the table, and how the table is written."""
        given = self.options
        before, named = preamble(text)
        look = text[before : before + LOOK].decode("utf-8", "replace")
        sep = given.separator or named
        try:
            dialect = guess_dialect(look, sep, given.decimal, given.header, self._missing)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        self.separator, self.decimal = dialect.separator, dialect.decimal
        start = before
        for _ in range(dialect.above):
            before = text.index(b"\n", before) + 1
        if text[start:before].strip():
            line = text.count(b"\n", 0, before) + 1
            note(f"the table in {self.name} begins on line {line}; the lines above are skipped")
        if dialect.beneath:
            note(f"rules below the names in {self.name} are skipped")
        return before, dialect

    def _tell_doubt(self, first: list[str], *, header: bool) -> None:
        """Say what a first row was taken for, if its numbers may be names or data."""
        numbers = [field.strip() for field in first if is_number(field, grouped=False)]
        how = scale(numbers)
        if self.options.header is not None or not numbers or not (header or how):
            return
        shown = ", ".join(numbers[:3]) + ", ..." * (len(numbers) > 3)
        if header:
            said, advice = "names of columns", Advice("header", False, "if they are data")
        else:
            said = "data, since other rows hold such numbers"
            advice = Advice("header", True, "if they name the columns")
        note(f"the numbers {shown} in the first row of {self.name} are taken for {said}", advice)

    def _is_missing(self, field: str) -> bool:
        return field.strip().lower() in self._missing

    def _no_row_fits(self, names: list[str], rows: list[list[str]]) -> str:
        return (
            f"{self.name}: the first line has {len(names)} fields, separated by "
            f"{self.separator!r}, and none of the next {len(rows)} lines has as many. Name the "
            "separator."
        )

    def _named_again(self, text: bytes, final: bool) -> int | None:
        """Return how many bytes of a further file name the columns again, None to read more."""
        bounds = self._records(text, final)
        if not len(bounds):
            return 0 if final else None
        first = self._split(text[bounds[0, 0] : bounds[0, 1]])
        if self.schema.named and same_columns(self.schema.names, first):
            head = 1 + self._beneath
            return (
                int(bounds[head - 1, 2]) if len(bounds) >= head else (len(text) if final else None)
            )
        in_another_order = sorted(first) == sorted(self.schema.names)
        if self.schema.named and (self.options.header or in_another_order):
            raise ValueError(
                f"{self.name} has other columns than the file before: {first!r} where "
                f"{self.schema.names!r} are expected."
            )
        return 0

    def _records(self, text: bytes, final: bool, cap: int = _FEW) -> Ints:
        """Return where the first records are."""
        found = Found.room(cap, 0, 0)
        rows = self._scan(text, final, np.empty(0, np.int64), found)[0]
        return found.bounds[:rows]

    def _scan(
        self, text: bytes, final: bool, roles: Ints, found: Found
    ) -> tuple[int, int, int, int]:
        """Read the records of a block, see `scstream.core.scan`."""
        form = Form(ord(self.separator), ord(self.decimal), roles, powers_of_ten())
        return scan(np.frombuffer(text, np.uint8), final, form, found)

    def _split(self, record: bytes) -> list[str]:
        return split(record.decode("utf-8", "replace"), self.separator)

    # -- rows -----------------------------------------------------------------------------------

    def _parse(self, text: bytes, final: bool) -> tuple[Chunk | None, int]:
        schema = self.schema
        roles, n_numbers, n_texts = scan_roles(schema)
        found = Found.room(text.count(b"\n") + 1, n_numbers, n_texts)
        rows, n_odd, taken, _ = self._scan(text, final, roles, found)
        if rows == 0:
            return None, taken
        numbers, spans, bounds = found.numbers[:rows], found.spans[:rows], found.bounds[:rows]
        bad = self._count(found.fields[:rows], len(schema.names)) | self._returns(text, bounds)
        learned = self.options.kinds is not None
        form = NumberForm(schema, self.decimal, self._missing, learned)
        settle(text, numbers, found.odd[:n_odd], bad, form)
        words = text_columns(text, spans, self._words, bad)
        line = bounds[:, 3] + (self._lines + 1)
        time = None
        if schema.time is not None:
            time = self._times(words.pop() if schema.time_is_text else numbers[:, -1], line, bad)
        chunk = Chunk(
            assemble(schema, numbers, words),
            bounds[:, (2, 4)] + np.array([self._offset, self._lines]),
            line,
            np.arange(self._rows + 1, self._rows + rows + 1),
            self._records_of(text, bounds[:, :2]),
            time,
            bad,
        )
        return chunk, taken

    def _records_of(self, text: bytes, bounds: Ints) -> TextRecords:
        return TextRecords("csv", self.schema.names, text, bounds, self.separator)

    def _returns(self, text: bytes, bounds: Ints) -> dict[int, str]:
        """Return the rows that hold a carriage return outside of quotes."""
        if b"\r" not in text or text.count(b"\r") == text.count(b"\r\n"):
            return {}
        rows = enumerate(bounds[:, :2].tolist())
        return {i: RETURN for i, (a, b) in rows if bare_return(text[a:b])}

    def _count(self, fields: Ints, width: int) -> dict[int, str]:
        """Return the rows with too many or too few fields, and what is wrong."""
        return {
            i: "a closing quote is followed by more than a separator"
            if fields[i] < 0
            else f"{fields[i]} fields where {width} are expected"
            for i in np.flatnonzero(fields != width).tolist()
        }

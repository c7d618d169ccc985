"""What the lossless JSON keeps, what it refuses, and that its reader is as strict as its writer."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import hashlib
import itertools
import json
import random
import sys
import tracemalloc
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nodeagent.errors import Corrupt, NotLossless, TooLarge
from nodeagent.lossless import DEFAULT_MAX_BYTES, MAX_DEPTH, Json, decode, detached, digest, encode

MIN_INT, MAX_INT = -(2**63), 2**63 - 1
PAYLOAD = "hunter2"


class Text(str):
    """A str with a class of its own."""

    __slots__ = ()


class Whole(int):
    """An int with a class of its own."""


class Real(float):
    """A float with a class of its own."""


class Row(list[int]):
    """A list with a class of its own."""


class Table(dict[str, int]):
    """A dict with a class of its own."""


class Colour(enum.Enum):
    """A plain enumeration."""

    RED = "red"


class Level(enum.IntEnum):
    """An enumeration whose members are ints."""

    LOW = 1


class Mode(enum.StrEnum):
    """An enumeration whose members are strs."""

    FAST = "fast"


class Pair(NamedTuple):
    """A tuple with names."""

    left: int


@dataclass
class Point:
    """A record."""

    x: int


def nested(levels: int, leaf: object = 0, *, as_dict: bool = False) -> object:
    """Return ``leaf`` inside ``levels`` containers, built without recursion."""
    for _ in range(levels):
        leaf = {"k": leaf} if as_dict else [leaf]
    return leaf


def same(left: object, right: object) -> bool:
    """Tell whether two values are equal and of the same types all the way down."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        keys = left.keys() == right.keys() and all(type(key) is str for key in right)
        return keys and all(same(left[key], right[key]) for key in left)
    return left == right


def containers(value: object) -> Iterator[int]:
    """Yield the id of every list and dict in ``value``."""
    if isinstance(value, list | dict):
        yield id(value)
        for member in value.values() if isinstance(value, dict) else value:
            yield from containers(member)


texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = (
    st.none()
    | st.booleans()
    | st.integers(MIN_INT, MAX_INT)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: str(x) != "-0.0")
    | texts
)
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=40)
deep_values = st.builds(
    lambda leaf, kinds: [leaf := [leaf] if kind else {"k": leaf} for kind in kinds][-1],
    scalars,
    st.lists(st.booleans(), min_size=1, max_size=MAX_DEPTH),
)

# -- what is kept ---------------------------------------------------------------------------------


KEPT: list[tuple[object, bytes]] = [
    (None, b"null"),
    (True, b"true"),
    (False, b"false"),
    (0, b"0"),
    ("", b'""'),
    ([], b"[]"),
    ({}, b"{}"),
    ({"": ""}, b'{"":""}'),
    (1.0, b"1.0"),
    (0.0, b"0.0"),
    (MIN_INT, b"-9223372036854775808"),
    (MAX_INT, b"9223372036854775807"),
    (0.1 + 0.2, b"0.30000000000000004"),
    (1e-320, b"1e-320"),
    (5e-324, b"5e-324"),
    (sys.float_info.max, b"1.7976931348623157e+308"),
    (-sys.float_info.max, b"-1.7976931348623157e+308"),
    (1e16, b"1e+16"),
    ("a\0b", b'"a\\u0000b"'),
    ('"\\/\n\x1f\x7f', b'"\\"\\\\/\\n\\u001f\x7f"'),
    ("é\u2028😀\ufeff", '"é\u2028😀\ufeff"'.encode()),
    ([True, 1, 1.0, "1", None], b'[true,1,1.0,"1",null]'),
    ({"b": 1, "a": {"d": [], "c": {}}}, b'{"a":{"c":{},"d":[]},"b":1}'),
    ({"\U00010000": 1, "\uffff": 2, "a": 3, "B": 4}, '{"B":4,"a":3,"\uffff":2,"𐀀":1}'.encode()),
    ([[[[]]], {"a": {}}], b'[[[[]]],{"a":{}}]'),
]


@pytest.mark.parametrize(("value", "data"), KEPT, ids=[repr(data) for _, data in KEPT])
def test_a_value_has_one_text(value: object, data: bytes) -> None:
    """Each value is written as these bytes, and they are read as that value and type."""
    assert encode(value) == data
    assert same(decode(data), value)
    assert same(detached(value), value)


@given(values | deep_values)
def test_every_value_comes_back(value: object) -> None:
    """What is written is read back equal and of the same types at any depth."""
    assert same(decode(encode(value)), value)
    assert same(detached(value), value)


@given(values, st.randoms(use_true_random=False))
def test_the_order_of_keys_leaves_no_trace(value: object, rng: random.Random) -> None:
    """Any permutation of the keys gives the same bytes and so the same digest."""

    def shuffled(part: object) -> object:
        if isinstance(part, dict):
            keys = rng.sample(list(part), len(part))
            return {key: shuffled(part[key]) for key in keys}
        return [shuffled(member) for member in part] if isinstance(part, list) else part

    assert encode(shuffled(value)) == encode(value)


def test_every_permutation_of_keys_gives_equal_bytes() -> None:
    """All 120 orders of five keys, plain and odd, are written alike."""
    keys = ["", "a", "B", "é", "😀"]

    texts = {encode(dict.fromkeys(order, 0)) for order in itertools.permutations(keys)}

    assert len(texts) == 1


@given(scalars | values, scalars | values)
@example(1, 1.0)
@example([1], [True])
@example("1", 1)
def test_bytes_are_equal_only_if_values_and_types_are(left: object, right: object) -> None:
    """Two values share their bytes, and so their digest, exactly if nothing tells them apart."""
    assert (encode(left) == encode(right)) == same(left, right)


def test_a_shared_part_is_written_each_time() -> None:
    """Sharing is no cycle: the copies come back equal, and apart."""
    part: list[object] = []

    copy = detached({"a": part, "b": [part, part]})

    assert copy == {"a": [], "b": [[], []]}
    assert len(set(containers(copy))) == 5


@given(values)
def test_a_detached_value_shares_nothing(value: object) -> None:
    """No list or dict of the copy is one of the original."""
    assert not {*containers(value)} & {*containers(detached(value))}


def test_a_change_does_not_reach_the_copy() -> None:
    """The copy stays as it was when the original changes."""
    value: dict[str, list[int]] = {"x": [1]}
    copy = detached(value)

    value["x"].append(2)

    assert copy == {"x": [1]}


def test_the_digest_is_sha256_in_hexadecimal() -> None:
    """The digest is the plain sha256 of the bytes, as any other tool computes it."""
    assert digest(b"{}") == hashlib.sha256(b"{}").hexdigest()
    assert digest(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


# -- what is refused ------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "nan": (lambda: float("nan"), "the float is not finite"),
    "inf": (lambda: float("inf"), "the float is not finite"),
    "-inf": (lambda: float("-inf"), "the float is not finite"),
    "negative zero": (lambda: -0.0, "the float is a negative zero"),
    "too low an int": (lambda: MIN_INT - 1, "the int is outside signed 64 bits"),
    "too high an int": (lambda: MAX_INT + 1, "the int is outside signed 64 bits"),
    "a huge int": (lambda: 1 << 100_000, "the int is outside signed 64 bits"),
    "high surrogate": (lambda: f"{PAYLOAD}\ud800", "the str holds a lone surrogate"),
    "low surrogate": (lambda: f"\udc97{PAYLOAD}", "the str holds a lone surrogate"),
    "surrogates side by side": (lambda: "\ud83d\ude00", "the str holds a lone surrogate"),
    "bytes": (PAYLOAD.encode, "type bytes would not come back as such"),
    "bytearray": (lambda: bytearray(b""), "type bytearray would not come back as such"),
    "tuple": (lambda: (1, PAYLOAD), "type tuple would not come back as such"),
    "empty tuple": (lambda: (), "type tuple would not come back as such"),
    "named tuple": (lambda: Pair(1), f"type {__name__}.Pair would not come back as such"),
    "set": (lambda: {PAYLOAD}, "type set would not come back as such"),
    "frozenset": (frozenset[str], "type frozenset would not come back as such"),
    "Decimal": (lambda: decimal.Decimal("1.5"), "type decimal.Decimal would not come back"),
    "datetime": (lambda: dt.datetime.now(tz=dt.UTC), "type datetime.datetime would not come back"),
    "UUID": (lambda: uuid.UUID(int=1), "type uuid.UUID would not come back as such"),
    "Path": (lambda: PurePosixPath(PAYLOAD), "PurePosixPath would not come back as such"),
    "complex": (lambda: 1j, "type complex would not come back as such"),
    "Enum": (lambda: Colour.RED, f"type {__name__}.Colour would not come back as such"),
    "IntEnum": (lambda: Level.LOW, f"type {__name__}.Level would not come back as such"),
    "StrEnum": (lambda: Mode.FAST, f"type {__name__}.Mode would not come back as such"),
    "subclass of str": (lambda: Text(PAYLOAD), f"type {__name__}.Text would not come back as such"),
    "subclass of int": (lambda: Whole(1), f"type {__name__}.Whole would not come back as such"),
    "subclass of float": (lambda: Real(1.0), f"type {__name__}.Real would not come back as such"),
    "subclass of list": (Row, f"type {__name__}.Row would not come back as such"),
    "subclass of dict": (Table, f"type {__name__}.Table would not come back as such"),
    "OrderedDict": (OrderedDict[str, int], "type collections.OrderedDict would not come back"),
    "dataclass": (lambda: Point(1), f"type {__name__}.Point would not come back as such"),
    "object": (object, "type object would not come back as such"),
    "class": (lambda: int, "type type would not come back as such"),
    "function": (lambda: len, "type builtin_function_or_method would not come back as such"),
    "generator": (lambda: (x for x in [PAYLOAD]), "type generator would not come back as such"),
}

AROUND: dict[str, tuple[Callable[[object], object], str]] = {
    "bare": (lambda bad: bad, "$"),
    "in a list": (lambda bad: [0, "", bad], "$[2]"),
    "in a dict": (lambda bad: {"fine": 0, "bad": bad}, "$.bad"),
    "deep in both": (lambda bad: {"a": [0, 1, {}, {"odd key": [bad]}]}, '$.a[3]."odd key"[0]'),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("case", REFUSED)
def test_what_would_not_come_back_is_refused_with_its_path(case: str, around: str) -> None:
    """The error leads to the part and says why, alike for the copy, without its payload."""
    make, reason = REFUSED[case]
    wrap, path = AROUND[around]
    value = wrap(make())

    for refuse in (encode, detached):
        with pytest.raises(NotLossless) as caught:
            refuse(value)

        assert caught.value.path == path
        assert reason in caught.value.reason
        assert PAYLOAD not in str(caught.value)
        assert str(caught.value).isascii()


KEYS: dict[str, tuple[object, str]] = {
    "int": (1, ".<int 1>"),
    "huge int": (1 << 100_000, ".<int>"),
    "bool": (True, ".<bool True>"),
    "None": (None, ".<NoneType>"),
    "float": (1.5, ".<float 1.5>"),
    "nan": (float("nan"), ".<float>"),
    "tuple": ((PAYLOAD, 2), ".<tuple>"),
    "bytes": (PAYLOAD.encode(), ".<bytes>"),
    "subclass of str": (Text("k"), f".<{__name__}.Text>"),
    "StrEnum": (Mode.FAST, f".<{__name__}.Mode>"),
    "IntEnum": (Level.LOW, f".<{__name__}.Level>"),
    "lone surrogate": ("x\udc97y", '."x\\udc97y"'),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("case", KEYS)
def test_a_key_that_is_no_str_is_refused_with_its_path(case: str, around: str) -> None:
    """The path names the key, by value where that is short and safe and else by type."""
    key, step = KEYS[case]
    wrap, path = AROUND[around]

    with pytest.raises(NotLossless) as caught:
        encode(wrap({"fine": 0, key: PAYLOAD}))

    assert caught.value.path == path + step
    assert "key" in caught.value.reason
    assert PAYLOAD not in str(caught.value)


PATHS = [
    ({"a": [0, 0, 0, {"odd key": b""}]}, '$.a[3]."odd key"'),
    ({"": b""}, '$.""'),
    ({"a.b": b""}, '$."a.b"'),
    ({"_x9": b""}, "$._x9"),
    ({"9x": b""}, '$."9x"'),
    ({'q"\n': b""}, '$."q\\"\\n"'),
    ({"é": b""}, '$."\\u00e9"'),
    ([[], [[b""]]], "$[1][0][0]"),
    ({"x" * 100: [b""]}, f'$."{"x" * 18}...{"x" * 18}"[0]'),
]


@pytest.mark.parametrize(("value", "path"), PATHS, ids=[path for _, path in PATHS])
def test_a_path_can_be_read(value: object, path: str) -> None:
    """Plain keys follow a dot, odd ones are quoted in ASCII, indexes stand in brackets."""
    with pytest.raises(NotLossless) as caught:
        encode(value)

    assert caught.value.path == path


def test_the_first_fault_is_told() -> None:
    """Of several faults the error names the first in reading order."""
    with pytest.raises(NotLossless) as caught:
        encode({"b": [1, {"c": ()}], "a": b""})

    assert caught.value.path == "$.b[1].c"


def test_a_path_is_bounded() -> None:
    """Neither a long key nor many of them nor a long type name can flood a log."""
    kind = type("K" * 10_000, (), {})
    value: object = kind()
    for _ in range(MAX_DEPTH):
        value = {"x" * 10_000: value}

    with pytest.raises(NotLossless) as caught:
        encode(value)

    assert caught.value.path.startswith('$."xxx')
    assert caught.value.path.endswith('xxx"')
    assert len(caught.value.path) <= 200
    assert len(str(caught.value)) <= 500


# -- depth and cycles -----------------------------------------------------------------------------


@pytest.mark.parametrize("as_dict", [False, True])
@pytest.mark.parametrize("leaf", [0, "[[{{", [], {}, "\\"], ids=repr)
def test_a_hundred_levels_are_kept(leaf: object, *, as_dict: bool) -> None:
    """A value may be as deep as the limit, whatever its leaf, and is read back."""
    levels = MAX_DEPTH - isinstance(leaf, list | dict)
    value = nested(levels, leaf, as_dict=as_dict)

    assert same(decode(encode(value)), value)


@pytest.mark.parametrize("as_dict", [False, True])
@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 500, 2_000, 100_000])
def test_more_levels_are_refused_on_write(levels: int, *, as_dict: bool) -> None:
    """One level too many is refused as a hundred thousand are, with the path of the excess."""
    value = nested(levels, as_dict=as_dict)

    with pytest.raises(NotLossless, match="100 containers deep") as caught:
        encode(value)

    assert caught.value.path.startswith("$.k.k" if as_dict else "$[0][0]")
    assert len(caught.value.path) <= 200


@pytest.mark.parametrize(("left", "right"), [("[", "]"), ('{"k":', "}"), ('[{"]":', "}]")])
@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 500, 2_000, 100_000])
def test_more_levels_are_refused_on_read(levels: int, left: str, right: str) -> None:
    """The reader has the writer's limit and never reaches that of the interpreter."""
    opened = left * levels

    for text in (f"{opened}0{right * levels}", opened, f'["\\\\\\"",{opened}'):
        with pytest.raises(Corrupt, match="at most 100 levels"):
            decode(text.encode())


def test_brackets_in_strings_are_no_levels() -> None:
    """Many brackets that close again or lie in strings, between escapes, do not count as depth."""
    value = {
        "a": ["\\", "[{" * 200, '"[' * 200, "\\[" * 200, '\\"[' * 200],
        '[\\"' * 200: [[]] * 200,
    }

    assert decode(encode(value)) == value


def _list_in_itself() -> object:
    value: list[object] = [0]
    value.append(value)
    return value


def _dict_in_itself() -> object:
    value: dict[str, object] = {}
    value["me"] = value
    return value


def _two_in_each_other() -> object:
    left: list[object] = []
    right: dict[str, object] = {"left": left}
    left.append(right)
    return {"a": left}


def _twice_in_itself() -> object:
    value: list[object] = []
    value += [value, value]
    return value


CYCLES: list[tuple[Callable[[], object], str]] = [
    (_list_in_itself, "$[1]"),
    (_dict_in_itself, "$.me"),
    (_two_in_each_other, "$.a[0].left"),
    (_twice_in_itself, "$[0]"),
]


@pytest.mark.parametrize(("make", "path"), CYCLES, ids=[path for _, path in CYCLES])
def test_a_cycle_is_refused_where_it_closes(make: Callable[[], object], path: str) -> None:
    """The path leads to the place where a container appears inside itself."""
    with pytest.raises(NotLossless, match="contains itself") as caught:
        encode(make())

    assert caught.value.path == path


def test_a_shared_part_is_searched_again_further_down() -> None:
    """A part that is sound near the top is refused where it lies too deep."""
    part = nested(60)

    with pytest.raises(NotLossless, match="100 containers deep"):
        encode([part, nested(60, part)])


# -- size -----------------------------------------------------------------------------------------


@given(values, st.integers(0, 5))
@example("", 1)
@example(0, 1)
@example([0], 1)
def test_the_limit_of_size_is_exact(value: object, less: int) -> None:
    """As many bytes as the encoding has are enough, any fewer are refused with both numbers."""
    size = len(encode(value))
    limit = size - 1 - less

    assert len(encode(value, max_bytes=size)) == size
    with pytest.raises(TooLarge) as caught:
        encode(value, max_bytes=limit)
    assert (caught.value.size, caught.value.limit) == (size, limit)


@pytest.mark.parametrize("text", ["x", "é", "\0"])
def test_the_default_limit_holds(text: str) -> None:
    """The default limit is met and exceeded by one byte, in whatever characters."""
    size = len(encode(text)) - 2
    count, rest = divmod(DEFAULT_MAX_BYTES - 2, size)
    value = text * count + "x" * rest

    assert len(encode(value)) == DEFAULT_MAX_BYTES
    with pytest.raises(TooLarge) as caught:
        encode(value + "x")
    assert caught.value.size == DEFAULT_MAX_BYTES + 1


@pytest.mark.parametrize("leaf", ["0", "[]", '{"k":true}', '"text"'])
def test_a_small_graph_of_endless_text_is_refused(leaf: str) -> None:
    """A list doubled ninety times is refused by its exact size without being written."""
    value: object = decode(leaf.encode())
    for _ in range(90):
        value = [value, value]

    with pytest.raises(TooLarge) as caught:
        encode(value, max_bytes=100_000)

    assert caught.value.size == len(leaf) * 2**90 + len("[,]") * (2**90 - 1)


@pytest.mark.parametrize("text", ["x" * 1_000_000, "é" * 500_000])
@pytest.mark.parametrize("wrap", [lambda text: text, lambda text: {text: 0}])
def test_a_long_text_in_many_places_is_refused(text: str, wrap: Callable[[str], object]) -> None:
    """What is over the limit by the length of its strings is not written to find that out."""
    value = [wrap(text)] * 100
    size = 100 * len(encode(value[0])) + 101

    tracemalloc.start()
    with pytest.raises(TooLarge) as caught:
        encode(value)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert caught.value.size == size
    assert peak < size / 5


def test_a_fault_in_a_large_value_is_told_first() -> None:
    """A value that is both too large and faulty is refused for the fault, which has a path."""
    with pytest.raises(NotLossless) as caught:
        encode(["x" * 100, (1, 2)], max_bytes=10)

    assert caught.value.path == "$[1]"


def test_what_a_generous_writer_stored_is_read() -> None:
    """The reader has no limit of size."""
    value = "x" * (DEFAULT_MAX_BYTES + 1)

    assert decode(encode(value, max_bytes=2 * DEFAULT_MAX_BYTES)) == value


# -- the reader -----------------------------------------------------------------------------------

CORRUPT: dict[str, bytes] = {
    "nothing": b"",
    "space before": b" 1",
    "space after": b"1 ",
    "newline after": b"{}\n",
    "space inside": b"[1, 2]",
    "space after colon": b'{"a": 1}',
    "trailing value": b"1 2",
    "trailing bracket": b"[]]",
    "trailing NUL": b"{}\0",
    "two values": b"{}{}",
    "unsorted keys": b'{"b":1,"a":2}',
    "unsorted keys below": b'[{"b":1,"a":2}]',
    "keys sorted by UTF-16": '{"𐀀":1,"\uffff":2}'.encode(),
    "repeated key": b'{"a":1,"a":1}',
    "repeated key, other value": b'{"a":1,"a":2}',
    "trailing zero": b"1.50",
    "leading zero": b"01",
    "leading plus": b"+1",
    "no digit before the point": b".5",
    "no digit after the point": b"1.",
    "exponent for a small float": b"1e5",
    "exponent in capitals": b"1E+16",
    "exponent without sign": b"1e16",
    "float with needless digits": b"0.1000000000000000055511151231257827",
    "negative zero": b"-0.0",
    "negative zero as int": b"-0",
    "negative zero with exponent": b"-0e0",
    "underflow": b"1e-999",
    "overflow": b"1e999",
    "overflow below zero": b"-1e999",
    "NaN": b"NaN",
    "Infinity": b"[Infinity]",
    "-Infinity": b'{"a":-Infinity}',
    "too low an int": b"-9223372036854775809",
    "too high an int": b"9223372036854775808",
    "too high an int below": b'{"a":[9223372036854775808]}',
    "escaped letter": b'"\\u0061"',
    "escaped letter in a key": b'{"\\u0061":1}',
    "escaped slash": b'"\\/"',
    "escaped newline": b'"\\u000a"',
    "escape in capitals": b'"\\u001F"',
    "escaped non-ASCII": b'"\\u00e9"',
    "escaped pair": b'"\\ud83d\\ude00"',
    "escaped lone surrogate": b'"\\ud800"',
    "escaped lone surrogate in a key": b'{"\\ud800":1}',
    "unknown escape": b'"\\x"',
    "raw control character": b'"\n"',
    "raw NUL": b'"\0"',
    "raw surrogate": b'"\xed\xa0\x80"',
    "invalid UTF-8": b'"\xff\xfe"',
    "overlong UTF-8": b'"\xc0\xaf"',
    "cut UTF-8": b'"\xc3',
    "byte order mark": b"\xef\xbb\xbf1",
    "UTF-16": "{}".encode("utf-16"),
    "UTF-32": "{}".encode("utf-32-le"),
    "single quotes": b"'a'",
    "unclosed string": b'"a',
    "unclosed list": b"[1",
    "unclosed dict": b'{"a":1',
    "trailing comma": b"[1,]",
    "comment": b"[1]//",
    "key without quotes": b"{a:1}",
    "int key": b"{1:1}",
    "capitals": b"True",
    "None": b"None",
    "pickle": b"\x80\x04N.",
}


@pytest.mark.parametrize("case", CORRUPT)
def test_the_reader_accepts_nothing_that_is_not_written(case: str) -> None:
    """Every other spelling is refused, whether JSON allows it or not."""
    with pytest.raises(Corrupt):
        decode(CORRUPT[case])


@given(values, st.data())
def test_a_changed_byte_is_refused_or_canonical(value: object, data: st.DataObject) -> None:
    """Whatever bytes the reader accepts, the writer writes for what was read."""
    written = bytearray(encode(value))
    at = data.draw(st.integers(0, len(written) - 1))
    written[at] = data.draw(st.sampled_from(b' "\\,:[]{}0159-+.eENIntfu') | st.integers(0, 255))

    _is_refused_or_canonical(bytes(written))


@given(st.text('0123456789-+.eE"\\u[]{},: antrflsNI\ud800\xe9', max_size=20))
@example("-0.0")
def test_a_made_up_text_is_refused_or_canonical(text: str) -> None:
    """No text gets past the reader that the writer would not have written."""
    _is_refused_or_canonical(text.encode("utf-8", "surrogatepass"))


def _is_refused_or_canonical(data: bytes) -> None:
    """Check that the reader accepts ``data`` only if it is what the writer writes."""
    try:
        value = decode(data)
    except Corrupt:
        return
    assert encode(value) == data


@given(values)
def test_other_spellings_of_a_value_are_refused(value: object) -> None:
    """What Python's own encoder writes is read only where it happens to be canonical."""
    for text in (json.dumps(value), json.dumps(value, indent=1), json.dumps([value])):
        if text.encode() != encode(json.loads(text)):
            with pytest.raises(Corrupt):
                decode(text.encode())


@pytest.fixture(params=[0, 4300])
def max_digits(request: pytest.FixtureRequest) -> Iterator[None]:
    """Python's limit for the digits of an int, switched off and as it comes."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(request.param)
    yield
    sys.set_int_max_str_digits(before)


@pytest.mark.usefixtures("max_digits")
@pytest.mark.parametrize("form", ["%s", "-%s", "[%s]", '{"a":%s}', "%s.5", "0.%s", "1e%s", "-0.%s"])
def test_a_huge_number_is_refused_unparsed(form: str) -> None:
    """Millions of digits take no noticeable time, whatever limit the interpreter has."""
    with pytest.raises(Corrupt):
        decode((form % ("7" * 4_000_000)).encode())


@pytest.mark.parametrize(
    "data",
    [
        b'"hunter2',
        b'{"a": "hunter2"}',
        b'"hunter2\xff"',
        b'"hunter2\\ud800"',
        b'["hunter2",9223372036854775808]',
        b'["hunter2",-0.0]',
        b'["hunter2",NaN]',
        b'["hunter2",' + b"[" * 200,
    ],
)
def test_a_refusal_to_read_does_not_tell_the_payload(data: bytes) -> None:
    """Neither the message nor a printed cause holds what was stored."""
    with pytest.raises(Corrupt) as caught:
        decode(data)

    assert PAYLOAD not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_text_is_no_bytes() -> None:
    """To hand in a str is a mistake of the caller and no corruption."""
    with pytest.raises(TypeError):
        decode('"a"')  # type: ignore[arg-type]


def test_the_alias_fits_what_is_read() -> None:
    """A reader's result can be taken apart by type, which is what the alias promises."""
    value: Json = decode(b'{"a":[1]}')

    assert isinstance(value, dict)
    assert value["a"] == [1]

"""The two files of a certificate: what is read, what is refused, and in which words (plain functions)."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import warnings
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from chance.against import refusal

from workbench.proofs.checker import archive
from workbench.proofs.checker.archive import Fields, array_of, digest, files_of, nesting, read, read_archive, read_json
from workbench.proofs.checker.faults import Unknown, demand

HUGE = "1" + "0" * 400


@contextmanager
def folder():
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)


# ── names and JSON ────────────────────────────────────────────────────────────────────────────────


def test_either_file_or_the_stem_names_both():
    for name in ("in/a.b", "in/a.b.json", "in/a.b.npz"):
        assert files_of(name) == (Path("in/a.b.json"), Path("in/a.b.npz")), name
    assert files_of("a.c") == (Path("a.c.json"), Path("a.c.npz"))
    assert refusal(files_of, "") == "the certificate has no name"


def header(text):
    """The JSON text, written and read."""
    with folder() as place:
        path = place / "c.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_json(path)


def test_numbers_of_json_are_float64():
    read = header('{"a": 1.5, "b": -3, "c": 1e-400, "lower": -Infinity, "upper": Infinity, "d": [true, null, "x"]}')
    assert read == {"a": 1.5, "b": -3, "c": 0, "lower": -np.inf, "upper": np.inf, "d": [True, None, "x"]}
    assert type(read["b"]) is int
    largest = int(np.finfo(float).max)
    for word in (str(2**53), f"-{2**60}", str(largest), f"-{largest}", "0", "-1.7976931348623157e308"):
        assert header(f'{{"a": {word}}}') == {"a": float(word)}, word
    for word in (str(2**53 + 1), f"-{2**53 + 1}", HUGE, f"-{HUGE}", str(2 * largest), f"-{2 * largest}"):
        assert refusal(header, f'{{"a": {word}}}') == f"its JSON holds {word[:30]}, which is no float64", word
    for word in ("1e309", "-1e309", f"{HUGE}.5", "1e99999999999"):
        assert refusal(header, f'{{"a": {word}}}') == f"its JSON holds {word[:30]}, which is too great a number", word
    for key in ("lower", "upper", "gap", "a"):
        assert refusal(header, f'{{"{key}": NaN}}') == "its JSON holds NaN, which is no number"


def test_infinities_stand_at_the_ends_and_the_gap_only():
    alone = '{{"lower": -Infinity, "gap": Infinity, "other": {}}}'
    refused = "its JSON holds an infinity elsewhere than at lower, upper, gap"
    for word in ("Infinity", "-Infinity", "[1, Infinity]", '{"a": 1, "b": [-Infinity, 1]}', "[[Infinity], 1]"):
        assert refusal(header, alone.format(word)) == refused, word
        assert refusal(header, f'{{"upper": [{word}]}}') == refused, word
    for word in ("1.5", "[1, 2.5]", '{"a": {"b": -1.5}}', '"Infinity"', "null", "true"):
        assert not refusal(header, alone.format(word)), word
    assert not refusal(header, '{"lower": 1.5, "upper": [1.5, 2]}')


def test_what_is_no_json_object_is_refused():
    assert refusal(header, b'{"a": "\xff"}') == "its JSON is no text"
    assert refusal(header, '{"a": 1,\n "b" 2}') == "its text stops making sense in line 2"
    for text in ("[]", "3", '"a"', "null"):
        assert refusal(header, text) == "its JSON is no object", text
    assert refusal(header, '{"a": 1, "b": 2, "a": 1}') == "a key of its JSON stands twice"
    assert refusal(header, '{"b": {"a": 1, "a": 1}}') == "a key of its JSON stands twice"
    assert not refusal(header, '{"a": {"a": 1}, "b": {"a": 1}}')


def test_brackets_are_counted_outside_of_text_only():
    for text, depth in (
        ("", 0),
        ("3", 0),
        ("{}", 1),
        ('{"[": [[]]}', 3),
        ("[][[]]{}", 2),
        (r'["\"[[["]', 1),
        ("]][", 0),
    ):
        assert nesting(text) == depth, text
    deep = '{"a": ' + "[" * 19 + "]" * 19 + "}"
    assert not refusal(header, deep)
    assert refusal(header, deep.replace("[]", "[[]]")) == "its JSON is nested deeper than 20"
    assert refusal(header, '{"a":' * 21 + "1" + "}" * 21) == "its JSON is nested deeper than 20"


def test_a_json_file_has_a_greatest_length():
    text, kept = '{"a": 1}', archive.MOST_JSON
    try:
        archive.MOST_JSON = len(text)
        assert header(text) == {"a": 1}
        assert refusal(header, text + " ") == "its JSON is longer than 8 bytes"
    finally:
        archive.MOST_JSON = kept


# ── archives ──────────────────────────────────────────────────────────────────────────────────────


def npy(array, version=None):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version)
    return buffer.getvalue()


def packed(members, ways=(zipfile.ZIP_STORED,)):
    """An npz file of (name, bytes) packed in one way after the other."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as file:
        warnings.simplefilter("ignore")
        for k, (name, raw) in enumerate(members):
            file.writestr(name, raw, ways[k % len(ways)])
    return buffer.getvalue()


def arrays(raw, most=1 << 20):
    with folder() as place:
        path = place / "c.npz"
        path.write_bytes(raw)
        return read_archive(path, most)


ONE, TWO = npy(np.arange(3.0)), npy(np.array([[1, 2], [3, 4]]))


def test_all_arrays_of_an_archive_are_read():
    for ways in ((zipfile.ZIP_STORED,), (zipfile.ZIP_DEFLATED,), (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)):
        found = arrays(packed([("a.npy", ONE), ("b.npy", TWO)], ways))
        assert {name: each.tolist() for name, each in found.items()} == {"a": [0, 1, 2], "b": [[1, 2], [3, 4]]}
    assert arrays(packed([])) == {}


def test_archives_that_are_refused():
    both, size = packed([("a.npy", ONE), ("b.npy", TWO)]), len(ONE) + len(TWO)
    assert not refusal(arrays, both, size)
    assert refusal(arrays, both, size - 1) == f"its arrays take {size} bytes, more than {size - 1}"
    assert refusal(arrays, packed([("a.npy", ONE)] * 2)) == "an array stands twice in its npz file"
    for name in ("a.txt", "a"):
        told = "its npz file holds something that is no array"
        assert refusal(arrays, packed([(name, ONE), ("b.npy", TWO)])) == told
        assert refusal(arrays, packed([(name, ONE)])) == told
    for other in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        told = "its npz file is packed in a way that is not read"
        assert refusal(arrays, packed([("a.npy", ONE), ("b.npy", TWO)], (other, zipfile.ZIP_STORED))) == told
    damaged = "its npz file is damaged"
    assert refusal(arrays, b"PK") == damaged
    assert refusal(arrays, both[:-5]) == damaged
    at = packed([("a.npy", ONE)], (zipfile.ZIP_DEFLATED,)).find(b"a.npy") + 5
    broken = bytearray(packed([("a.npy", ONE)], (zipfile.ZIP_DEFLATED,)))
    broken[at : at + 8] = b"\xff" * 8
    assert refusal(arrays, bytes(broken)) == damaged


def test_a_name_that_is_no_text_and_an_offset_out_of_the_file_are_damage():
    raw = packed([("a.npy", ONE)])
    listed, end = raw.find(b"PK\x01\x02"), raw.find(b"PK\x05\x06")
    for flag, name in ((6, 30), (listed + 8, listed + 46)):
        strange = bytearray(raw)
        strange[flag : flag + 2], strange[name] = (0x800).to_bytes(2, "little"), 0xFF  # UTF-8 is said, and is not
        assert refusal(arrays, bytes(strange)) == "its npz file is damaged"
    before = bytearray(raw)
    before[end + 16 : end + 20] = (listed + 1).to_bytes(4, "little")  # so that the member starts at -1
    assert refusal(arrays, bytes(before)) == "its npz file is damaged"
    for offset in (end, 2**62, 2**63, 2**64 - 1):
        entry, last = bytearray(raw[listed:end]), bytearray(raw[end:])
        entry[42:46], entry[30:32] = b"\xff" * 4, (12).to_bytes(2, "little")
        entry += b"\x01\x00\x08\x00" + offset.to_bytes(8, "little")  # the offset, in 64 bits
        last[12:16] = len(entry).to_bytes(4, "little")
        assert refusal(arrays, raw[:listed] + bytes(entry + last)) == "its npz file is damaged", offset


def test_encrypted_members_are_refused():
    for flag, told in ((1, "its npz file is encrypted"), (2, ""), (0x800, "")):
        for which in (0, 1):
            raw = bytearray(packed([("a.npy", ONE), ("b.npy", TWO)]))
            for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
                at = -1
                for _ in range(which + 1):
                    at = raw.find(mark, at + 1)
                raw[at + offset : at + offset + 2] = flag.to_bytes(2, "little")
            assert refusal(arrays, bytes(raw)) == told, (flag, which)


def test_a_folder_is_no_archive_and_a_missing_file_is_missing():
    with folder() as place:
        (place / "c.npz").mkdir()
        assert refusal(read_archive, place / "c.npz", 10) == "c.npz is no regular file"
        (place / "d.json").mkdir()
        assert refusal(read_json, place / "d.json") == "d.json is no regular file"
        os.mkfifo(place / "e.json")
        assert refusal(read_json, place / "e.json") == "e.json is no regular file"
        try:
            read_archive(place / "none.npz", 10)
        except FileNotFoundError:
            return
    raise AssertionError


def test_a_reader_may_set_another_limit():
    with folder() as place:
        (place / "c.json").write_text('{"a": 1}')
        (place / "c.npz").write_bytes(packed([("a.npy", ONE)]))
        for most in (None, len(ONE)):
            found, own = read(place / "c", most)
            assert found == {"a": 1}
            assert list(own) == ["a"]
        assert refusal(read, place / "c", len(ONE) - 1)


# ── one array ─────────────────────────────────────────────────────────────────────────────────────


def raw_array(text, body=b"", version=1, pad=0):
    """An npy file whose header is this text."""
    text = text if isinstance(text, bytes) else text.encode("latin1")
    text += b" " * pad
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 if version == 1 else 4, "little") + text + body


def described(descr="'<f8'", shape="()", turned="False"):
    return f"{{'descr': {descr}, 'fortran_order': {turned}, 'shape': {shape}}}"


def test_arrays_of_every_type_and_shape_are_read():
    rng = np.random.default_rng(0)
    for kind in archive.TYPES:
        for shape in ((), (3,), (0,), (2, 3), (0, 4), (4, 0)):
            array = rng.integers(0, 2, shape).astype(kind)
            for order in "CF":
                found = array_of(npy(np.array(array, order=order)), "a")
                assert found.dtype.str == kind
                assert found.shape == shape
                assert (found == array).all()
    for array in (np.array("word"), np.array(["a", "bcd"]), np.array(b"xy"), np.array(["\U0010ffff", "\ud7ff\ue000"])):
        found = array_of(npy(array), "a")
        assert found.dtype == array.dtype
        assert (found == array).all()
    for version in ((1, 0), (2, 0), (3, 0)):
        assert array_of(npy(np.arange(3.0), version), "a").tolist() == [0, 1, 2]


def test_headers_of_arrays_that_are_refused():
    ends = "the array a "
    good = raw_array(described(), b"\0" * 8)
    assert array_of(good, "a") == 0
    for bad in (b"", b"\x93NUMPX" + good[6:], good[:6] + b"\x04\x00" + good[8:], good[:6] + b"\x01\x01" + good[8:],
                good[:7], good[:6]):  # fmt: skip
        assert refusal(array_of, bad, "a") == ends + "is no npy file"
    for cut in (8, 9, 10, len(good) - 9):
        assert refusal(array_of, good[:cut], "a").startswith(ends + "has a header of"), cut
    long = raw_array(described(), b"\0" * 8, pad=4096 - len(described()))
    assert array_of(long, "a") == 0
    told = ends + "has a header of 4097 bytes"
    assert refusal(array_of, raw_array(described(), b"\0" * 8, pad=4097 - len(described())), "a") == told
    empty = raw_array(described(shape="(0,)"))
    assert array_of(empty, "a").shape == (0,)
    assert refusal(array_of, empty[:-1], "a") == f"{ends}has a header of {len(described(shape='(0,)'))} bytes"


def test_headers_of_arrays_that_make_no_sense():
    told = "the array a has a header that makes no sense"
    for text in ("{}", "3", "[1]", "{'descr': '<f8', 'shape': ()}", "{'descr': '<f8', 'fortran_order': False}", "f()",
                 described()[:-1] + ", 'more': 1}", described(turned="0"), described(turned="None"), "((",
                 described(descr="[('a', '<f8')]"), described(descr="3"), "{[]: 1}", "\0", described(r"'\x3cf8'"),
                 described() + r" # \ ", described(r"'\<f8'")):  # fmt: skip
        assert refusal(array_of, raw_array(text, b"\0" * 8), "a") == told, text
    odd = described().encode() + b" # \xe9"
    assert array_of(raw_array(odd, b"\0" * 8), "a") == 0
    assert array_of(raw_array(odd, b"\0" * 8, version=2), "a") == 0
    assert refusal(array_of, raw_array(odd, b"\0" * 8, version=3), "a") == told


def test_types_of_arrays_that_are_refused():
    for kind, size in (("<U1024", 4096), ("|S4096", 4096)):
        assert not refusal(array_of, raw_array(described(f"'{kind}'"), b"\0" * size), "a")
    for kind, size in (("<U1025", 4100), ("|S4097", 4097), (">f8", 8), ("<f2", 2), ("|O", 8), ("<U0", 0), ("<U", 0),
                       ("<m8[s]", 8), ("<c16", 16), ("f8", 8)):  # fmt: skip
        told = f"the array a is of a type that is not read, {kind}"
        assert refusal(array_of, raw_array(described(f"'{kind}'"), b"\0" * size), "a") == told


def test_shapes_of_arrays_that_are_refused():
    told = "the array a has no shape of at most two dimensions"
    for shape in ("(1, 1, 1)", "[1]", "1", "(-1,)", "(-1, -1)", "(True,)", "(1.0,)", "(1, -1)",
                  f"(0, {(1 << 40) + 1})", f"({(1 << 40) + 1}, 0)"):  # fmt: skip
        assert refusal(array_of, raw_array(described(shape=shape), b"\0" * 8), "a") == told, shape
    assert array_of(raw_array(described(shape=f"(0, {1 << 40})")), "a").shape == (0, 1 << 40)
    for shape, held in (("(2,)", 8), ("(2,)", 24), ("(0,)", 8), ("()", 0), ("(2, 2)", 16), ("(2, 0)", 16)):
        found = refusal(array_of, raw_array(described(shape=shape), b"\0" * held), "a")
        assert found == f"the array a has the shape {shape}, which does not fit its bytes", shape
    for point, told in (
        (0xD7FF, ""),
        (0xD800, "text"),
        (0xDFFF, "text"),
        (0xE000, ""),
        (0x10FFFF, ""),
        (0x110000, "text"),
    ):
        for text in ((point, 65), (65, point)):
            body = b"".join(each.to_bytes(4, "little") for each in text)
            found = refusal(array_of, raw_array(described("'<U2'"), body), "a")
            assert found == ("the array a holds text that is none" if told else ""), hex(point)
    assert refusal(array_of, b"", "x" * 70) == f"the array {'x' * 60} is no npy file"


def test_the_digest_is_that_of_the_document():
    b, a = np.array([[1, 2, 3], [4, 5, 6]]), np.array(2.5)
    told = b"a <f8 (1,)\n" + a.tobytes() + b"b <i8 (2, 3)\n" + b.tobytes()
    assert digest({"b": np.asfortranarray(b), "a": a}) == hashlib.sha256(told).hexdigest()
    assert digest({}) == hashlib.sha256(b"").hexdigest()


# ── asking for parts ──────────────────────────────────────────────────────────────────────────────


def fields(**given):
    return Fields({name: np.array(value) for name, value in given.items()}, "data_")


def test_parts_are_asked_for_by_name_type_and_shape():
    own = fields(a=[1.0, 2.0], b=[[1, 2], [3, 4]], c="word")
    assert own.has("a")
    assert not own.has("z")
    assert own.typed("a", "<f8", (2,)).tolist() == own.typed("a", "<f8", (None,)).tolist() == [1, 2]
    assert own.typed("b", "<i8", (None, 2)).tolist() == own.ints("b", 2, None).tolist() == [[1, 2], [3, 4]]
    assert refusal(own.get, "z") == "it has no data_z"
    assert refusal(own.typed, "a", "<i8", (2,)) == "data_a is of type <f8, not <i8"
    for shape, words in (((3,), "(3,)"), ((), "()"), ((None, None), "('any', 'any')"), ((None, 1), "('any', 1)")):
        assert refusal(own.typed, "a", "<f8", shape) == f"data_a has the shape (2,), not {words}"
    for shape in ((1, None), (None, 3), (3, 2), (2, 1)):
        assert refusal(own.typed, "b", "<i8", shape).startswith("data_b has the shape (2, 2), not"), shape
    assert refusal(own.done) == "it holds an array that it should not, data_c"
    assert own.word("c") == "word"
    assert refusal(own.done) == ""
    assert fields(a=[0.5]).typed("a", "<f8", (1,)) is not None


def test_numbers_of_parts_lie_where_they_are_asked_for():
    own = fields(
        a=[1.0, -2.0], b=[3, 5], c=[np.nan, 1.0], d=[1.0, np.inf], e=[0.0, 1.0], n=4, m=1 << 40, f=(1 << 40) + 1
    )
    assert own.floats("a", 2).tolist() == [1, -2]
    for name in "cd":
        assert refusal(own.floats, name, 2) == f"data_{name} holds a number that is not finite"
    assert not refusal(own.floats, "a", 2, least=-2.0)
    assert refusal(own.floats, "a", 2, least=-1.5) == "data_a holds a number below -1.5"
    assert refusal(own.floats, "e", 2, least=0.5) == "data_e holds a number below 0.5"
    assert own.ints("b", 2, within=(3, 5)).tolist() == [3, 5]
    for within in ((4, 5), (3, 4)):
        told = f"data_b holds a number that is not in {within[0]} … {within[1]}"
        assert refusal(own.ints, "b", 2, within=within) == told
    assert Fields({"a": np.array([1, 2], np.uint8)}).ints("a", 2, kind="|u1").dtype == np.int64
    assert (own.number("n", 4), own.number("m", 0)) == (4, 1 << 40)
    assert refusal(own.number, "n", 5) == f"data_n holds a number that is not in 5 … {1 << 40}"
    assert refusal(own.number, "f", 0) == f"data_f holds a number that is not in 0 … {1 << 40}"
    assert refusal(own.number, "b", 0).startswith("data_b has the shape")
    for name in ("a", "n"):
        assert refusal(own.word, name) == f"data_{name} is no text"
    assert refusal(fields(a=["x"]).word, "a") == "data_a is no text"


def test_what_is_unknown_is_named_with_what_is_known():
    told = str(Unknown("structure", "x" * 70, "1" * 30, ["a", "b"]))
    assert told == f"no structure called {'x' * 60!r}, version {'1' * 20}, is known; known: a, b"
    error = Unknown("structure", "x", 1, ["a"])
    assert (error.what, error.name, error.version) == ("structure", "x", 1)
    assert refusal(demand, False, "a sentence") == "a sentence"
    assert refusal(demand, True, "a sentence") == ""

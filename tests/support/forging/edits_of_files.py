"""Edits of the files as such: keys, text, archive."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from typing import Any

import numpy as np

from forging.forgery import ODD_VALUES, Forgery, Unfit, edit, member, packed, pick

# ── the files themselves ──────────────────────────────────────────────────────────────────────────


@edit
def key_deleted(rng: Any, f: Forgery) -> None:
    part = pick(
        rng, (f.header, f.header, f.header["proof"], f.header["formulation"], f.header["problem"], f.header["versions"])
    )
    part.pop(pick(rng, part))


@edit
def key_of_another_type(rng: Any, f: Forgery) -> None:
    f.header[pick(rng, f.header)] = pick(rng, ODD_VALUES)


@edit
def key_doubled(rng: Any, f: Forgery) -> None:
    key = pick(rng, f.header)
    value = pick(rng, (f.header[key], pick(rng, f.others).header.get(key, 0), 0))
    first = rng.random() < 0.5
    pair = f"{json.dumps(key)}: {json.dumps(value)}"
    body = json.dumps(f.header)[1:-1]
    f.text = ("{" + (f"{pair}, {body}" if first else f"{body}, {pair}") + "}").encode()


@edit
def inner_key_doubled(rng: Any, f: Forgery) -> None:
    part = pick(rng, ("settings", "problem", "proof"))
    text = f.json().decode()
    f.text = re.sub(rf'("{part}": {{)("[^"]*": [^,}}]*)', r"\1\2, \2", text, count=1).encode()


@edit
def json_damaged(rng: Any, f: Forgery) -> None:
    text = f.json()
    at = int(rng.integers(len(text)))
    ways = (
        b"",
        text[:at],
        text + b"x",
        b"\xef\xbb\xbf" + text,
        text.decode().encode("utf-16"),
        b"[" + text + b"]",
        b"null",
    )
    ways += (
        b"\xff" + text,
        text.replace(b'"lower": ', b'"lower": 1e999, "x": '),
        b"[" * 100_000,
        b'{"a":' * 3000 + b"1",
    )
    ways += (
        text.replace(b'"gap": ', b'"gap": NaN, "x": '),
        text[:at] + bytes([int(rng.integers(256))]) + text[at + 1 :],
    )
    f.text = pick(rng, ways)


@edit
def json_nested(rng: Any, f: Forgery) -> None:
    deep: Any = 1
    for _ in range(int(rng.choice([3, 17, 18, 19, 20, 500]))):
        deep = [deep]
    f.header[pick(rng, ("problem", "problem", "versions"))]["more"] = deep


@edit
def number_in_the_text_changed(rng: Any, f: Forgery) -> None:
    key = pick(rng, ("lower", "upper", "gap"))
    new = pick(
        rng,
        ("1e999", "-1e999", "NaN", "Infinity", "-Infinity", "9" * 5000, "1E1", "-0", "01", "1.", "9007199254740993"),
    )
    f.text = re.sub(rf'"{key}": [^,}}]*', f'"{key}": {new}', f.json().decode()).encode()


@edit
def archive_damaged(rng: Any, f: Forgery) -> None:
    content = bytearray(f.npz())
    if rng.random() < 0.5:
        for _ in range(int(rng.integers(1, 4))):
            content[int(rng.integers(len(content)))] = int(rng.integers(256))
    else:
        content = (
            content[: int(rng.integers(len(content)))] if rng.random() < 0.7 else content + b"PK\x05\x06" + b"\0" * 18
        )
    f.archive = bytes(content)


@edit
def archive_member_forged(rng: Any, f: Forgery) -> None:
    name = pick(rng, f.arrays)
    content = member(f.arrays[name])
    length = struct.unpack("<H", content[8:10])[0]
    text, body = content[10 : 10 + length], content[10 + length :]
    shape = pick(
        rng, (b"(1000000000000,)", b"(-1,)", b"(True,)", b"(2, 2, 2)", b"(0,)", b"((((1,),),),)", b"[3]", b"(3L,)")
    )
    ways = (re.sub(rb"\([0-9, ]*\)", shape, text), text.replace(b"<f8", b"|O").replace(b"<i8", b"|O"))
    ways += (text.replace(b"False", b"True"), text.replace(b"False", b"0"), text[:-1] + b" " * 5000 + b"\n", b"(" * 900)
    ways += (text.replace(b"'descr'", b"'descr': '<f8', 'descr'"), text.replace(b"<f8", b"<i8"), text + b" " * 64)
    text = pick(rng, ways)
    version = pick(rng, (b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x04\x00"))
    size = struct.pack("<H" if version == b"\x01\x00" else "<I", len(text))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", pick(rng, (0, 8))) as archive:
        for other, array in f.arrays.items():
            forged = b"\x93NUMPY" + version + size + text + body
            archive.writestr(other + ".npy", forged if other == name else member(array))
    f.archive = buffer.getvalue()


@edit
def archive_member_doubled_or_added(rng: Any, f: Forgery) -> None:
    name = pick(rng, f.arrays)
    new = pick(
        rng, (name + ".npy", name + ".npy", name, "x.npy", "folder/", "../" + name + ".npy", name + ".npy.npy", ".npy")
    )
    buffer = io.BytesIO(packed(f.arrays))
    with zipfile.ZipFile(buffer, "a", pick(rng, (0, 8, 12, 14))) as archive:
        try:
            archive.writestr(new, member(pick(rng, (f.arrays[name], f.arrays["theta"] * 2, np.zeros(10**6)))))
        except UserWarning:  # where warnings are errors: a name that stands twice
            raise Unfit from None
    f.archive = buffer.getvalue()


@edit
def archive_of_another(rng: Any, f: Forgery) -> None:
    f.archive = pick(rng, f.others).npz()

"""Gzipped files of every reader: damage and bombs are one sentence, within the memory there is."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest

import workbench as wb
from workbench.backends.model_files import read_model
from workbench.system import unpacked

READERS = {"a.tsv.gz": wb.read_texts, "a.fasta.gz": wb.read_fasta, "a.mps.gz": read_model}
PLAIN = b">a line\tof text\n" * 4000


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("at", [3, 12, 40, -3])
def test_damage_is_one_sentence(name, at, tmp_path):
    content = bytearray(gzip.compress(PLAIN))
    content[at] ^= 0xFF
    (tmp_path / name).write_bytes(content)
    with pytest.raises(wb.BadInput, match=name):
        READERS[name](tmp_path / name)


@pytest.mark.parametrize("name", READERS)
def test_a_bomb_is_refused_before_it_takes_memory(name, tmp_path, monkeypatch):
    (tmp_path / name).write_bytes(gzip.compress(bytes(2**27)))
    monkeypatch.setattr(unpacked, "largest_file", lambda: 2**20)
    tracemalloc.start()
    try:
        with pytest.raises(wb.BadInput, match=r"more than the 1048576 bytes"):
            READERS[name](tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


def test_what_fits_is_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacked, "PIECE", 1000)
    monkeypatch.setattr(unpacked, "largest_file", lambda: len(PLAIN))
    for name, content in (("a.gz", gzip.compress(PLAIN)), ("a", PLAIN)):
        (tmp_path / name).write_bytes(content)
        assert unpacked.content_of(tmp_path / name) == PLAIN

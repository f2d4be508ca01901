"""The page of the public API: current, complete, and nothing public without a word on it."""

from __future__ import annotations

from pathlib import Path

import api

import workbench as wb

PAGE = Path(__file__).resolve().parents[1] / "docs" / "api.md"


def test_no_public_name_is_undocumented():
    assert api.undocumented() == []


def test_a_name_without_a_word_is_found(monkeypatch):
    def silent():
        pass

    monkeypatch.setitem(wb.__dict__, "verify", silent)
    assert api.undocumented() == ["verify"]


def test_the_page_is_current_and_holds_every_name():
    text = PAGE.read_text(encoding="utf-8")
    for name in wb.public_names():
        assert f"### {name}\n" in text or f"## Module `wb.{name}`\n" in text, f"{name} is not on the page"
    assert text == api.page(), "run python tests/support/api.py"

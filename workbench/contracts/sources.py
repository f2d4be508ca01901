"""Base classes of problems: what a prompt shows of one, and what a certificate tells of its source."""

from __future__ import annotations

from workbench.contracts.problems import Labelled, Problem
from workbench.errors import counted, printed


class Shown:
    """A base class for problems, shown as <Multiclass: 150 samples, 3 labels, 12 weights>."""

    def __repr__(self: Problem) -> str:
        sizes = [counted(self.n_samples, "sample"), counted(self.n_features, "weight")]
        if isinstance(self, Labelled):
            sizes.insert(1, counted(len(self.classes), "label"))
        return f"<{type(self).__name__}: {', '.join(sizes)}>"


class Sourced(Shown):
    """A base class for problems that keep what a certificate tells of their source, for new data and for pictures.

    columns : the names of the inputs, or how many numbers a row of the file has
    idf : the inverse document frequency of each word, where the inputs were made of texts
    scales : the number by which each input was divided, where the inputs were scaled
    pixels : [rows, columns], where the inputs of a sample, or of a place, are a picture
    found_at : where each sample stands in its source: the number of its first line, or the name of its file
    reading : how the file was read, one line for the user; not kept
    """

    columns: int | list[str] | None = None
    idf: list[float] | None = None
    scales: list[float] | None = None
    pixels: list[int] | None = None
    found_at: list[int] | list[str] | None = None
    reading: str = ""

    KEPT = ("columns", "idf", "scales", "pixels", "found_at")

    @property
    def names(self) -> list[str] | None:
        """The names of the inputs, if the source has any."""
        return self.columns if isinstance(self.columns, list) else None

    def where(self, sample: int) -> str:
        """`line 12`, or the name of the file of a sample's text; "" where the source tells none, or tells nonsense."""
        places: object = self.found_at  # as a certificate has them, which nobody has checked
        size = self.n_samples if isinstance(self, Problem) else 0
        found = places[sample] if isinstance(places, list) and len(places) == size else None
        if isinstance(found, int) and not isinstance(found, bool):
            return f"line {found}"
        return printed(found) if isinstance(found, str) else ""

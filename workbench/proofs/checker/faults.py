"""What can be wrong with a certificate: one sentence each, without a full stop."""

from __future__ import annotations


class Malformed(ValueError):
    """The certificate is none: a part is missing, of another type, shape or range, or too large to check."""


class Unknown(Malformed):
    """A structure, formulation or kind of proof that no definition of the checker covers.

    `what` is "output structure", "formulation" or "kind of proof"; `name` its name; `version` its version.
    """

    def __init__(self, what: str, name: object, version: object, known: list[str]):
        self.what, self.name, self.version = what, name, version
        super().__init__(
            f"no {what} called {str(name)[:60]!r}, version {str(version)[:20]}, is known; known: {', '.join(known)}"
        )


def demand(condition: object, sentence: str) -> None:
    """`Malformed` with this sentence unless the condition holds."""
    if not condition:
        raise Malformed(sentence)


class Imprecise(ArithmeticError):
    """An enclosure is too wide to be of use; more bits may help."""

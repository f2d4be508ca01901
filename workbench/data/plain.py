"""Whether a file that is to be read as text is text: bytes of UTF-16 and of binary files are refused in one sentence.

UTF-16 often begins with a mark, FF FE or FE FF. Without the mark every second byte of it is a control character, nearly
always 0, and the bytes between are not, so that UTF-16 of Latin, Greek or Cyrillic letters passes for UTF-8 or Latin-1
with strange characters. Of the bytes of a binary file about a tenth are control characters, of those of a text none or
few.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from workbench.errors import BadInput

MARKS = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 may begin
HEAD = 1 << 16  # bytes of a file that are looked at
CONTROLS = np.array([code < 32 and chr(code) not in "\a\b\t\n\v\f\r\x1a\x1b" for code in range(256)])
MOST = 1 / 30  # of the bytes of a text that may be control characters
FEWEST, ENOUGH = 16, 64  # bytes, below which shares say nothing, of every second byte and of all


def check_text(path: Path, content: bytes | None = None) -> None:
    """`BadInput` if a file holds no text in bytes; `content` are its bytes, where these are at hand."""
    if content is None:
        with path.open("rb") as file:
            content = file.read(HEAD)
    controls = CONTROLS[np.frombuffer(content[:HEAD], np.uint8)]
    if content.startswith(MARKS) or in_pairs(controls):
        raise BadInput(f"{path} is text in UTF-16, not text in UTF-8; save it again as UTF-8.")
    if len(controls) >= ENOUGH and controls.mean() > MOST:
        raise BadInput(f"{path} is a binary file, not text in UTF-8; unpack or export it as text.")


def in_pairs(controls: np.ndarray) -> bool:
    """Whether every second byte is a control character, and few of the others are: half a byte pair of UTF-16."""
    if len(controls) < FEWEST:
        return False
    shares = sorted([controls[::2].mean(), controls[1::2].mean()])
    return bool(shares[0] < 0.1 and shares[1] > 0.5)

"""A headless Chromium under test, driven through its pipe of JSON messages (Chrome DevTools Protocol).

Messages are JSON objects that end with a zero byte, on file descriptors 3 (to the browser) and 4 (from it).
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), "")
OPTIONS = ("--headless=new", "--disable-gpu", "--no-sandbox", "--no-first-run", "--disable-dev-shm-usage")
PATIENCE = 60.0  # seconds for one answer


class Browser:
    """One page of one browser; `complaints` are its console messages, exceptions and refused sources."""

    def __init__(self, profile: Path):
        to_browser, ours_out = os.pipe()
        ours_in, from_browser = os.pipe()

        def at_3_and_4() -> None:
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        command = [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(
            command, preexec_fn=at_3_and_4, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_browser)
        os.close(from_browser)
        self.out, self.incoming, self.buffer, self.count = ours_out, ours_in, b"", 0
        self.session: str | None = None
        self.complaints: list[str] = []
        self.events: list[str] = []
        pages = [each for each in self.call("Target.getTargets")["targetInfos"] if each["type"] == "page"]
        target = pages[0]["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of one command."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while (answer := self.read()).get("id") != self.count:
            self.noted(answer)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def read(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.incoming], [], [], until - time.monotonic())
            assert ready, "the browser does not answer"
            piece = os.read(self.incoming, 2**20)
            assert piece, "the browser has ended"
            self.buffer += piece
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def noted(self, event: dict[str, Any]) -> None:
        """Keep what the page complains of."""
        self.events.append(event.get("method", ""))
        if event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(json.dumps(event["params"])[:500])
        if event.get("method") == "Page.javascriptDialogOpening":
            self.complaints.append("a dialog opened")

    def open(self, path: Path) -> None:
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while "Page.loadEventFired" not in self.events:
            self.noted(self.read())

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def violations(self) -> list[list[str]]:
        """What axe-core calls serious or critical about the page: impact, rule, first element."""
        [script] = Path(pytest.importorskip("axe_core_python").__path__[0]).rglob("axe.min.js")
        self.value(script.read_text(encoding="utf-8") + "; 0")
        wanted = "v => ['serious', 'critical'].includes(v.impact)"
        asked = f"axe.run().then(r => r.violations.filter({wanted}).map(v => [v.impact, v.id, v.nodes[0].html]))"
        told = self.call("Runtime.evaluate", expression=asked, awaitPromise=True, returnByValue=True)
        return told["result"]["value"]

    def press(self, key: str, code: int, text: str = "") -> None:
        told = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **told, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **told)

    def shown(self, scheme: str, width: int = 1100) -> None:
        """Look at the page in a colour scheme (`light`, `dark`) and a width in pixels."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]))

    def printed(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def close(self) -> None:
        os.close(self.out)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        os.close(self.incoming)

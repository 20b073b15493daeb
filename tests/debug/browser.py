"""Chromium without a window, spoken to through a pair of pipes (the DevTools protocol); nothing but
the standard library.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

PATIENCE = 60  # seconds: the first start reads 400 MB from the disk

# Chromium reads commands from descriptor 3 and answers on descriptor 4.
_START = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"


def find():
    """The path of a Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One browser with one page; `close()` ends it."""

    def __init__(self, width=1200, height=800):
        self.profile = tempfile.mkdtemp(prefix="chromium-")
        theirs_in, self.out = os.pipe()
        self.into, theirs_out = os.pipe()
        for fd in (theirs_in, theirs_out):
            os.set_inheritable(fd, True)
        # Moved out of the way first: 3 and 4 are about to be overwritten.
        command = [
            find(),
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
            "--remote-debugging-pipe",
            f"--user-data-dir={self.profile}",
            f"--window-size={width},{height}",
            "about:blank",
        ]
        high_in, high_out = os.dup(theirs_in), os.dup(theirs_out)
        while min(high_in, high_out) < 10:
            high_in, high_out = os.dup(high_in), os.dup(high_out)
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-c", _START, str(high_in), str(high_out), *command],
            pass_fds=(high_in, high_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for fd in {theirs_in, theirs_out, high_in, high_out}:
            os.close(fd)
        self.rest = b""
        self.session = None
        self.count = 0
        self.requests, self.errors = [], []
        try:
            self._attach(width, height)
        except BaseException:
            self.process.kill()
            self.close()
            raise

    def _attach(self, width, height):
        """The page that the browser began with, with its events."""
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def read(self):
        while b"\0" not in self.rest:
            if not select.select([self.into], [], [], PATIENCE)[0]:
                raise TimeoutError(f"the browser said nothing for {PATIENCE} seconds")
            piece = os.read(self.into, 1 << 16)
            if not piece:
                raise RuntimeError("the browser has gone")
            self.rest += piece
        message, _, self.rest = self.rest.partition(b"\0")
        found = json.loads(message)
        kind = found.get("method")
        if kind == "Network.requestWillBeSent":
            self.requests.append(found["params"]["request"]["url"])
        elif kind == "Runtime.exceptionThrown":
            details = found["params"]["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif kind == "Runtime.consoleAPICalled" and found["params"]["type"] == "error":
            self.errors.append(str(found["params"]["args"]))
        return found

    def call(self, method, **params):
        """One command; its result. Events that arrive meanwhile are looked through for requests and
        errors.
        """
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.__dict__.get("session"):
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data) :]
        while True:
            found = self.read()
            if found.get("id") == self.count:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']['message']}")
                return found["result"]

    def size(self, width, height):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def scheme(self, name):
        """ "light" or "dark"."""
        self.call(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}]
        )

    def open(self, path, scripts=True):
        """Load a file and wait until it is there, and drawn if it has scripts that may run."""
        self.requests, self.errors = [], []
        self.call("Page.navigate", url=f"file://{path}")
        while self.read().get("method") != "Page.loadEventFired":
            pass
        if scripts:
            self.frame()

    def run(self, expression):
        """The value of a JavaScript expression; promises are waited for."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(
                found["exceptionDetails"].get("exception", {}).get("description")
                or found["exceptionDetails"]["text"]
            )
        return found["result"].get("value")

    def frame(self):
        """Wait until what was asked for has been drawn."""
        self.run(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
        )

    def click(self, x, y):
        """Press and release the mouse at a place of the page."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.frame()

    def click_on(self, selector):
        """Click on the middle of the first element that a selector finds."""
        x, y = self.run(
            f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); "
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.click(x, y)

    def key(self, key, text=None):
        """Press and release a key."""
        self.call(
            "Input.dispatchKeyEvent",
            type="keyDown",
            key=key,
            code=key,
            **({"text": text} if text else {}),
        )
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)
        self.frame()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.frame()

    def picture(self, path=None):
        """A picture of the page as PNG; written to `path` if given."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if path:
            with open(path, "wb") as f:
                f.write(data)
        return data

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        except (RuntimeError, OSError):  # it is gone
            pass
        self.process.wait(20)
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.profile, ignore_errors=True)

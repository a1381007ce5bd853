"""A browser: chromium, driven by chromedriver over the WebDriver protocol."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

TIMEOUT_S = 120
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
SHIFT = "\ue008"
ENTER = "\ue007"


class BrowserError(Exception):
    pass


class Browser:
    def __init__(self, width=1280, height=1300, scale=1):
        self.directory = tempfile.mkdtemp(prefix="browser.")
        self.log = open(os.path.join(self.directory, "log"), "w+")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=self.log, stderr=subprocess.STDOUT,
                                       env={**os.environ, "HOME": self.directory})
        self.session = None
        try:
            self.base = f"http://127.0.0.1:{self.read_port()}"
            options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                f"--user-data-dir={self.directory}/profile", f"--window-size={width},{height}",
                                f"--force-device-scale-factor={scale}", "--force-prefers-reduced-motion",
                                "--hide-scrollbars=false"],
                       "prefs": {"download.default_directory": self.directory}}
            answer = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
            self.session = f"/session/{answer['sessionId']}"
        except BaseException:
            self.close()
            raise

    def read_port(self):
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline and self.driver.poll() is None:
            for line in open(self.log.name):
                if "started successfully on port" in line and line.endswith("\n"):
                    return int(line.rstrip().rstrip(".").split()[-1])
            time.sleep(0.05)
        raise BrowserError("chromedriver did not start: " + open(self.log.name).read())

    def ask(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise BrowserError(error.read().decode(errors="replace")[:2000]) from None

    def command(self, name, body=None, method="POST"):
        return self.ask(method, f"{self.session}/{name}", {} if body is None and method == "POST" else body)

    def open(self, url):
        self.command("url", {"url": url})

    def run(self, script, *arguments):
        return self.command("execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, condition, what):
        """Until the expression CONDITION of JavaScript is true."""
        deadline = time.monotonic() + TIMEOUT_S
        while not self.run(f"return Boolean({condition})"):
            if time.monotonic() > deadline:
                raise BrowserError(f"{what}: not so after {TIMEOUT_S} s; the page says: {self.run('return document.body.innerText')}")
            time.sleep(0.05)

    def element(self, selector):
        return self.command("element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.command(f"element/{self.element(selector)}/click")

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def type(self, keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.command("actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def pointer(self, steps, shift=False):
        """STEPS: ("move", x, y), ("down",), ("up",)."""
        actions = []
        for step in steps:
            if step[0] == "move":
                actions.append({"type": "pointerMove", "duration": 0, "x": round(step[1]), "y": round(step[2])})
            else:
                actions.append({"type": {"down": "pointerDown", "up": "pointerUp"}[step[0]], "button": 0})
        sources = [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}]
        if shift:
            pauses = [{"type": "pause", "duration": 0}] * (len(actions) - 1)
            keys = [{"type": "keyDown", "value": SHIFT}, *pauses]
            sources[0]["actions"] = [{"type": "pause", "duration": 0}, *actions]
            keys = [{"type": "keyDown", "value": SHIFT}, *[{"type": "pause"}] * len(actions)]
            sources.insert(0, {"type": "key", "id": "keys", "actions": keys})
        self.command("actions", {"actions": sources})
        self.command("actions", method="DELETE")

    def wheel(self, x, y, dy, dx=0):
        scroll = {"type": "scroll", "x": round(x), "y": round(y), "deltaX": dx, "deltaY": dy, "duration": 0}
        self.command("actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [scroll]}]})

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.command("screenshot", method="GET")))

    def console(self):
        """What the console has said since the last call."""
        return [entry for entry in self.command("se/log", {"type": "browser"})]

    def close(self):
        if self.session:
            try:
                self.ask("DELETE", self.session)
            except (BrowserError, OSError):
                pass
        self.driver.terminate()
        self.driver.wait(TIMEOUT_S)
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

"""export_open.py STRATA: strata export --open of the trace `boot`, with http.client in place of a browser."""
import fcntl, http.client, os, re, signal, socket, struct, subprocess, sys, time

strata = sys.argv[1]
ORIGIN = "https://ui.perfetto.dev"
PORT = 9001
HEADERS = {"Origin": ORIGIN}
LONG = 120  # seconds in which anything happens

# A network of our own has its loopback down.
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    request = struct.pack("16sh14x", b"lo", 0x41)  # IFF_UP | IFF_RUNNING
    try:
        fcntl.ioctl(s, 0x8914, request)  # SIOCSIFFLAGS
    except PermissionError:
        pass
with socket.socket() as s:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        s.bind(("127.0.0.1", PORT))
    except OSError as e:
        print(f"SKIPPED: port {PORT} is in use: {e}")
        sys.exit(77)

os.mkdir("tmp")
environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
environment["TMPDIR"] = os.path.abspath("tmp")
subprocess.run([strata, "export", "--to", "perfetto", "-o", "reference", "boot"], check=True)
reference = open("reference", "rb").read()


class Opened:
    """strata export --open, while it serves."""

    def __init__(self, *options, **variables):
        self.process = subprocess.Popen([strata, "export", "--to", "perfetto", "--open", *options, "boot"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=dict(environment, **variables))
        self.address = self.process.stdout.readline().rstrip("\n")
        m = re.fullmatch(re.escape(f"{ORIGIN}/#!/?url=http://127.0.0.1:{PORT}") + "(/[0-9a-f]{32}/([A-Za-z0-9._-]+))",
                         self.address)
        assert m, (self.address, self.process.communicate())
        self.path, self.name = m.groups()

    def request(self, method="GET", path=None, headers=HEADERS):
        """The answer, and its content."""
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=LONG)
        connection.request(method, path or self.path, headers=headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    def end(self):
        out, err = self.process.communicate(timeout=LONG)
        assert out == ""
        return self.process.returncode, err


def raw(request):
    with socket.create_connection(("127.0.0.1", PORT), timeout=LONG) as s:
        s.sendall(request)
        answer = b""
        while part := s.recv(65536):
            answer += part
    return answer


def is_refused(answer, content, status):
    assert (answer.status, content) == (status, b""), (answer.status, content)
    if status != 404:
        assert answer.getheader("Access-Control-Allow-Origin") is None


# Without a display, the address is printed; the file goes to nobody else, and once.
opened = Opened()
preconnected = [socket.create_connection(("127.0.0.1", PORT)) for _ in range(20)]
for headers in ({}, {"Origin": "https://ui.perfetto.dev.example.org"}, {"Origin": "http://ui.perfetto.dev"},
                {"Origin": "null"}, {"Origin": f"http://127.0.0.1:{PORT}"}, {"Origin": ORIGIN.upper()},
                {**HEADERS, "Host": "example.org:9001"}, {**HEADERS, "Host": "127.0.0.1"}, {**HEADERS, "Host": "127.0.0.1:9002"},
                {**HEADERS, "Host": "127.0.0.1:9001.example.org"}):
    for method in ("GET", "HEAD", "OPTIONS", "POST"):
        is_refused(*opened.request(method, headers=headers), 403)
secret = opened.path.split("/")[1]
for path in ("/", "/status", f"/{opened.name}", f"/{secret}/", f"/{'0' * 32}/{opened.name}", opened.path + "?x=1", opened.path[:-1],
             f"/{secret}/../../../etc/passwd", "/" + opened.path, "*", f"http://127.0.0.1:{PORT}{opened.path}"):
    is_refused(*opened.request(path=path), 404)
for bad in (b"GET\r\n\r\n", b"GET / HTTP/2.0\r\n\r\n",
            f"GET {opened.path} HTTP/1.1\r\nno header\r\n\r\n".encode()):
    answer = raw(bad)
    assert not answer or re.match(rb"HTTP/1\.[01] [45]", answer), (bad, answer[:100])
try:
    answer = raw(b"GET / HTTP/1.1\r\n" + b"X: " + b"x" * 100000)
    assert not answer or re.match(rb"HTTP/1\.[01] 4", answer), answer[:100]
except (ConnectionResetError, BrokenPipeError):
    pass
for method in ("POST", "PUT", "DELETE", "get"):
    is_refused(*opened.request(method, headers={**HEADERS, "Host": "127.0.0.1:9002"}), 403)
    answer, content = opened.request(method)
    assert (answer.status, content) == (405, b"")

answer, content = opened.request("HEAD")
assert answer.status == 200 and answer.getheader("Content-Length") == str(len(reference)) and content == b"", \
    (answer.status, answer.getheaders(), len(reference), content[:100])
assert answer.getheader("Access-Control-Allow-Origin") == ORIGIN
for asks in (False, True):
    answer, content = opened.request("OPTIONS", headers={
        **HEADERS, "Access-Control-Request-Method": "GET", **({"Access-Control-Request-Private-Network": "true"} if asks else {})})
    assert (answer.status, content) == (204, b"")
    assert answer.getheader("Access-Control-Allow-Origin") == ORIGIN
    assert "GET" in answer.getheader("Access-Control-Allow-Methods")
    assert answer.getheader("Access-Control-Allow-Private-Network") == ("true" if asks else None)

# A fetch that breaks off is none; while it is under way, there is no other.
good = f"GET {opened.path} HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\norigin: {ORIGIN}\r\n\r\n".encode()
broken = socket.create_connection(("127.0.0.1", PORT))
broken.sendall(good)
assert broken.recv(1) == b"H"
assert opened.request()[0].status == 503
assert opened.request("HEAD")[0].status == 200
broken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
broken.close()
end = time.monotonic() + LONG
while True:
    # In pieces, and slowly read.
    with socket.create_connection(("127.0.0.1", PORT), timeout=LONG) as s:
        for byte in range(0, len(good), 7):
            s.sendall(good[byte:byte + 7])
        answer = b""
        while part := s.recv(1000):
            answer += part
    if not answer.startswith(b"HTTP/1.1 503 "):
        break
    assert time.monotonic() < end
head, content = answer.split(b"\r\n\r\n", 1)
assert head.startswith(b"HTTP/1.1 200 OK\r\n") and content == reference, head
assert f"Access-Control-Allow-Origin: {ORIGIN}\r\n".encode() in head and b"Cache-Control: no-store\r\n" in head
status, err = opened.end()
assert status == 0 and "there is no display; open the address in a browser yourself" in err, (status, err)
try:
    socket.create_connection(("127.0.0.1", PORT)).close()
    raise AssertionError("it still listens")
except ConnectionRefusedError:
    pass
assert os.listdir("tmp") == [], os.listdir("tmp")

# It can be stopped; a file that was named stays, and its name is in the address as far as it needs no escape.
opened = Opened("-o", "a b&<c>.trace")
assert opened.name == "a_b__c_.trace", opened.name
opened.process.send_signal(signal.SIGINT)
status, err = opened.end()
assert status == 1 and "stopped by a signal; the page has not fetched the trace" in err, (status, err)
assert open("a b&<c>.trace", "rb").read() == reference
assert os.listdir("tmp") == [], os.listdir("tmp")

# With a display, the browser gets a file that leads to the address; other users see neither.
os.mkdir("bin")
with open("bin/xdg-open", "w") as f:
    f.write("#!/bin/sh\nls -ld \"$1\" \"$(dirname \"$1\")\" >../listed\ncat \"$1\" >../page.new && mv ../page.new ../page\n")
os.chmod("bin/xdg-open", 0o755)
os.chdir("bin")
boot = os.path.abspath("../boot")
opened = Opened("-o", "../kept", DISPLAY=":0", PATH=os.path.abspath(".") + ":" + os.environ["PATH"]) \
    if os.path.exists("boot") or os.symlink(boot, "boot") is None else None
end = time.monotonic() + LONG
while not os.path.exists("../page"):
    assert time.monotonic() < end, "no browser was started"
    time.sleep(0.01)
page = open("../page").read()
assert f'content="0; url={opened.address}"' in page, page
assert all(re.match("[-d]r[w-][x-]------", line) for line in open("../listed").read().splitlines())
answer, content = opened.request()
assert answer.status == 200 and content == reference
status, err = opened.end()
assert status == 0 and err == "", (status, err)
assert os.listdir("../tmp") == [] and open("../kept", "rb").read() == reference
os.chdir("..")

# What cannot be.
with socket.socket() as s:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", PORT))
    s.listen()
    done = subprocess.run([strata, "export", "--to", "perfetto", "--open", "-o", "none", "boot"], capture_output=True, text=True, env=environment)
    assert done.returncode == 1 and f"port {PORT} is in use" in done.stderr and not os.path.exists("none"), done
for rule, *options in (["requires --to=perfetto", "--to", "csv", "--open"], ["excludes --output=-", "--to", "perfetto", "--open", "-o", "-"]):
    done = subprocess.run([strata, "export", *options, "boot"], capture_output=True, text=True, env=environment)
    assert done.returncode == 2 and f"--open {rule}" in done.stderr and done.stdout == "", done
done = subprocess.run([strata, "export", "--to", "perfetto", "--open", "missing"], capture_output=True, text=True, env=environment)
assert done.returncode == 1 and "missing" in done.stderr and os.listdir("tmp") == [], done

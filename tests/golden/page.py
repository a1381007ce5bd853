"""What the page of strata serve shows of a trace, by its API."""
import http.client
import json
import re
import subprocess
import urllib.parse


class Page:
    """A server of TRACE, until the end of a with statement."""

    def __init__(self, strata, trace):
        self.process = subprocess.Popen([strata, "serve", "--no-causal", trace], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.address = urllib.parse.urlsplit(self.process.stdout.readline().strip())
        if not self.address.path:
            raise SystemExit(f"no address: {self.process.communicate()[1]}")
        self.trace = self.get("trace")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()

    def get(self, name, **parameters):
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=60)
        connection.request("GET", f"{self.address.path.rstrip('/')}/api/{name}?{urllib.parse.urlencode(parameters)}")
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status != 200:
            raise SystemExit(f"{name} {parameters}: {answer.status} {body[:300]}")
        return json.loads(body)

    def statistics(self, tracks, begin=0):
        rows = self.get("statistics", tracks=",".join(str(track["id"]) for track in tracks), **{
            "from": begin, "to": self.trace["duration"]})["rows"]
        return [(self.trace["names"][row["name"]], row) for row in rows]

    def states(self, number):
        """ns by state of the host's thread that is vCPU NUMBER."""
        threads = [track for track in self.trace["tracks"] if re.match(rf"CPU {number}/KVM \d+$", track["name"])]
        (thread,) = threads
        tracks = [track for track in self.trace["tracks"]
                  if track["kind"] == "states" and track["parent"] == thread["id"]]
        return {name: row["total"] for name, row in self.statistics(tracks)}

    def count(self, pattern):
        """How many slices there are whose ends are both in the trace, by what PATTERN finds in their names."""
        roots = ",".join(str(track["id"]) for track in self.trace["tracks"] if track["parent"] is None)
        counts = {}
        for row in self.get("latency", tracks=roots)["names"]:
            found = re.fullmatch(pattern, self.trace["names"][row["name"]])
            if found:
                counts[found[1]] = row["n"]
        return counts

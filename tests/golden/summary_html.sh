#!/bin/sh
# strata summary --html: all numbers of the page are those of -f json; and nothing that a trace holds is markup in it.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/three_layers.sh"
mv trace layers
. "$here/../lib/analysis_captures.sh"

# check PAGE's options...: of the last one, the trace
check() {
    case="$*"
    "$strata" summary --html page.html --top 0 "$@" >out 2>err || fail "$(head -c 1000 err)"
    [ ! -s out ] || fail "prints, too: $(cat out)"
    "$strata" summary -f json "$@" >summary.json 2>err || fail "$(head -c 1000 err)"
    python3 "$here/summary_html.py" page.html summary.json || fail "see above"
}
check vm
check layers
check kvm
check --cpu-vendor amd xen-4.17-all
check xen-4.22-all
check --cpu-hz 2G xen-4.22-all
check perf.ctf
check guest
check --from +0.1 --until +1.5 kvm

case="default"
"$strata" summary --html page.html vm
[ "$(grep -c '<tr><th scope="row">' page.html)" -lt 300 ] && grep -q 'more rows: --top 0 shows all' page.html ||
    fail "all rows"
[ "$(wc -c <page.html)" -lt 500000 ] || fail "a page of $(wc -c <page.html) bytes"
"$strata" summary --html - vm | cmp - page.html >/dev/null 2>&1 && fail "the command is not in it"
"$strata" summary --html - vm | grep -q '<dd>strata summary --html - vm</dd>' || fail "no page on standard output"

# Names that are markup, what a terminal or a browser obeys, and a million bytes.
case="hostile names"
python3 - "$PWD" <<'END'
import json, os, shutil, sys

hostile = '"><script>alert(1)</script><img src=x onerror=\'alert(2)\'>&amp;&#x3c;b>--></style></title>\u202e\u0000\u0007\x1b[31m'
for source, target in (("layers", "hostile"), ("vm", '"><b x="&lt;\x1b')):
    shutil.copytree(source, target)
    path = os.path.join(target, "trace.json")
    manifest = json.load(open(path))
    for part in manifest["sources"]:
        part["host"] = dict(part.get("host", {}), name=hostile.replace("\0", ""))
        part["problems"] = [hostile.replace("\0", ""), "x" * 1000000, "<" * 1000000]
        if "vmm" in part:
            part["vmm"].update(program=hostile.replace("\0", ""), version="<" * 1000000, accelerator="&" * 1000000)
            part["vmm"]["command"] = ["<script>"] * 1000
        if "guest" in part:
            part["guest"].update(release="</title><script>", agent="'\"<>&", machine="\u2028")
    json.dump(manifest, open(path, "w"))
# Tasks of the kernels: their names stand in the pages as they are.
for directory, _, names in os.walk("hostile"):
    for name in names:
        path = os.path.join(directory, name)
        data = open(path, "rb").read()
        if name != "trace.json":
            open(path, "wb").write(data.replace(b"dd\0\0\0\0", b"<i>\x1b&\"").replace(b" dd\n", b" <s>\n"))
END
for trace in hostile '"><b x="&lt;'*; do
    check "$trace"
    [ "$(wc -c <page.html)" -lt 500000 ] || fail "a page of $(wc -c <page.html) bytes"
done
"$strata" summary --html page.html --top 0 hostile 2>err || fail "$(head -c 1000 err)"
grep -qF '<th scope="row">&lt;i&gt;\x1b&amp;&quot;</th>' page.html || fail "no hostile task"

case="a file that cannot be written, or read to its end"
echo before >there.html
status=0
"$strata" summary --html there.html --format json vm >out 2>err || status=$?
[ $status -eq 2 ] && grep -q -- '--html excludes --format' err || fail "status $status: $(cat err)"
status=0
"$strata" summary --html missing/page.html vm >out 2>err || status=$?
[ $status -eq 1 ] && grep -q 'missing/page.html' err || fail "status $status: $(cat err)"
head -c 200000 xen-4.22-all >cut
status=0
"$strata" summary --html page.html cut >out 2>err || status=$?
[ $status -eq 1 ] && grep -q 'The trace was not read to its end: ' page.html || fail "status $status: $(cat err)"
status=0
"$strata" summary --html there.html missing >out 2>err || status=$?
[ $status -eq 1 ] && [ "$(cat there.html)" = before ] || fail "replaced: status $status: $(cat err)"
[ -z "$(find . -maxdepth 1 -name '*.html?*' -o -maxdepth 1 -name '.*.html*')" ] || fail "leaves: $(ls -a)"

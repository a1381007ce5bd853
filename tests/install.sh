#!/bin/sh
# Installs the built tree into an empty directory and uses it from there as a user would: the command,
# the old names, the manual pages, and the library by pkg-config, shared and static, from C and C++, and from Python.
#
#   tests/install.sh BUILD      (its prefix is /usr/local or whatever it was set up with)
set -eu

build=$1
tree=$(cd "$(dirname "$0")/.." && pwd)
cc=${CC:-cc}
dest=$(mktemp -d)
trap 'rm -rf "$dest"' EXIT

fail() {
    echo "install: $*" >&2
    exit 1
}

DESTDIR=$dest meson install -C "$build" --no-rebuild >"$dest/log" || {
    cat "$dest/log"
    fail "meson install failed"
}
prefix=$(meson introspect "$build" --buildoptions | jq -r '.[] | select(.name == "prefix").value')
libdir=$(meson introspect "$build" --buildoptions | jq -r '.[] | select(.name == "libdir").value')
root=$dest$prefix

# Nothing outside the prefix.
other=$(find "$dest" -type f ! -path "$root/*" ! -path "$dest/log")
[ -z "$other" ] || fail "outside the prefix: $other"

"$root/bin/strata" --version | grep -q '^strata [0-9]' || fail "strata --version"
for name in simpletrace xentrace xentrace_format; do
    [ "$(readlink "$root/bin/$name")" = strata ] || fail "bin/$name is no link to strata"
done

for file in systemd/system/strata-agent.service systemd/system/strata-record@.service sysusers.d/strata.conf; do
    [ -s "$root/lib/$file" ] || fail "lib/$file is not installed"
done
grep -q "^ExecStart=$prefix/bin/strata record " "$root/lib/systemd/system/strata-record@.service" ||
    fail "the service runs another strata"

for page in "$tree"/docs/man/*.[1-8]; do
    [ -e "$page" ] || continue
    name=${page##*/}
    installed=$root/share/man/man${page##*.}/$name
    case $name in
    strata-agent.8 | xentrace_format.1) # they name the files that are installed
        sed "s|/usr/local/|$prefix/|" "$page" | cmp -s - "$installed" || fail "the page $name is not installed"
        named=$(sed -n "s|^\.It Pa \($prefix/.*\)|\1|p" "$installed")
        [ -n "$named" ] || fail "the page $name names no file of $prefix"
        for file in $named; do
            [ -e "$dest$file" ] || fail "the page $name names $file, which is not installed"
        done
        ;;
    *) cmp -s "$page" "$installed" || fail "the page $name is not installed" ;;
    esac
done
cmp -s "$root/share/man/man8/strata-agent.8" "$root/share/man/man8/trace-agent.8" ||
    fail "trace-agent(8) is not the page of strata-agent(8)"
[ -f "$root/share/bash-completion/completions/strata" ] || fail "no bash completion"
[ -f "$root/share/strata/analysis.schema.json" ] || fail "no schema of the analyses"
[ -f "$root/share/strata/questions/duckdb/stolen.sql" ] || fail "no questions"

# What makes an error of memory harder to use is in what is installed.
if [ -n "${HARDENED:-}" ]; then
    "$tree/tests/hardening.sh" "$root" || fail "not hardened"
fi
if [ -n "${AGENT_IS_STATIC:-}" ]; then
    ! readelf -W -l "$root/bin/strata-agent" | grep -q INTERP || fail "strata-agent needs a loader"
fi

# The Python modules are where this Python looks below the prefix; below another prefix, where a Python of that prefix
# would look. What it imports from there is what was installed.
if [ -n "${PYTHON:-}" ]; then
    place=$("$PYTHON" -c 'import sys
found = [p for p in sys.path if p.startswith(sys.argv[1] + "/lib") and p.endswith("-packages")]
print(found[0] if found else "%s/lib/python%d.%d/site-packages" % (sys.argv[1], *sys.version_info[:2]))' "$prefix")
    imported=$(cd / && PYTHONPATH=$dest$place "$PYTHON" -c 'import strata, simpletrace
print(strata.__file__, simpletrace.__file__)' 2>&1) || fail "Python does not import strata from $place: $imported"
    [ "$imported" = "$dest$place/strata/__init__.py $dest$place/simpletrace.py" ] || fail "Python imports $imported"
fi

# The library, by what pkg-config says of it.
export PKG_CONFIG_PATH="$root/$libdir/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$dest"
version=$(pkg-config --modversion strata-read) || fail "pkg-config does not know strata-read"
capture=$dest/capture
xz -dc "$tree/tests/data/qemu/trace.simpletrace.xz" >"$capture"

run() {
    "$@" "$capture" >"$dest/out" || fail "$*: failed"
    [ "$(wc -l <"$dest/out")" -gt 1000 ] || fail "$*: printed too little"
    [ ! -e "$dest/first" ] || cmp -s "$dest/first" "$dest/out" || fail "$*: printed something else"
    cp "$dest/out" "$dest/first"
}

# shellcheck disable=SC2046 # lists of words
{
    $cc -std=c11 -Wall -Wextra -Werror -o "$dest/shared" "$tree/examples/read-trace.c" \
        $(pkg-config --cflags --libs strata-read)
    run env LD_LIBRARY_PATH="$root/$libdir" "$dest/shared"
    ldd "$dest/shared" | grep -q 'libstrata-read\.so\.0' || fail "not linked with the shared library"

    $cc -std=c11 -static -o "$dest/static" "$tree/examples/read-trace.c" \
        $(pkg-config --static --cflags --libs strata-read)
    run "$dest/static"

    # Its functions may be called anything that does not begin with strata_.
    cat >"$dest/clash.cc" <<'END'
#include <strata/read.h>
#include <cstdio>
extern "C" int map_get(void) { return 1; }
extern "C" int text_put(void) { return 1; }
extern "C" int item_values(void) { return 1; }
int main()
{
    strata_reader *reader = strata_reader_new();
    int r = strata_reader_next(reader);
    std::printf("%s: %s\n", strata_read_version(), strata_reader_error(reader));
    strata_reader_free(reader);
    return r < 0 && map_get() + text_put() + item_values() == 3 ? 0 : 1;
}
END
    for cxx in g++ clang++-14 ''; do
        command -v "$cxx" >/dev/null && break
    done
    if [ -n "$cxx" ]; then
        $cxx -Wall -Wextra -Werror -o "$dest/clash" "$dest/clash.cc" \
            $(pkg-config --cflags strata-read) "$root/$libdir/libstrata-read.a" \
            $(pkg-config --libs jansson zlib libzstd)
        "$dest/clash" | grep -q "^$version: no trace" || fail "the C++ program"
    else
        echo "no C++ compiler: that part is not tested"
    fi
}

# libstrata-monitor, from C++, with both libraries shared and both static. It serves a session, which
# here ends at once: what is printed is the greeting and the answer.
cat >"$dest/monitor.cc" <<'END'
#include <strata/monitor.h>
#include <strata/qemu_compat.h>
extern "C" int buffer_put(void) { return 1; }
extern "C" int session_new(void) { return 1; }
int main()
{
    strata_monitor *monitor = nullptr;
    if (strata_monitor_new(STRATA_MONITOR_HMP, &monitor) < 0 ||
        strata_monitor_set_name(monitor, "a program") < 0 ||
        strata_monitor_listen(monitor, "stdio") < 0)
        return 1;
    while (strata_monitor_dispatch(monitor) > 0)
        ;
    strata_monitor_free(monitor);
    return buffer_put() + session_new() == 2 && !st_change_trace_event_state("x", true) ? 0 : 1;
}
END
monitor_session() {
    printf 'info trace-events x\nquit\n' | "$@" | tr -d '\r' | tr '\n' '|' >"$dest/said"
    [ "$(cat "$dest/said")" = \
        "a program monitor - type 'help' for more information|(qemu) unknown event \"x\"|(qemu) " ] ||
        fail "$* said: $(cat "$dest/said")"
}
# shellcheck disable=SC2046 # lists of words
if [ -n "$cxx" ]; then
    $cxx -Wall -Wextra -Werror -o "$dest/monitor" "$dest/monitor.cc" \
        $(pkg-config --cflags --libs strata-monitor)
    monitor_session env LD_LIBRARY_PATH="$root/$libdir" "$dest/monitor"
    $cxx -Wall -Wextra -Werror -o "$dest/monitor-static" "$dest/monitor.cc" \
        $(pkg-config --cflags strata-monitor) "$root/$libdir/libstrata-monitor.a" \
        "$root/$libdir/libstrata.a" $(pkg-config --libs jansson) -pthread
    monitor_session "$dest/monitor-static"
fi
# The example that has a monitor where there is libstrata-monitor.
if command -v make >/dev/null; then
    cp -R "$tree/examples/tiny-vmm" "$dest/tiny-vmm"
    make -C "$dest/tiny-vmm" >"$dest/log" 2>&1 || fail "examples/tiny-vmm: $(cat "$dest/log")"
    head -c 1024 /dev/zero >"$dest/disk"
    printf 'trace-event uart_write on\ninfo trace-events *_write\n' >"$dest/lines"
    LD_LIBRARY_PATH="$root/$libdir" "$dest/tiny-vmm/tiny-vmm" -monitor stdio -trace "ctf=$dest/trace" "$dest/disk" \
        <"$dest/lines" >"$dest/said" &
    vmm=$!
    . "$tree/tests/lib/wait_for.sh"
    for words in 'tiny-vmm monitor - ' 'uart_write : state 1' 'vcpu_mmio_write : state 0'; do
        wait_for "grep -q '$words' '$dest/said'"
    done
    kill $vmm
    wait $vmm || fail "tiny-vmm: exit status $?"
fi

echo "installed and used"

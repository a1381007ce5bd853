#!/bin/sh
# The patch series for QEMU (tools/qemu-patches), made for small trees that stand for QEMU's: it applies
# by git am, each line is where it belongs, and the backend in Python generates what strata's own generator
# does. tools/qemu-trial --patches builds and boots QEMU with it.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
tests=$root/tests/qemu
bin=${STRATA_BIN:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}

if ! { command -v git && command -v python3; } >/dev/null; then
    echo "SKIPPED: needs git and python3"
    exit 77
fi

# write FILE: in the tree, from standard input.
write() {
    mkdir -p "$(dirname "$tree/$1")"
    cat >"$tree/$1"
}

# make_tree VERSION: the lines of QEMU's files around which the series adds its own.
make_tree() {
    tree=$work/$1
    mkdir -p "$tree"
    cp -R "$tests/$1/." "$tests/any/." "$tree/"
    cp -R "$tests/scripts" "$tree/"
    mkdir -p "$tree/scripts/tracetool/backend" "$tree/scripts/tracetool/format"
    how="'pkg-config'"
    has_state=
    case $1 in
    7.2)
        how="'pkg-config', kwargs: static_kwargs"
        ;;
    10.2)
        has_state="CHECK_TRACE_EVENT_GET_STATE"
        : >"$tree/scripts/tracetool/format/rs.py"
        printf '%s\n' '    '"'log'," '    '"'simple'," | write tests/tracetool/meson.build
        echo 'if backend in {"ftrace", "log", "simple", "syslog"}:' | write tests/tracetool/tracetool-test.py
        echo 'test_blah(void *context, const char *filename) "Blah context=%p filename=%s"' |
            write tests/tracetool/trace-events
        ;;
    esac
    echo "# $has_state" | write scripts/tracetool/backend/__init__.py
    write MAINTAINERS <<-END
	Tracing
	M: A Maintainer <maintainer@example.org>
	F: trace/

	Other
	F: other/
	END
    write meson.build <<-END
	lttng = not_found
	if 'ust' in get_option('trace_backends')
	  lttng = dependency('lttng-ust', required: true, version: '>= 2.1',
	                     method: $how)
	endif
	tracetool = [
	  python, files('scripts/tracetool.py'),
	   '--backend=' + ','.join(get_option('trace_backends'))
	]
	tracetool_depends = files(
	  'scripts/tracetool/backend/ftrace.py',
	  'scripts/tracetool/backend/simple.py',
	)
	END
    write meson_options.txt <<-END
	option('trace_backends', type: 'array', value: ['log'],
	       choices: ['dtrace', 'ftrace', 'log', 'nop', 'simple', 'syslog', 'ust'])
	END
    write scripts/meson-buildoptions.sh <<-'END'
	  printf "%s\n" '                           dtrace/ftrace/log/nop/simple/syslog/ust)'
	  printf "%s\n" '  --tls-priority=VALUE     Default'
	  printf "%s\n" '                           [NORMAL]'
	    --with-trace-file=*) quote_sh "-Dtrace_file=$2" ;;
	END
    write trace/meson.build <<-END
	if 'ftrace' in get_option('trace_backends')
	  trace_ss.add(files('ftrace.c'))
	endif
	trace_ss.add(files('control.c'))
	END
    write trace/control.c <<-'END'
	#ifdef CONFIG_TRACE_LOG
	#include "qemu/log.h"
	#endif
	#ifdef CONFIG_TRACE_SIMPLE
	    st_set_trace_file(trace_opts_file);
	#elif defined CONFIG_TRACE_LOG
	#endif
	#ifdef CONFIG_TRACE_SYSLOG
	    openlog(NULL, LOG_PID, LOG_DAEMON);
	#endif
	END
    printf '%s\n' 'LTTng Userspace Tracer' '----------------------' | write docs/devel/tracing.rst
    write docs/qemu-option-trace.rst.inc <<-END
	  available if QEMU has been compiled with the \`\`simple\`\`, \`\`log\`\`
	  or \`\`ftrace\`\` tracing backend.
	  available if QEMU has been compiled with the \`\`simple\`\`, \`\`log\`\` or
	  \`\`ftrace\`\` tracing backend.
	  the \`\`simple\`\` tracing backend.
	END
}

# in_tree ARGUMENT...: git, as an author that needs no configuration.
in_tree() {
    git -C "$tree" -c user.name=Test -c user.email=test@example.org "$@" >>"$work/git.log" 2>&1 ||
        fail "git $*: $(tail -n 20 "$work/git.log")"
}

# What a file of generated code says of rings, without blank lines, and formats spaced alike.
ring_code() {
    sed -n '/^static const struct strata_field/,/^static void __attribute__/p; /^void _ring_trace/,$p' "$1" |
        grep -vE '^$|^static void __attribute__|^    strata_[a-z_]*register' |
        sed -E 's/""/" "/g; s/"(PRI\w+)/" \1/g; s/(PRI\w+)"/\1 "/g'
}

# same_code GROUP EVENTS: the series' backend against the generator's. The latter also lists events that
# are compiled out, and renames arguments that are keywords of C++.
same_code() {
    grep -vE 'disable|^keywords|^#' "$tree/$2" >"$tree/declared"
    (cd "$tree" && "$bin/tracetool" --format=c --backends=ring "--group=$1" declared expected.c &&
        python3 scripts/tracetool.py --format=c --backends=ring "--group=$1" declared found.c)
    ring_code "$tree/expected.c" >"$work/expected"
    ring_code "$tree/found.c" >"$work/found"
    [ "$(grep -c strata_ring_end "$work/expected")" -ge 2 ] || fail "no code of the generator is compared"
    diff "$work/expected" "$work/found" || fail "$version: ring.py and the generator differ"
}

# The series' C files, with what generated code calls of them, in a program that records.
run_program() {
    cat >>"$tree/include/qemu/error-report.h" <<-END
	void error_report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	void warn_report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	END
    cat >"$tree/reports.c" <<-END
	#include "qemu/osdep.h"
	#include "qemu/error-report.h"
	void error_report(const char *fmt, ...) { fputs(fmt, stderr); }
	void warn_report(const char *fmt, ...) { fputs(fmt, stderr); }
	END
    groups=standin
    [ "$version" = 10.2 ] || groups="standin root"
    for group in $groups; do
        events=trace-events
        [ "$group" = standin ] || events=trace-events-vcpu
        (cd "$tree" && "$bin/tracetool" --format=h --backends=ring "--group=$group" $events "trace-$group.h" &&
            "$bin/tracetool" --format=c --backends=nop "--group=$group" $events "trace-$group.c" &&
            python3 scripts/tracetool.py --format=c --backends=ring "--group=$group" $events ring-part.c) \
            2>"$work/messages" || fail "$(cat "$work/messages")"
        cat "$tree/ring-part.c" >>"$tree/trace-$group.c"
    done
    objects=
    for source in main.c standin.c reports.c trace/ring.c util/log.c util/error-report.c \
        $(for g in $groups; do echo "trace-$g.c"; done); do
        object=$tree/$(basename "$source").o
        "${CC:-cc}" -std=gnu11 -O1 -Wall -Werror -DWITH_MESSAGE -I"$tree" -I"$tree/include" -I"$root/include" \
            -c -o "$object" "$tree/$source" || fail "$version: $source does not compile"
        objects="$objects $object"
    done
    # The program's caller in C++ is of no interest here.
    echo 'void call_from_cplusplus(void); void call_from_cplusplus(void) {}' >"$tree/none.c"
    # shellcheck disable=SC2086 # a list of words
    "${CC:-cc}" -o "$tree/program" $objects "$tree/none.c" $LIBSTRATA -pthread || fail "$version: does not link"
    STRATA_TRACE="ctf=$tree/trace-dir" "$tree/program" >"$work/out" || fail "$version: the program fails"
    "$bin/strata" report -f json "$tree/trace-dir" | sed -n 's/.*"event":"\([^"]*\)".*/\1/p' |
        LC_ALL=C sort | uniq -c | awk '{print $1, $2}' >"$work/found"
    {
        [ "$version" = 10.2 ] || echo '1 guest_call'
        printf '%s\n' '1 keywords' '1 numbers' '2 plain' '1 pointers' '1 silent' '1 ten' '2 words'
    } | diff - "$work/found" || fail "$version: the recorded events are not those that were called"
}

: "${LIBSTRATA=}"
for version in 7.2 10.2; do
    make_tree $version
    in_tree init --quiet
    in_tree add --all
    in_tree commit --quiet --message=base
    "$root/tools/qemu-patches" --author "A Tester <tester@example.org>" --tracetool-option "$tree" \
        "$work/series-$version" || fail "$version: no series"
    for patch in "$work/series-$version"/000[1-9]*.patch; do
        grep -q '^Signed-off-by: A Tester <tester@example.org>$' "$patch" || fail "$patch is not signed"
    done
    ! grep -r 'SPDX-License-Identifier: MIT\|@AUTHOR@\|#@if\|BLURB HERE' "$work/series-$version" ||
        fail "something is left to fill in"
    grep -q "^base-commit: $(git -C "$tree" rev-parse HEAD)$" "$work/series-$version/0000-cover-letter.patch" ||
        fail "the cover letter does not name the commit that the series is made for"
    in_tree am "$work/series-$version"/000[1-9]*.patch
    [ "$(grep -c "method: $how)" "$tree/meson.build")" -eq 2 ] ||
        fail "meson.build does not look for libstrata as for LTTng"
    python3 -m py_compile "$tree/scripts/tracetool/backend/ring.py"
    same_code standin trace-events
    case $version in
    7.2) same_code root trace-events-vcpu ;;
    10.2)
        grep -q 'fn _ring_trace_test_blah' "$tree/tests/tracetool/ring.rs" || fail "no code for Rust"
        grep -q "'ring'," "$tree/tests/tracetool/meson.build" || fail "QEMU's test does not know the backend"
        ;;
    esac
    # Where libstrata is built for a sanitizer, plain programs cannot be linked with it.
    [ -z "$LIBSTRATA" ] || run_program
done

# A tree in which a place is missing is reported, and nothing is written.
sed -i '/ftrace.py/d' "$tree/meson.build"
if "$root/tools/qemu-patches" "$tree" "$work/none" 2>"$work/messages"; then
    fail "a tree without a known place is accepted"
fi
grep -q "meson.build: 0 places match .*ftrace" "$work/messages" || fail "$(cat "$work/messages")"
[ -z "$(ls "$work/none")" ] || fail "an incomplete series is written"

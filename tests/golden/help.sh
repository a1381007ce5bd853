#!/bin/sh
# Help and the manual. tests/man_options.py compares the options of each verb with its page.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
strata=$STRATA_BIN/strata
man=$(cd "$(dirname "$0")/../../docs/man" && pwd)
cd "$dir"

"$strata" --help >help
"$strata" help | cmp help -
"$strata" --version | grep -q '^strata [0-9]'
verbs=$(sed -n 's/^  \([a-z]*\)  .*/\1/p' help)
[ -n "$verbs" ]

for verb in $verbs; do
    "$strata" "$verb" --help >"$verb" 2>err
    [ ! -s err ]
    "$strata" help "$verb" | cmp "$verb" -
    "$strata" "$verb" -h | cmp "$verb" -
    awk 'length > 80 { print FILENAME ": " $0 " is longer than a terminal"; exit 1 }' "$verb"
    grep -q "^.Nm strata $verb" "$man/strata-$verb.1" || {
        echo "there is no page of strata $verb" >&2
        exit 1
    }
    grep -q "strata-$verb 1" "$man/strata.1"
done

# A letter is of one option in all verbs, and an option has one letter, or none, in all. -h is in each.
for verb in $verbs; do
    sed -nE 's/^  (-[a-zA-Z],|   ) --([a-z-]*).*/\2 \1/p' "$verb"
done | awk '{ print $1, $2 == "" ? "none" : substr($2, 2, 1) }' | LC_ALL=C sort -u >letters
grep -v ' none$' letters >with
[ "$(wc -l <with)" -gt 15 ]
{ cut -d ' ' -f 1 with | uniq -d; sed 's/.* //' with | sort | uniq -d; } >twice
[ ! -s twice ] || {
    echo "options with two letters, or letters of two options:" $(cat twice) >&2
    exit 1
}
# What was renamed says so.
! "$strata" sql -f x 2>err && grep -qx 'strata sql: -f is --file now' err || { head -n 1 err >&2; exit 1; }
! "$strata" report --xen=4.17 x 2>err && grep -qx 'strata report: --xen is --xen-version now' err || { head -n 1 err >&2; exit 1; }

# What groff warns of: from 1.23 on, that is also a line which it cannot fill.
for page in "$man"/*.[1-8]; do
    ! command -v groff >/dev/null || groff -ww -Tutf8 -mandoc "$page" 2>&1 >/dev/null | sed "s|^|$page: |"
done >warnings
[ ! -s warnings ] || {
    cat warnings >&2
    exit 1
}
# What is quoted ends where it ends: groff's Ql takes all that stands on its line.
! grep -nE '(^\.|[ .])Ql .* (Ql|No) |Ql .* , [^ ]|Xr [^ ]+ [0-9] , [a-z]' "$man"/*.[1-8] >&2 || {
    echo "a page quotes more than is meant" >&2
    exit 1
}
! grep -nE '^\.Dl .*(  |[{,] ?")' "$man"/*.[1-8] >&2 || {
    echo "a page shows a line by .Dl, which drops its quotes and repeated blanks; use .Bd -literal" >&2
    exit 1
}
# A section that a page cites is there.
for page in "$man"/*.[1-8]; do
    sed -n 's/^\.S[hs] //p' "$page" >sections
    grep -oE '(^\.|[ .])Sx [^.,;]+' "$page" | sed 's/.*Sx //; s/ *$//; s/"//g; s/ No .*//' | while read -r section; do
        grep -qxF "$section" sections || echo "$page: there is no section $section"
    done
done >missing
[ ! -s missing ] || { cat missing >&2; exit 1; }
# Each page has these sections in this order; sections that it has beside them come before EXAMPLES.
awk 'BEGIN { n = split("NAME,SYNOPSIS,DESCRIPTION,OPTIONS,EXAMPLES,FILES,EXIT STATUS,SEE ALSO", order, ",")
             for (i = 1; i <= n; i++) rank[order[i]] = i }
    FNR == 1 { last = 0 }
    /^\.Sh / {
        section = substr($0, 5)
        if (section == "EXAMPLES") with[FILENAME] = 1
        if (section in rank ? rank[section] <= last : last < rank["DESCRIPTION"] || last >= rank["EXAMPLES"]) {
            print FILENAME ": " section " is out of order"
            bad = 1
        }
        if (section in rank) last = rank[section]
    }
    END {
        for (i = 1; i < ARGC; i++)
            if (!(ARGV[i] in with)) { print ARGV[i] ": no EXAMPLES"; bad = 1 }
        exit bad
    }' "$man"/*.[1-8] >&2
# Footers name the project, and ports are those that the programs use.
for page in "$man"/strata*.[1-8]; do
    grep -qx '.Os Strata' "$page" || {
        echo "$page: .Os Strata is missing" >&2
        exit 1
    }
done
port=$(sed -n 's/^#define GUEST_PORT //p' "$man/../../src/record/kernel/endpoint.h")
! grep -hoE 'tcp:[0-9.]+:[0-9]+|\(port [0-9]+\)' "$man"/*.[1-8] | grep -vE "[: ]$port\)?\$" >&2 || {
    echo "a page has another port than $port" >&2
    exit 1
}

# The guest's agent is a program of its own.
"$STRATA_BIN/strata-agent" --help >agent-help
awk 'length > 80 { print FILENAME ": " $0 " is longer than a terminal"; exit 1 }' agent-help
awk '/^  (-[a-zA-Z],|   ) --/ { sub("=.*", "="); print $1 == "--help" ? $1 : $0 }' agent-help |
    awk '{ sub("^ *", ""); print $2 ~ /^-/ ? $1 " " $2 : $1 }' | LC_ALL=C sort >in-help
awk '/^\.It Fl / {
    sub("^\\.It ", ""); gsub("Fl Fl ", "--"); gsub("Fl ", "-"); sub(" , ", ", ")
    sub(" Ns = Ns .*", "="); print
}' "$man/strata-agent.8" | LC_ALL=C sort >in-man
diff in-help in-man >&2 || {
    echo "the help of strata-agent (<) and its page (>) do not have the same options" >&2
    exit 1
}
[ -s in-man ]
"$strata" agent --version | grep -q '^strata-agent [0-9]'
"$strata" agent -V | grep -q '^strata-agent [0-9]'
status=0
"$strata" agent --no-such 2>err || status=$?
[ "$status" -eq 2 ]
grep -q "^Try 'strata-agent --help'" err

# The old tools' too.
for tool in simpletrace tracetool xentrace xentrace_format; do
    "$strata" help | grep -q "^  .*$tool"
    "$strata" help $tool >old
    head -n 1 old | grep -q "^Usage: $tool "
    "$strata" $tool --help | cmp old -
    "$STRATA_BIN/$tool" --help | cmp old -
    grep -q "^.Nm $tool" "$man/$tool.1"
done
# Their wrong usage is an error as with the originals, which know no status 2.
for words in simpletrace 'simpletrace one' 'simpletrace one two three' 'xentrace_format' \
    'xentrace -q' 'xentrace -e' 'xentrace_format -x' 'xentrace_format -c'; do
    status=0
    # shellcheck disable=SC2086 # words
    "$STRATA_BIN"/$words >out 2>err </dev/null || status=$?
    [ "$status" -eq 1 ] && [ ! -s out ]
    grep -q '^[Uu]sage: ' err
done

status=0
"$strata" help nosuchverb 2>err || status=$?
[ "$status" -eq 2 ]
grep -q "unknown command 'nosuchverb'" err

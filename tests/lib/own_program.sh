# shellcheck shell=sh
# A program under a name that no other run of a test uses or has used, so that its rings are not taken for those of another
# test: processes get numbers again that others have had, whose rings may be left.

# own_program PROGRAM: a link to it in the current directory, with the end of $work's name in its own: $own_program.
own_program() {
    own_program=$PWD/$(basename "$1" | cut -c 1-8)${work##*.}
    ln -s "$1" "$own_program"
    own_programs="${own_programs-} $(basename "$own_program")"
}

# Discards the rings of what ran by these names, and by those given: too many that are left keep programs from making more.
discard_own_rings() {
    for own in ${own_programs-} "$@"; do
        "$STRATA_BIN/strata" recover --list 2>/dev/null | awk -v name="$own" '$2 == name { print $NF }' |
            while read -r left; do
                "$STRATA_BIN/strata" recover --discard "$left" >/dev/null 2>&1 || :
            done
    done
}

#!/bin/sh
# The files of a trace: of mode 0600 in directories of mode 0700 whatever the umask is; never through a link
# that another user made, nor where another user can write unless the user asks for it. What an attacker
# has planted stays as it was. $DAEMON: tests/runtime/daemon.c.
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/own_program.sh"
at_exit='discard_own_rings'
own_program "$DAEMON"
STRATA_CONTROL=off
export STRATA_CONTROL
other=1234 # a user's number: no file but those made here is that user's

# run OPTIONS...: emits, and ends well. What it has to say is in `errors`.
run() {
    "$own_program" -k "$@" . 100 2>errors || fail "$*: ended with $?: $(cat errors)"
}
mode() {
    stat -c %a "$1"
}
# modes DIRECTORY FILE...
modes() {
    [ "$(mode "$1")" = 700 ] || fail "umask $mask: $1 has mode $(mode "$1")"
    shift
    for file; do
        [ "$(mode "$file")" = 600 ] || fail "umask $mask: $file has mode $(mode "$file")"
    done
}
secret() {
    [ "$(cat victim)" = secret ] || fail "a link was followed: $(head -c 200 victim)"
}
# refused_option OPTIONS: and says why.
refused_option() {
    "$own_program" -k -t "$1" . 100 2>errors || :
    # (That nobody reads an attacker's pipe is seen first.)
    grep -q 'another user can write\|symbolic link\|no process reads that pipe' errors || fail "$1: $(cat errors)"
    secret
}

case=modes
for mask in 000 022 077 377 777; do
    rm -rf c s l f snap
    (umask $mask && exec "$own_program" -k -t '*,ctf=c,simple=s,log=l' -b log -s snap . 100 2>errors) || fail "umask $mask: $(cat errors)"
    modes c c/metadata c/stream-0 s l
    modes snap snap/metadata snap/stream-0
    rm -f l
    (umask $mask && exec "$own_program" -k -t 'logfile=f' -b log . 100 2>errors) || fail "umask $mask: $(cat errors)"
    modes c f
done

echo secret >victim
case=links
ln -s "$work/victim" link
refused_option '*,simple=link'
refused_option '*,log=link'
refused_option 'logfile=link'
mkdir target
ln -s target dirlink
refused_option '*,ctf=dirlink'
[ -z "$(ls target)" ] || fail "wrote into what a link leads to"
# In a directory of the trace's own a link is removed, not followed.
rm -rf c
mkdir -m 700 c
ln -s "$work/victim" c/stream-0
ln -s "$work/victim" c/.metadata
ln -s "$work/victim" c/metadata
run -t '*,ctf=c'
secret
[ ! -L c/stream-0 ] && [ ! -L c/metadata ] || fail "links are left"
# A link of the user's own to a directory on the way is followed.
mkdir -m 700 real
ln -s real way
run -t '*,ctf=way/c,simple=way/s,log=way/l'
[ -s real/c/stream-0 ] && [ -s real/s ] && [ -s real/l ] || fail "a link of the user's own was not followed"

case=names
# A file with several hard links may belong to another user.
echo secret >linked
ln linked name
refused_option '*,simple=name'
refused_option '*,log=name'
[ "$(cat linked)" = secret ] || fail "wrote to a file of two names"

case=append
echo before >own
run -t '*,log=own'
[ "$(head -n 1 own)" = before ] && [ "$(wc -l <own)" -eq 101 ] || fail "not appended: $(head -n 2 own)"

case=writable
mkdir shared
chmod 777 shared
refused_option '*,simple=shared/s'
refused_option '*,log=shared/l'
refused_option '*,ctf=shared/c'
refused_option 'logfile=shared/f'
mkdir -m 700 shared/below
refused_option '*,ctf=shared/below/c'
[ "$(ls shared shared/below)" = 'shared:
below

shared/below:' ] || fail "made something: $(ls -R shared)"
run -t 'unsafe-directory=on' -t '*,simple=shared/s,log=shared/l,ctf=shared/c'
[ -s shared/s ] && [ -s shared/l ] && [ -s shared/c/stream-0 ] || fail "not written although asked to"
mkdir open
chmod 777 open
refused_option '*,ctf=open'
# The sticky bit: what is ours there stays ours.
mkdir sticky
chmod 1777 sticky
run -t '*,simple=sticky/s,log=sticky/l,ctf=sticky/c'
[ -s sticky/s ] && [ -s sticky/l ] && [ -s sticky/c/stream-0 ] || fail "not written in a sticky directory"
rm -rf shared/* open

[ "$(id -u)" -eq 0 ] || { echo "not root: without another user"; exit 77; }
case=attacker
# Another user's directory, on the way or at the end of it; and what that user has planted in one like /tmp.
chmod 711 "$work"
mkdir home
chown $other home
refused_option '*,ctf=home/c'
refused_option '*,simple=home/s'
refused_option '*,log=home/l'
[ -z "$(ls -A home)" ] || fail "made something: $(ls -A home)"
rm -rf sticky/*
(
    cd sticky
    setpriv --reuid $other --regid $other --clear-groups sh -c '
        mkdir c d && chmod 777 c && echo planted >s && echo planted >l && chmod 666 s l &&
        ln -s ../victim v && ln -s ../victim c/stream-0 && ln -s ../real way && mkfifo p && chmod 666 p'
) || fail "setpriv"
for sink in ctf=sticky/c ctf=sticky/d simple=sticky/s log=sticky/l simple=sticky/v log=sticky/v simple=sticky/p log=sticky/p \
    ctf=sticky/v simple=sticky/way/x ctf=sticky/way/c2; do
    refused_option "*,$sink"
done
[ "$(cat sticky/s sticky/l)" = 'planted
planted' ] || fail "wrote to a file of another user"
[ ! -e real/x ] && [ ! -e real/c2 ] || fail "followed another user's link"
# An unprivileged user's own directories are as good as root's.
mkdir theirs
chown $other theirs
chmod 755 .
for path in "$DAEMON"; do
    setpriv --reuid $other --regid $other --clear-groups test -x "$path" 2>/dev/null || exit 0
done
(cd theirs && setpriv --reuid $other --regid $other --clear-groups "$DAEMON" -k -t '*,rings=-,ctf=c,simple=s,log=l' . 100) 2>errors ||
    fail "another user: $(cat errors)"
[ -s theirs/c/stream-0 ] && [ -s theirs/s ] && [ -s theirs/l ] || fail "another user: $(cat errors)"

# Sourced, after golden.sh: strata finds declarations of all events of the captures of QEMU 7.2, whatever QEMU is installed.
# shellcheck shell=sh
"$tree/tools/qemu-events" "$work/declared" || exit
STRATA_EVENTS=$work/declared
export STRATA_EVENTS

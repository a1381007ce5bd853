# Sourced. kernel_capture CLOCK FOLDER [all] makes FOLDER, with the capture of a guest's kernel whose clock was CLOCK (local,
# tsc): its pages, and the copy of its tracefs. Of the 1,336 formats of events there are those that $DATA/ftrace/captured
# names, among them all that the pages have, because each command reads all formats; with "all", there are all.
# shellcheck shell=sh
kernel_capture() {
    mkdir "$2"
    if [ "${3-}" = all ]; then
        tar -C "$2" -xJf "$DATA/ftrace/guest-$1-clock/guest.tar.xz"
    else
        tar -C "$2" -xJf "$DATA/ftrace/guest-$1-clock/guest.tar.xz" -T "$DATA/ftrace/captured"
    fi
    for cpu in 0 1; do
        xz -dc "$DATA/ftrace/guest-$1-clock/cpu$cpu.raw.xz" >"$2/cpu$cpu.raw"
    done
}
# swap_halves FILE: its pages are no longer in the order of time.
swap_halves() {
    python3 - "$1" <<'END_OF_SCRIPT'
import sys
data = open(sys.argv[1], "rb").read()
half = len(data) // 4096 // 2 * 4096
open(sys.argv[1], "wb").write(data[half:] + data[:half])
END_OF_SCRIPT
}
# read_in_time FOLDER: as if nothing had been lost before the first page of each CPU.
read_in_time() {
    python3 - "$1" <<'END_OF_SCRIPT'
import struct, sys
for cpu in (0, 1):
    with open(f"{sys.argv[1]}/cpu{cpu}.raw", "r+b") as pages:
        pages.seek(8)
        commit = struct.unpack("<Q", pages.read(8))[0]
        pages.seek(8)
        pages.write(struct.pack("<Q", commit & 0x7FFFFFF))
END_OF_SCRIPT
}

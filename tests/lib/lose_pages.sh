# Sourced. lose_pages FILE FROM UNTIL: of the pages of a CPU, those from the share FROM (0 to 1) up to UNTIL are lost, which the
# page that follows says, as the kernel marks it.
# shellcheck shell=sh
lose_pages() {
    python3 - "$@" <<'END_OF_SCRIPT'
import struct, sys
pages = bytearray(open(sys.argv[1], "rb").read())
begin, end = (int(len(pages) // 4096 * float(share)) * 4096 for share in sys.argv[2:])
del pages[begin:end]
commit = struct.unpack_from("<Q", pages, begin + 8)[0]
struct.pack_into("<Q", pages, begin + 8, commit | 0xFFFFFFFF80000000)
open(sys.argv[1], "wb").write(pages)
END_OF_SCRIPT
}

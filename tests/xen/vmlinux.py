#!/usr/bin/env python3
"""vmlinux.py BZIMAGE OUT: the kernel that is packed in a bzImage of Linux for x86, by its setup header
(the kernel's documentation: x86/boot.rst)."""
import lzma
import struct
import sys

image = open(sys.argv[1], "rb").read()
if image[0x202:0x206] != b"HdrS":
    sys.exit(f"{sys.argv[1]}: not a bzImage")
setup_sectors = image[0x1F1] or 4
offset, length = struct.unpack_from("<II", image, 0x248)
packed = image[(setup_sectors + 1) * 512 + offset :][:length]
if not packed.startswith(b"\xfd7zXZ\0"):
    sys.exit(f"{sys.argv[1]}: not packed by xz")
# Behind the stream stands its unpacked size.
kernel = lzma.LZMADecompressor().decompress(packed)
if len(kernel) != struct.unpack_from("<I", packed, length - 4)[0]:
    sys.exit(f"{sys.argv[1]}: does not unpack to the size it says")
open(sys.argv[2], "wb").write(kernel)

#!/usr/bin/env python3
"""vmlinux.py BZIMAGE OUT: the kernel that is packed in a bzImage of Linux for x86, by its setup header
(the kernel's documentation: x86/boot.rst)."""
import ctypes
import lzma
import struct
import sys

image = open(sys.argv[1], "rb").read()
if image[0x202:0x206] != b"HdrS":
    sys.exit(f"{sys.argv[1]}: not a bzImage")
setup_sectors = image[0x1F1] or 4
offset, length = struct.unpack_from("<II", image, 0x248)
packed = image[(setup_sectors + 1) * 512 + offset :][:length]
# Behind the stream stands its unpacked size.
(size,) = struct.unpack_from("<I", packed, length - 4)
if packed.startswith(b"\xfd7zXZ\0"):
    kernel = lzma.LZMADecompressor().decompress(packed)
elif packed.startswith(b"\x28\xb5\x2f\xfd"):
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    buffer = ctypes.create_string_buffer(size)
    got = zstd.ZSTD_decompress(buffer, ctypes.c_size_t(size), packed, ctypes.c_size_t(length - 4))
    kernel = buffer.raw[:got]
else:
    sys.exit(f"{sys.argv[1]}: packed neither by xz nor by zstd")
if len(kernel) != size:
    sys.exit(f"{sys.argv[1]}: does not unpack to the size it says")
open(sys.argv[2], "wb").write(kernel)

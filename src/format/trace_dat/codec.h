/* SPDX-License-Identifier: MIT */
#pragma once

/* The compression methods of a trace.dat. */

#include <stddef.h>
#include <stdint.h>

enum dat_codec {
    DAT_CODEC_NONE,
    DAT_CODEC_ZLIB,
    DAT_CODEC_ZSTD,
};

/* Finds the codec by its name in the file. -ENOTSUP. */
int dat_codec_find(const char *name, enum dat_codec *ret);

/* Unpacks N bytes at P into memory that grows while unpacking (malloc, at most MAX bytes), because a claimed length is
 * not trusted. Appends a NUL that is not counted. -EBADMSG: damaged; -EFBIG: more than MAX; -ENOMEM. */
int dat_codec_unpack(enum dat_codec codec, const uint8_t *p, size_t n, size_t max,
                     uint8_t **ret_bytes, size_t *ret_size);

/* The same into a buffer of SIZE bytes. -ENOSPC: more than fits; -EBADMSG: damaged. */
int dat_codec_unpack_into(enum dat_codec codec, const uint8_t *p, size_t n, uint8_t *buf,
                          size_t size, size_t *ret_size);

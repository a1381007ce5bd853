/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads the metadata of a trace.dat sequentially. */

#include "format/trace_dat/file.h"

/* Reads from the file or from an unpacked section. */
struct dat_reader {
    struct dat_file *file;
    struct input *in;
    const uint8_t *memory; /* of an unpacked section; otherwise NULL */
    struct error *error;
};

int dat_read_u16(struct dat_reader *r, uint16_t *ret);
int dat_read_u32(struct dat_reader *r, uint32_t *ret);
int dat_read_u64(struct dat_reader *r, uint64_t *ret);
/* Reads N bytes, which must equal BYTES. */
int dat_expect(struct dat_reader *r, const char *bytes, size_t n);
/* Reads a string up to its NUL, at most MAX bytes with the NUL, into BUF. */
int dat_read_string(struct dat_reader *r, char *buf, size_t max);
/* Stores the position of SIZE bytes and skips them. */
int dat_skip_text(struct dat_reader *r, uint64_t size, struct dat_text *ret);
/* Sets the error WHAT at the present place, and returns its code. */
int dat_error(struct dat_reader *r, const char *what);

/* The parts that both versions have. */
int dat_read_header_info(struct dat_reader *r);
int dat_read_ftrace_formats(struct dat_reader *r);
int dat_read_event_formats(struct dat_reader *r);
/* Reads the data of an option, SIZE bytes at P. */
int dat_read_option(struct dat_reader *r, unsigned id, const uint8_t *p, uint32_t size);
struct dat_buffer *dat_add_buffer(struct dat_file *file, const char *name);

/* Reads the parts of version 6 from header_page to printk_formats. */
int dat_read_texts(struct dat_reader *r);

/* Read the parts after the page size. */
int dat_read_version6(struct dat_reader *r);
int dat_read_version7(struct dat_reader *r);

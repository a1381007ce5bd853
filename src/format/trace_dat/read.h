/* SPDX-License-Identifier: MIT */
#pragma once

/* Reading the metadata of a trace.dat from front to back. */

#include "format/trace_dat/file.h"

/* Where metadata is read from: the file, or an unpacked section. */
struct dat_reader {
    struct dat_file *file;
    struct input *in;
    const uint8_t *memory; /* of an unpacked section, else NULL */
    struct error *error;
};

int dat_read_u16(struct dat_reader *r, uint16_t *ret);
int dat_read_u32(struct dat_reader *r, uint32_t *ret);
int dat_read_u64(struct dat_reader *r, uint64_t *ret);
/* N bytes, which must be these. */
int dat_expect(struct dat_reader *r, const char *bytes, size_t n);
/* A string up to its NUL, at most MAX bytes with it, into BUF. */
int dat_read_string(struct dat_reader *r, char *buf, size_t max);
/* Stores the position of SIZE bytes and skips them. */
int dat_skip_text(struct dat_reader *r, uint64_t size, struct dat_text *ret);
/* What went wrong, at the present place. */
int dat_error(struct dat_reader *r, const char *what);

/* The pieces that both versions have. */
int dat_read_header_info(struct dat_reader *r);
int dat_read_ftrace_formats(struct dat_reader *r);
int dat_read_event_formats(struct dat_reader *r);
/* One option's data, SIZE bytes at P. */
int dat_read_option(struct dat_reader *r, unsigned id, const uint8_t *p, uint32_t size);
struct dat_buffer *dat_add_buffer(struct dat_file *file, const char *name);

/* What version 6 has from header_page to printk_formats. */
int dat_read_texts(struct dat_reader *r);

/* Behind the page size. */
int dat_read_version6(struct dat_reader *r);
int dat_read_version7(struct dat_reader *r);

/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes JSON (RFC 8259) with nested objects and arrays, and adds the commas. For what is written once per row or file.
 * Lines per event are made of the pieces in print/json.h. */

#include "base/text.h"

#define JSON_WRITER_DEPTH 31

struct json_writer {
    struct text *out; /* borrowed; the caller checks its error */
    unsigned depth;   /* open objects and arrays, at most JSON_WRITER_DEPTH */
    bool after_key;
    /* The following have a bit for each depth. */
    uint32_t arrays;
    uint32_t lines;  /* arrays with one element per line */
    uint32_t filled; /* it is not empty */
};

/* In an object, call before each value. */
void json_write_key(struct json_writer *w, const char *key);

void json_write_object(struct json_writer *w);
void json_write_array(struct json_writer *w);
/* Begins an array with one element per line. */
void json_write_lines(struct json_writer *w);
/* Ends the object or array that was opened last. */
void json_write_end(struct json_writer *w);
/* Ends everything that is open, and the line. */
void json_write_finish(struct json_writer *w);

void json_write_string(struct json_writer *w, const char *s, size_t len);
void json_write_str(struct json_writer *w, const char *s);
void json_write_u64(struct json_writer *w, uint64_t v);
void json_write_i64(struct json_writer *w, int64_t v);
/* With six digits. V must be finite. */
void json_write_real(struct json_writer *w, double v);
void json_write_bool(struct json_writer *w, bool v);
/* Writes a value that is JSON already. */
void json_write_raw(struct json_writer *w, const char *s, size_t len);

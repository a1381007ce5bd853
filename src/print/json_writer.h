/* SPDX-License-Identifier: MIT */
#pragma once

/* JSON (RFC 8259) with structure: objects and arrays, with commas where they belong. For what is written once per
 * row or per file; a line per event is made of the pieces of print/json.h. */

#include "base/text.h"

#define JSON_WRITER_DEPTH 31

struct json_writer {
    struct text *out; /* borrowed; its error is the caller's to look at */
    unsigned depth;   /* of what is open, at most JSON_WRITER_DEPTH */
    bool after_key;
    /* A bit for each depth. */
    uint32_t arrays;
    uint32_t lines;  /* arrays with an element a line */
    uint32_t filled; /* something stands in it */
};

/* In an object, in front of each value. */
void json_write_key(struct json_writer *w, const char *key);

void json_write_object(struct json_writer *w);
void json_write_array(struct json_writer *w);
/* An array whose elements each begin a line. */
void json_write_lines(struct json_writer *w);
/* The end of the object or array that was opened last. */
void json_write_end(struct json_writer *w);
/* The end of all that is open, and of the line. */
void json_write_finish(struct json_writer *w);

void json_write_string(struct json_writer *w, const char *s, size_t len);
void json_write_str(struct json_writer *w, const char *s);
void json_write_u64(struct json_writer *w, uint64_t v);
void json_write_i64(struct json_writer *w, int64_t v);
/* Six digits. V is finite. */
void json_write_real(struct json_writer *w, double v);
void json_write_bool(struct json_writer *w, bool v);
/* A value that is JSON already. */
void json_write_raw(struct json_writer *w, const char *s, size_t len);

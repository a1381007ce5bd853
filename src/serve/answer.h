/* SPDX-License-Identifier: MIT */
#pragma once

/* The answer to a request. */

#include "base/text.h"
#include "print/json_writer.h"

/* A longer answer becomes an error. */
#define ANSWER_MAX ((size_t)64 << 20)

enum {
    HTTP_OK = 200,
    HTTP_FOUND = 302,
    HTTP_BAD_REQUEST = 400,
    HTTP_FORBIDDEN = 403,
    HTTP_NOT_FOUND = 404,
    HTTP_METHOD = 405,
    HTTP_CONFLICT = 409,
    HTTP_GONE = 410,
    HTTP_TOO_LARGE = 413,
    HTTP_TOO_LONG = 414,
    HTTP_FAILED = 500,
};

struct answer {
    unsigned status;
    const char *type;
    struct text text;
    struct json_writer json; /* into `text` */
    const char *fixed;       /* sent instead of `text`: `fixed_len` bytes that stay valid */
    size_t fixed_len;
    const char *location; /* for HTTP_FOUND: a name in the same directory */
    bool tsp;             /* errors have the form of the Trace Server Protocol */
};

void answer_init(struct answer *answer);
void answer_done(struct answer *answer);

/* Drops what was written, and answers `{"error":"FORMAT…"}`. Returns -EBADMSG, so that `return answer_error(…)` works
 * if 0 means success. */
int answer_error(struct answer *answer, unsigned status, const char *format, ...) _printf_(3, 4);
/* Answers the error for R, a negative errno, or ERROR if it is not empty. */
struct error;
int answer_failure(struct answer *answer, int r, const struct error *error);

/* Writes TEXT as a string, and empties TEXT. An error of TEXT becomes the answer's. */
void answer_put_text(struct json_writer *json, struct text *text);

/* True if nothing more should be written, because the answer has become an error. */
bool answer_is_full(struct answer *answer);

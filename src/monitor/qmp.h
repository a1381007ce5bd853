/* SPDX-License-Identifier: MIT */
#pragma once

/* QMP: requests in JSON, a reply to each. */

#include <jansson.h>
#include <stdbool.h>

#include "monitor/buffer.h"

struct qmp {
    const char *name;
    bool negotiated; /* qmp_capabilities was called: commands are allowed */
};

/* What is said at the beginning. */
void qmp_greet(const struct qmp *qmp, struct buffer *out);
/* Replies to a message. True: the session is to end. */
bool qmp_request(struct qmp *qmp, json_t *message, struct buffer *out);
/* Replies to what is no message. */
void qmp_malformed(const char *what, size_t len, struct buffer *out);

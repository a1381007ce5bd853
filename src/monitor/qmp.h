/* SPDX-License-Identifier: MIT */
#pragma once

/* QMP: requests in JSON, each with a reply. */

#include <jansson.h>
#include <stdbool.h>

#include "monitor/buffer.h"

struct qmp {
    const char *name;
    bool negotiated; /* qmp_capabilities was called: commands are allowed */
};

/* Writes the greeting. */
void qmp_greet(const struct qmp *qmp, struct buffer *out);
/* Replies to a message. Returns true if the session must end. */
bool qmp_request(struct qmp *qmp, json_t *message, struct buffer *out);
/* Replies to input that is not a message. */
void qmp_malformed(const char *what, size_t len, struct buffer *out);

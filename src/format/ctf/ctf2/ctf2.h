/* SPDX-License-Identifier: MIT */
#pragma once

/* The metadata of CTF 2: a sequence of JSON texts (RFC 7464), each a fragment that declares one thing. Specification:
 * CTF2-SPEC-2.0, https://diamon.org/ctf/.
 *
 *   0x1e {"type": "preamble", "version": 2, "uuid": [16 numbers], "extensions": {…}}   first, and once
 *   0x1e {"type": "field-class-alias", "name": …, "field-class": …}   a class that is used by its name after it
 *   0x1e {"type": "trace-class", "environment": {…}, "packet-header-field-class": …}
 *   0x1e {"type": "clock-class", "id": …, "frequency": …, "origin": …, "offset-from-origin": {…}}
 *   0x1e {"type": "data-stream-class", "id": …, "default-clock-class-id": …, and three field classes}
 *   0x1e {"type": "event-record-class", "id": …, "data-stream-class-id": …, "name": …, and two field classes}
 *
 * What is not known of an object is ignored; a declared extension, which may change the format, is refused. */

#include "base/arena.h"
#include "base/error.h"
#include "format/ctf/type.h"

/* Whether the N bytes at HEAD begin metadata of CTF 2 in text. */
bool ctf2_probe(const void *head, size_t n);

/* Parses LEN bytes of TEXT of the file PATH, which outlives the result. -EBADMSG: not understood, with the line in ERROR;
 * -ENOMEM. */
int ctf2_parse(const char *path, const char *text, size_t len, struct arena *arena,
               struct ctf_metadata *ret, struct error *error);

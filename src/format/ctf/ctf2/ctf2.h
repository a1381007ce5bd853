/* SPDX-License-Identifier: MIT */
#pragma once

/* Parses the metadata of CTF 2: a sequence of JSON texts (RFC 7464). Each is a fragment that declares one thing.
 * Specification: CTF2-SPEC-2.0, https://diamon.org/ctf/.
 *
 *   0x1e {"type": "preamble", "version": 2, "uuid": [16 numbers], "extensions": {…}}   first, and once
 *   0x1e {"type": "field-class-alias", "name": …, "field-class": …}   a class that is used by its name after it
 *   0x1e {"type": "trace-class", "environment": {…}, "packet-header-field-class": …}
 *   0x1e {"type": "clock-class", "id": …, "frequency": …, "origin": …, "offset-from-origin": {…}}
 *   0x1e {"type": "data-stream-class", "id": …, "default-clock-class-id": …, and three field classes}
 *   0x1e {"type": "event-record-class", "id": …, "data-stream-class-id": …, "name": …, and two field classes}
 *
 * Unknown properties of an object are ignored. A declared extension is refused, because it may change the format. */

#include "base/arena.h"
#include "base/error.h"
#include "format/ctf/type.h"

/* True if the N bytes at HEAD are the begin of CTF 2 metadata as text. */
bool ctf2_probe(const void *head, size_t n);

/* Parses LEN bytes of TEXT of the file PATH. PATH must outlive the result. -EBADMSG: not understood; ERROR has the
 * line; -ENOMEM. */
int ctf2_parse(const char *path, const char *text, size_t len, struct arena *arena,
               struct ctf_metadata *ret, struct error *error);

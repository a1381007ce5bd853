/* SPDX-License-Identifier: MIT */
#pragma once

/* The language of CTF 1.8's metadata (TSDL): lexer and parser. The names of types may be declared by
 * typealias and typedef or as named structs, variants and enums, in the scopes that braces make.
 *
 * What C has words for and TSDL has not, libstrata puts into comments, which other readers pass over:
 *
 *     event {
 *         id = N;
 *         name = "GROUP:NAME";  (comment: group "GROUP")
 *         (comment: format "…")
 *         fields := struct {
 *             integer { size = 32; align = 8; signed = true; } _NAME;  (comment: type "int")
 *         };
 *     };
 *
 * Such a text has the escapes of a string; a star and a slash do not stand beside each other in it. */

#include "base/arena.h"
#include "base/error.h"
#include "format/ctf/type.h"

/* Whether the N bytes at HEAD begin metadata of CTF 1.8 in text. */
bool ctf_tsdl_probe(const void *head, size_t n);

/* Parses LEN bytes of TEXT of the file PATH, which outlives the result. -EBADMSG: not understood, with
 * the line in ERROR; -ENOMEM. */
int ctf_tsdl_parse(const char *path, const char *text, size_t len, struct arena *arena,
                   struct ctf_metadata *ret, struct error *error);

/* SPDX-License-Identifier: MIT */
#pragma once

/* The language of CTF 1.8's metadata (TSDL): lexer and parser. The names of types may be declared by
 * typealias and typedef or as named structs, variants and enums, in the scopes that braces make.
 *
 * libstrata writes facts that TSDL cannot express into comments, which other readers ignore:
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
 * The text in such a comment is escaped like a string, and never has a star next to a slash. */

#include "base/arena.h"
#include "base/error.h"
#include "format/ctf/type.h"

/* True if the N bytes at HEAD are the begin of CTF 1.8 metadata as text. */
bool ctf_tsdl_probe(const void *head, size_t n);

/* Parses LEN bytes of TEXT of the file PATH. PATH must outlive the result. -EBADMSG: not understood; ERROR has the
 * line; -ENOMEM. */
int ctf_tsdl_parse(const char *path, const char *text, size_t len, struct arena *arena,
                   struct ctf_metadata *ret, struct error *error);

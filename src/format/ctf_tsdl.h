/* SPDX-License-Identifier: MIT */
#pragma once

/* The metadata of a native trace, as libstrata writes it: the part of CTF 1.8's language (TSDL) that
 * it uses. What is not of use here is passed over, whatever it is; what is must be as libstrata has it:
 *
 *     trace { byte_order = le; uuid = "…"; … };
 *     env { tracer_name = "strata"; procname = "…"; vpid = N; clock_ticks = N; clock_monotonic = N; … };
 *     clock { freq = N; … };
 *     event {
 *         id = N;
 *         name = "…";
 *         (comment: format "…")
 *         fields := struct {
 *             integer { size = N; signed = true; base = 16; … } _NAME;  (comment: type "int")
 *             string { … } _NAME;  (comment: type "char *")
 *         };
 *     };
 *
 * Strings have the escapes of C. */

#include "base/fault.h"
#include "event/catalogue.h"

#define CTF_ID_MAX 65535

struct ctf_metadata {
    bool big_endian;
    uint8_t uuid[16];
    bool strata;         /* tracer_name says so */
    const char *process; /* its name; NULL: not told */
    int64_t pid;         /* -1: not told */
    uint64_t hz;         /* ticks a second of the clock; never 0 */
    uint64_t ticks;      /* at these it was … */
    int64_t monotonic;   /* … that, ns of CLOCK_MONOTONIC */
    struct event_class *
        *classes; /* by id, 0 to n - 1; NULL: no such event. In the catalogue's arena */
    unsigned n_classes;
};

/* Whether the N bytes at HEAD begin metadata of CTF 1.8 in text. */
bool ctf_tsdl_probe(const void *head, size_t n);

/* Parses LEN bytes of TEXT. Classes of ORIGIN and all strings go into CATALOGUE. -EBADMSG with FAULT
 * filled: not understood, or not of libstrata; -ENOMEM. */
int ctf_tsdl_parse(const char *path, const char *text, size_t len, const struct origin *origin,
                   struct catalogue *catalogue, struct ctf_metadata *ret, struct fault *fault);

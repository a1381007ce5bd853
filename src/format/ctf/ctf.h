/* SPDX-License-Identifier: MIT */
#pragma once

/* Traces in the Common Trace Format: of CTF 1.8 what libstrata writes itself, and what other tracers write, as LTTng does;
 * CTF 2. The byte tables stand in ctf.c, the languages of the metadata in tsdl.h and ctf2.h. */

#include "base/input.h"
#include "event/catalogue.h"
#include "event/source.h"

/* Whether the directory at PATH is such a trace: it has a file `metadata`, or streams without one. */
bool ctf_probe_dir(const char *path);

/* What the streams of one trace have in common. In the catalogue's arena. */
struct ctf_trace;

/* Reads the metadata, LEN bytes of TEXT, of the trace at PATH; METADATA_PATH is for messages. Its
 * classes and its origin go into CATALOGUE. -EBADMSG, -ENOMEM with ERROR. */
int ctf_trace_new(const char *path, const char *metadata_path, const char *text, size_t len,
                  struct catalogue *catalogue, struct ctf_trace **ret, struct error *error);

/* Whether ORIGIN, a CTF trace, is what perf data convert wrote. */
bool ctf_is_of_perf(const struct origin *origin);

/* The time that events of ORIGIN, a CTF trace, have when their clock shows TICKS. */
int64_t ctf_time_of(const struct origin *origin, int64_t ticks);

/* Takes IN over, also when it fails. A source of the events of one stream. -ENOMEM. */
int ctf_stream_open(struct ctf_trace *trace, struct input *in, const struct reader_options *options,
                    struct source **ret_source, struct error *error);

/* SOURCE, a stream of ctf_stream_open(), goes on in the file PATH, of a later time, whose packets may be some of its own
 * again. -ENOMEM. */
int ctf_stream_continue(struct source *source, const char *path);

/* What the first packet of a stream says. */
struct ctf_identity {
    uint64_t stream;
    int32_t cpu;
    uint64_t begin; /* when it begins, or its number */
};
/* Reads ahead in SOURCE, a stream of ctf_stream_open() of which nothing was read. False: the packet does not say all of it. */
bool ctf_stream_identify(struct source *source, struct ctf_identity *ret);

/* Of SOURCE, of which nothing was read: if its first packet is not the first that its tracer made, as in a snapshot of a ring or where
 * the oldest files were written again, its CPU begins at a time of its own (origin->lost_begin), and ends at one
 * (origin->ends_apart). -ENOMEM. */
int ctf_stream_note_begin(struct source *source);
/* The same of the ends of the N SOURCES of TRACE, if LTTng traced a kernel: a session that is stopped ends the last packets of all CPUs. If one
 * ends long before, packets may be missing, and each CPU is known up to its last event. Reads the headers of all packets. 0, or a negative errno with ERROR. */
int ctf_trace_judge_ends(struct ctf_trace *trace, struct source **sources, unsigned n,
                         struct error *error);

/* Turns metadata that is in packets, LEN bytes of TEXT, into the text alone, in its place; leaves text
 * as it is. -EBADMSG with ERROR. */
int ctf_metadata_unpack(const char *path, char *text, size_t *len, struct error *error);

/* All of the N directories at PATHS, which are of one trace, in order of time: a source for each stream (malloc), which the
 * caller owns. Streams of equal names are one. The last directory has the metadata of all. */
int ctf_open_dirs(const char *const *paths, unsigned n, struct catalogue *catalogue,
                  const struct reader_options *options, struct source ***ret_sources,
                  unsigned *ret_n, struct error *error);

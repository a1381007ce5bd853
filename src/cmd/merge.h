/* SPDX-License-Identifier: MIT */
#pragma once

/* The inside of cmd/merge.c: captures taken apart become sources, each of a clock; clocks are related to one of
 * them; and a recorded directory is made of it all.
 *
 * Sources whose clocks are known to be one belong to one *domain*: those that their directories relate to the same
 * host, those that count the same time stamp counter, or a source alone. A domain has a time: of a host the
 * nanoseconds of its CLOCK_MONOTONIC, else the ticks of the clock. Domains are related to the one of the
 * reference, which makes the timeline. */

#include "analysis/common_events.h"
#include "cli/options.h"
#include "cmd/walk.h"
#include "timeline/clock_fit.h"
#include "timeline/clock_map.h"
#include "tracedir/manifest.h"

/* The name of a host's clock that makes timelines. */
#define MERGE_MONOTONIC "monotonic"

struct merge_options {
    struct open_options open;
    struct strings syncs, layers, tsc, same_host;
    const char *output;
    const char *reference;
    bool link;
};

/* Ticks of a source as ticks of its domain's counter: (ticks - offset) / ratio. */
struct merge_counter {
    int64_t offset;
    uint64_t times, by; /* the ratio */
};

struct merge_source {
    const char *path; /* as given */
    const struct manifest_source
        *recorded;         /* in the directory at `path`; NULL: a capture by itself */
    struct strings events; /* the files of --trace-events; not the source's to free */
    struct trace *trace;   /* of it alone */
    const char *name;      /* in the result */
    enum layer layer;
    const char *format; /* "simpletrace", … */
    struct clock clock;
    int64_t first, last; /* times of events, ticks; TIME_UNKNOWN: none has one */
    uint64_t n_events;
    unsigned domain;
    /* To the time of its domain: by pairs (n > 0), or as it counts. */
    struct clock_map own;
    bool own_file; /* that is what its directory has in a file */
    struct merge_counter counter;
    bool on_host_clock; /* that is it */
    int64_t error_ns;   /* … of it */
    const char *host;   /* equal ones are of one host; NULL: not known */
};

struct merge_domain {
    const char *boot_id; /* of a host; NULL: it is not known, or no host's */
    const char *host;    /* its name, or NULL */
    const char *clock;   /* the name of the time; "monotonic" of a host */
    bool is_host;
    uint64_t hz; /* of the time; 0: not known */
    bool related;
    bool scaled;           /* the reference: by `hz` alone */
    struct clock_map map;  /* of its time to the timeline; n 0: the same, or scaled */
    struct clock_fit sync; /* how the map came about */
    char *how;             /* the same in words (malloc) */
};

struct merge {
    const struct merge_options *options;
    struct arena arena;
    struct manifest *manifests; /* of the directories among the captures */
    unsigned n_manifests;
    struct merge_source *sources;
    unsigned n_sources;
    struct merge_domain *domains;
    unsigned n_domains;
    unsigned reference; /* source */
    struct merge_sync *syncs;
    unsigned n_syncs;
    char boot_id[64];   /* of the timeline */
    struct text checks; /* lines about events that were named although they relate nothing */
    bool lost;          /* events of some source */
    bool damaged;       /* one could not be read to its end */
};

/* One side of a --sync, and where it may be. */
struct merge_side {
    const struct common_side *side;
    const char *event;           /* behind the source's name or the layer's */
    bool *wanted;                /* by source: look there */
    struct common_events *marks; /* by source */
    unsigned source;             /* the one that it is, when all were looked through */
};

struct merge_sync {
    struct common_sync given;
    struct merge_side a, b;
    bool used;
};

/* What fails here is told. Each returns 0, or a negative errno; -EINVAL: the user could have known. */

/* The captures become sources, with names and layers. */
int merge_inputs(struct merge *merge, char **operands, int n);
/* Reads all of them: when their events are, and where those are that --sync names. */
int merge_scan(struct merge *merge);
/* Finds the domains, by what is known of the sources' hosts and counters, and the reference. */
int merge_find_domains(struct merge *merge);
/* The same, and relates all domains to that of the reference. */
int merge_relate(struct merge *merge);
/* Writes PATH, a file of pairs (timeline/clock_map.h) of SOURCE's clock and the timeline. */
int merge_write_pairs(const struct merge *merge, const struct merge_source *source,
                      const char *path, struct fault *fault);
/* Writes options->output. */
int merge_write(struct merge *merge);
/* Says what was found on standard output. */
int merge_tell(const struct merge *merge);
void merge_done(struct merge *merge);

/* Whether it is the time stamp counter, by its name. */
bool merge_is_tsc(const struct clock *clock);
int merge_find_source(const struct merge *merge, const char *name, size_t len);
/* TICKS of SOURCE in the time of its domain, and on the timeline. */
int64_t merge_domain_time(const struct merge_source *source, int64_t ticks, int64_t *ret_error_ns);
int64_t merge_time(const struct merge *merge, const struct merge_source *source, int64_t ticks,
                   int64_t *ret_error_ns);

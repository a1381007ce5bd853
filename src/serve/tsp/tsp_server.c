/* SPDX-License-Identifier: MIT */
/* TSP: the server, its traces, its experiment, and the experiment's outputs. */

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "serve/tsp/tsp.h"
#include "serve/tsp/tsp_uuid.h"
#include "trace/trace.h"

void tsp_health(struct exchange *x)
{
    struct json_writer *w = &x->answer.json;

    json_write_object(w);
    tsp_put(w, "status", "UP");
    json_write_finish(w);
}

void tsp_identifier(struct exchange *x)
{
    struct json_writer *w = &x->answer.json;
    struct utsname system;

    json_write_object(w);
    tsp_put(w, "productId", "strata");
    tsp_put(w, "version", STRATA_VERSION);
    tsp_put(w, "tspVersion", "0.6.0");
    tsp_put(w, "launcherName", "strata serve");
    if (uname(&system) == 0) {
        tsp_put(w, "os", system.sysname);
        tsp_put(w, "osArch", system.machine);
        tsp_put(w, "osVersion", system.release);
    } else {
        tsp_put(w, "os", "Linux");
    }
    json_write_finish(w);
}

/* Writes what traces and experiments share. */
static void put_common(struct exchange *x, const char *name, const char *uuid, uint64_t n_events)
{
    const struct index_summary *summary = index_summary(x->generation->index);
    struct json_writer *w = &x->answer.json;

    tsp_put(w, "UUID", uuid);
    tsp_put(w, "name", name);
    tsp_put_number(w, "start", summary->begin);
    tsp_put_number(w, "end", summary->end);
    json_write_key(w, "nbEvents");
    json_write_u64(w, n_events);
    tsp_put(w, "indexingStatus", tsp_tree_status(x));
}

/* The index of INPUT's path. */
static unsigned path_of(const struct server_options *options, const struct trace_input *input)
{
    unsigned i = 0;

    while (i + 1 < options->n_paths && strcmp(options->paths[i], input->path) != 0)
        i++;
    return i;
}

/* Counts the events of each path's trace, from the index by the trace's inputs. Returns an array for the caller, or
 * NULL after answering an error. */
static uint64_t *count_events(struct exchange *x)
{
    const struct server_options *options = &x->server->options;
    const struct index *index = x->generation->index;
    uint64_t *counts = calloc(options->n_paths, sizeof *counts);
    struct error error = {0};
    struct trace *trace;
    int r;

    if (counts && options->n_paths == 1) {
        counts[0] = index_summary(index)->n_events;
        return counts;
    }
    x->reads_trace = true;
    r = counts
            ? trace_open(options->paths, options->n_paths, options->trace_options, &trace, &error)
            : -ENOMEM;
    if (r < 0) {
        free(counts);
        answer_failure(&x->answer, r, &error);
        return NULL;
    }
    for (uint32_t i = 0; i < index_summary(index)->n_tracks; i++) {
        const struct index_track *track = index_track(index, i);

        if (track->kind == INDEX_EVENTS && track->parent != INDEX_NO_TRACK &&
            index_track(index, track->parent)->parent == INDEX_NO_TRACK && track->cpu < 0 &&
            track->pid < 0 && track->vcpu < 0 && track->source < trace->n_inputs)
            counts[path_of(options, &trace->inputs[track->source])] += track->n;
    }
    trace_free(trace);
    return counts;
}

static void put_trace(struct exchange *x, unsigned number, const uint64_t *counts)
{
    const char *path = x->server->options.paths[number];
    struct json_writer *w = &x->answer.json;
    char uuid[TSP_UUID_SIZE];

    tsp_uuid_trace(path, uuid);
    json_write_object(w);
    put_common(x, path, uuid, counts[number]);
    tsp_put(w, "path", path);
    json_write_key(w, "properties");
    json_write_object(w);
    tsp_put(w, "clock", x->generation->clock);
    json_write_end(w);
    json_write_end(w);
}

static void put_traces(struct exchange *x, const uint64_t *counts)
{
    json_write_array(&x->answer.json);
    for (unsigned i = 0; i < x->server->options.n_paths; i++)
        put_trace(x, i, counts);
    json_write_end(&x->answer.json);
}

static void put_experiment(struct exchange *x)
{
    _cleanup_free_ uint64_t *counts = count_events(x);
    struct json_writer *w = &x->answer.json;
    char uuid[TSP_UUID_SIZE];

    if (!counts)
        return;
    tsp_uuid_experiment(x->server, uuid);
    json_write_object(w);
    put_common(x, x->server->options.name, uuid, index_summary(x->generation->index)->n_events);
    json_write_key(w, "traces");
    put_traces(x, counts);
    json_write_end(w);
}

void tsp_traces(struct exchange *x)
{
    _cleanup_free_ uint64_t *counts = count_events(x);

    if (counts)
        put_traces(x, counts);
}

/* Answers with trace NUMBER, or, if it is -1, that there is none. */
static void answer_trace(struct exchange *x, int number, const char *otherwise)
{
    _cleanup_free_ uint64_t *counts = number >= 0 ? count_events(x) : NULL;

    if (number < 0)
        answer_error(&x->answer, HTTP_NOT_FOUND, "%s", otherwise);
    else if (counts)
        put_trace(x, (unsigned)number, counts);
}

/* True if PATH is SERVED, or in the directory SERVED. */
static bool is_of(const char *path, const char *served)
{
    size_t len = strlen(served);

    while (len > 1 && served[len - 1] == '/')
        len--;
    return strncmp(path, served, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* Compares a client's path with the served paths, as they were given and as absolute paths. It is never opened. Viewers
 * search a directory for traces, and so ask for the files in it. */
static int find_path(const struct exchange *x, const char *path)
{
    const struct server_options *options = &x->server->options;

    for (unsigned i = 0; i < options->n_paths; i++) {
        _cleanup_free_ char *absolute = realpath(options->paths[i], NULL);

        if (is_of(path, options->paths[i]) || (absolute && is_of(path, absolute)))
            return (int)i;
    }
    return -1;
}

void tsp_open_trace(struct exchange *x)
{
    static const char scheme[] = "file://";
    struct tsp_query query;
    const char *uri;

    if (tsp_query_read(x, 0, &query) < 0)
        return;
    uri = json_string_value(json_object_get(query.parameters, "uri"));
    if (!uri) {
        answer_error(&x->answer, HTTP_BAD_REQUEST, "uri is missing");
    } else {
        if (strncmp(uri, scheme, sizeof scheme - 1) == 0)
            uri += sizeof scheme - 1;
        answer_trace(x, find_path(x, uri),
                     "this server shows only the traces that it was started with");
    }
    tsp_query_done(&query);
}

/* -1 if there is no trace UUID. */
static int find_trace(const struct exchange *x, const char *uuid)
{
    char here[TSP_UUID_SIZE];

    for (unsigned i = 0; i < x->server->options.n_paths; i++) {
        tsp_uuid_trace(x->server->options.paths[i], here);
        if (strcmp(here, uuid) == 0)
            return (int)i;
    }
    return -1;
}

void tsp_trace(struct exchange *x)
{
    answer_trace(x, find_trace(x, x->request.parts[4]), "no such trace");
}

/* The experiment always has all traces. */
void tsp_delete_trace(struct exchange *x)
{
    int number = find_trace(x, x->request.parts[4]);
    _cleanup_free_ uint64_t *counts = number >= 0 ? count_events(x) : NULL;
    struct json_writer *w = &x->answer.json;

    if (!counts) {
        answer_trace(x, number, "no such trace");
        return;
    }
    json_write_object(w);
    tsp_put(w, "title",
            "the trace is part of the experiment, which is shown while the server runs");
    json_write_key(w, "trace");
    put_trace(x, (unsigned)number, counts);
    json_write_end(w);
    x->answer.status = HTTP_CONFLICT;
}

void tsp_experiments(struct exchange *x)
{
    json_write_array(&x->answer.json);
    put_experiment(x);
    if (!answer_is_full(&x->answer))
        json_write_finish(&x->answer.json);
}

/* 0 if TRACES has all served traces, in any order; otherwise answer_error(). */
static int check_traces(struct exchange *x, const json_t *traces)
{
    unsigned n_paths = x->server->options.n_paths;
    _cleanup_free_ bool *has = calloc(n_paths, sizeof *has);
    unsigned n = 0;

    if (!has)
        return answer_failure(&x->answer, -ENOMEM, NULL);
    for (size_t i = 0; i < json_array_size(traces); i++) {
        const char *uuid = json_string_value(json_array_get(traces, i));
        int number = uuid ? find_trace(x, uuid) : -1;

        if (number < 0)
            return answer_error(&x->answer, HTTP_NOT_FOUND, "no such trace");
        n += !has[number];
        has[number] = true;
    }
    for (unsigned i = 0; i < n_paths && n < n_paths; i++) {
        char uuid[TSP_UUID_SIZE];

        /* One that was given twice has one UUID. */
        tsp_uuid_trace(x->server->options.paths[i], uuid);
        n += !has[i] && find_trace(x, uuid) != (int)i;
    }
    if (n < n_paths)
        return answer_error(&x->answer, HTTP_NOT_FOUND,
                            "this server has one experiment, of all %u traces that it was started "
                            "with; start another for fewer",
                            n_paths);
    return 0;
}

void tsp_open_experiment(struct exchange *x)
{
    struct tsp_query query;
    const json_t *traces;

    if (tsp_query_read(x, 0, &query) < 0)
        return;
    traces = json_object_get(query.parameters, "traces");
    if (!json_is_array(traces) || json_array_size(traces) > TSP_ITEMS_MAX ||
        !json_is_string(json_object_get(query.parameters, "name")))
        answer_error(&x->answer, HTTP_BAD_REQUEST, "name and traces are required");
    else if (check_traces(x, traces) == 0)
        put_experiment(x);
    tsp_query_done(&query);
}

void tsp_experiment(struct exchange *x)
{
    if (tsp_check_experiment(x))
        put_experiment(x);
}

static const struct output {
    const char *id, *type, *name, *description;
} outputs[] = {
    {TSP_TIMELINE, "TIME_GRAPH", "Timeline",
     "What CPUs, vCPUs, threads and requests did, in all layers"},
    {TSP_EVENTS_OVER_TIME, "TREE_TIME_XY", "Events over time", "The number of events"},
    {TSP_COUNTERS, "TREE_TIME_XY", "Counters", "Values over time"},
    {TSP_TABLE, "TABLE", "Events", "All events in order of time"},
    {TSP_STATISTICS, "DATA_TREE", "Statistics", "The number and durations of what is on tracks"},
};

static void put_output(struct json_writer *w, const struct output *output)
{
    json_write_object(w);
    tsp_put(w, "id", output->id);
    tsp_put(w, "type", output->type);
    tsp_put(w, "name", output->name);
    tsp_put(w, "description", output->description);
    json_write_end(w);
}

void tsp_outputs(struct exchange *x)
{
    struct json_writer *w = &x->answer.json;

    if (!tsp_check_experiment(x))
        return;
    json_write_array(w);
    for (size_t i = 0; i < ARRAY_SIZE(outputs); i++)
        put_output(w, &outputs[i]);
    json_write_finish(w);
}

void tsp_output(struct exchange *x)
{
    if (!tsp_check_experiment(x))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
        if (strcmp(outputs[i].id, x->request.parts[6]) == 0) {
            put_output(&x->answer.json, &outputs[i]);
            return;
        }
    }
    answer_error(&x->answer, HTTP_NOT_FOUND, "no such output");
}

/* Nothing can be configured. */
void tsp_no_configurations(struct exchange *x)
{
    json_write_array(&x->answer.json);
    json_write_finish(&x->answer.json);
}

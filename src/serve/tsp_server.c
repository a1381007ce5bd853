/* SPDX-License-Identifier: MIT */
/* TSP: the server, its trace, its experiment, and the outputs of that. */

#include <string.h>
#include <sys/utsname.h>

#include "serve/tsp.h"
#include "serve/tsp_uuid.h"

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

/* What traces and experiments have in common. */
static void put_common(struct exchange *x, enum tsp_uuid_of of)
{
    const struct server_options *options = &x->server->options;
    const struct index_summary *summary = index_summary(x->generation->index);
    struct json_writer *w = &x->answer.json;
    char uuid[TSP_UUID_SIZE];

    tsp_uuid(x->server, of, uuid);
    tsp_put(w, "UUID", uuid);
    tsp_put(w, "name", options->name);
    tsp_put_number(w, "start", summary->begin);
    tsp_put_number(w, "end", summary->end);
    json_write_key(w, "nbEvents");
    json_write_u64(w, summary->n_events);
    tsp_put(w, "indexingStatus", tsp_tree_status(x));
}

static void put_trace(struct exchange *x)
{
    const struct server_options *options = &x->server->options;
    struct json_writer *w = &x->answer.json;

    json_write_object(w);
    put_common(x, TSP_UUID_TRACE);
    tsp_put(w, "path", options->paths[0]);
    json_write_key(w, "properties");
    json_write_object(w);
    tsp_put(w, "clock", x->generation->clock);
    json_write_end(w);
    json_write_end(w);
}

static void put_experiment(struct exchange *x)
{
    struct json_writer *w = &x->answer.json;

    json_write_object(w);
    put_common(x, TSP_UUID_EXPERIMENT);
    json_write_key(w, "traces");
    json_write_array(w);
    put_trace(x);
    json_write_end(w);
    json_write_end(w);
}

void tsp_traces(struct exchange *x)
{
    json_write_array(&x->answer.json);
    put_trace(x);
    json_write_finish(&x->answer.json);
}

/* A client's path is compared with those that are served, and never opened. */
void tsp_open_trace(struct exchange *x)
{
    static const char scheme[] = "file://";
    const struct server_options *options = &x->server->options;
    struct tsp_query query;
    const char *uri;
    bool found = false;

    if (tsp_query_read(x, 0, &query) < 0)
        return;
    uri = json_string_value(json_object_get(query.parameters, "uri"));
    if (!uri) {
        answer_error(&x->answer, HTTP_BAD_REQUEST, "uri is missing");
    } else {
        if (strncmp(uri, scheme, sizeof scheme - 1) == 0)
            uri += sizeof scheme - 1;
        for (unsigned i = 0; i < options->n_paths; i++)
            found |= strcmp(uri, options->paths[i]) == 0;
        if (found)
            put_trace(x);
        else
            answer_error(&x->answer, HTTP_NOT_FOUND,
                         "this server shows only the traces that it was started with");
    }
    tsp_query_done(&query);
}

void tsp_trace(struct exchange *x)
{
    char uuid[TSP_UUID_SIZE];

    tsp_uuid(x->server, TSP_UUID_TRACE, uuid);
    if (strcmp(x->request.parts[4], uuid) == 0)
        put_trace(x);
    else
        answer_error(&x->answer, HTTP_NOT_FOUND, "no such trace");
}

void tsp_experiments(struct exchange *x)
{
    json_write_array(&x->answer.json);
    put_experiment(x);
    json_write_finish(&x->answer.json);
}

void tsp_open_experiment(struct exchange *x)
{
    struct tsp_query query;
    char uuid[TSP_UUID_SIZE];
    const json_t *traces;

    if (tsp_query_read(x, 0, &query) < 0)
        return;
    tsp_uuid(x->server, TSP_UUID_TRACE, uuid);
    traces = json_object_get(query.parameters, "traces");
    if (!json_is_array(traces) || !json_is_string(json_object_get(query.parameters, "name"))) {
        answer_error(&x->answer, HTTP_BAD_REQUEST, "name and traces are required");
    } else {
        const char *first = json_string_value(json_array_get(traces, 0));

        if (json_array_size(traces) == 1 && first && strcmp(first, uuid) == 0)
            put_experiment(x);
        else
            answer_error(&x->answer, HTTP_NOT_FOUND,
                         "this server has one experiment, of the trace that it was started with");
    }
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

void tsp_marker_sets(struct exchange *x)
{
    if (!tsp_check_experiment(x))
        return;
    tsp_begin(x, "COMPLETED");
    json_write_array(&x->answer.json);
    json_write_end(&x->answer.json);
    tsp_end(x);
}

/* SPDX-License-Identifier: MIT */
#include "serve/routes.h"

#include <string.h>

#include "base/clock_ns.h"
#include "serve/tsp/tsp.h"

/* "{}" matches any part of a path. */
struct route {
    const char *pattern; /* after the secret */
    enum method method;
    void (*run)(struct exchange *x);
};

static void get_page(struct exchange *x)
{
    assets_get(x, "index.html");
}

static void get_asset(struct exchange *x)
{
    assets_get(x, x->request.parts[1]);
}

/* Redirects "/SECRET", because names in the page are relative to "/SECRET/". */
static void redirect(struct exchange *x)
{
    x->answer.status = HTTP_FOUND;
    x->answer.location = x->request.parts[0];
}

#define LOOK_PERIOD_NS NSEC_PER_SEC
/* How long the first request waits for the index of a recording that nobody has watched. */
#define CATCH_UP_NS (2 * NSEC_PER_SEC)
#define TSP "tsp/api/"
#define OUTPUTS TSP "experiments/{}/outputs"
#define BOOKMARKS TSP "experiments/{}/bookmarks"

static const struct route routes[] = {
    {"", METHOD_GET, get_page},
    {"page.js", METHOD_GET, get_asset},
    {"page.css", METHOD_GET, get_asset},
    {"icon.svg", METHOD_GET, get_asset},
    {"api/trace", METHOD_GET, api_trace},
    {"api/live", METHOD_GET, api_live},
    {"api/names", METHOD_GET, api_names},
    {"api/slices", METHOD_GET, api_slices},
    {"api/counts", METHOD_GET, api_counts},
    {"api/values", METHOD_GET, api_values},
    {"api/arrows", METHOD_GET, api_arrows},
    {"api/slice", METHOD_GET, api_slice},
    {"api/events", METHOD_GET, api_events},
    {"api/search", METHOD_GET, api_search},
    {"api/statistics", METHOD_GET, api_statistics},
    {"api/latency", METHOD_GET, api_latency},
    {TSP "health", METHOD_GET, tsp_health},
    {TSP "identifier", METHOD_GET, tsp_identifier},
    {TSP "config/types", METHOD_GET, tsp_no_configurations},
    {TSP "traces", METHOD_GET, tsp_traces},
    {TSP "traces", METHOD_POST, tsp_open_trace},
    {TSP "traces/{}", METHOD_GET, tsp_trace},
    {TSP "traces/{}", METHOD_DELETE, tsp_delete_trace},
    {TSP "experiments", METHOD_GET, tsp_experiments},
    {TSP "experiments", METHOD_POST, tsp_open_experiment},
    {TSP "experiments/{}", METHOD_GET, tsp_experiment},
    {BOOKMARKS, METHOD_GET, tsp_bookmarks},
    {BOOKMARKS, METHOD_POST, tsp_add_bookmark},
    {BOOKMARKS "/{}", METHOD_GET, tsp_bookmark},
    {BOOKMARKS "/{}", METHOD_PUT, tsp_change_bookmark},
    {BOOKMARKS "/{}", METHOD_DELETE, tsp_delete_bookmark},
    {OUTPUTS, METHOD_GET, tsp_outputs},
    {OUTPUTS "/markerSets", METHOD_GET, tsp_marker_sets},
    {OUTPUTS "/{}", METHOD_GET, tsp_output},
    {OUTPUTS "/{}/configTypes", METHOD_GET, tsp_no_configurations},
    {OUTPUTS "/{}/annotations", METHOD_GET, tsp_annotation_categories},
    {OUTPUTS "/{}/annotations", METHOD_POST, tsp_annotations},
    {OUTPUTS "/{}/style", METHOD_POST, tsp_styles},
    {OUTPUTS "/timeGraph/{}/tree", METHOD_POST, tsp_time_graph_tree},
    {OUTPUTS "/timeGraph/{}/states", METHOD_POST, tsp_time_graph_states},
    {OUTPUTS "/timeGraph/{}/arrows", METHOD_POST, tsp_time_graph_arrows},
    {OUTPUTS "/timeGraph/{}/tooltip", METHOD_POST, tsp_time_graph_tooltip},
    {OUTPUTS "/XY/{}/tree", METHOD_POST, tsp_xy_tree},
    {OUTPUTS "/XY/{}/xy", METHOD_POST, tsp_xy},
    {OUTPUTS "/XY/{}/tooltip", METHOD_GET, tsp_xy_tooltip},
    {OUTPUTS "/genericXY/{}/tree", METHOD_POST, tsp_no_generic_xy},
    {OUTPUTS "/genericXY/{}/xy", METHOD_POST, tsp_no_generic_xy},
    {OUTPUTS "/data/{}/tree", METHOD_POST, tsp_data_tree},
    {OUTPUTS "/table/{}/columns", METHOD_POST, tsp_table_columns},
    {OUTPUTS "/table/{}/lines", METHOD_POST, tsp_table_lines},
};

static bool matches(const struct route *route, const struct request *request)
{
    const char *p = route->pattern;

    for (unsigned i = 1; i < request->n_parts; i++) {
        size_t len = strcspn(p, "/");

        if (!(len == 2 && memcmp(p, "{}", 2) == 0) &&
            (strlen(request->parts[i]) != len || memcmp(request->parts[i], p, len) != 0))
            return false;
        p += len;
        if (*p != '/')
            return *p == '\0' && i + 1 == request->n_parts;
        p++;
    }
    return false;
}

/* True if the trace has changed since it was indexed. Unless NOW, checks at most once a second. */
static bool has_changed(struct server *server, bool now)
{
    const struct server_options *options = &server->options;
    uint64_t time = clock_ns(CLOCK_MONOTONIC), next = atomic_load(&server->next_look);

    if (options->has_changed && (now || time >= next) && !atomic_load(&server->has_changed) &&
        (atomic_compare_exchange_strong(&server->next_look, &next, time + LOOK_PERIOD_NS) || now) &&
        options->has_changed(options->arg))
        atomic_store(&server->has_changed, true);
    return atomic_load(&server->has_changed);
}

static void answer_changed(struct exchange *x)
{
    answer_error(&x->answer, HTTP_GONE,
                 "the trace was changed after it was indexed; start the server again");
}

/* Runs the route with the requested generation, or the newest one. */
static void run_route(struct exchange *x, const struct route *route)
{
    int64_t number = 0;

    if (exchange_number(x, "generation", 1, INT64_MAX, &number) < 0)
        return;
    audience_ask(&x->server->audience, clock_ns(CLOCK_MONOTONIC), CATCH_UP_NS);
    x->generation = generations_get(&x->server->generations, (uint64_t)number);
    if (x->generation && !index_is_whole(x->generation->index)) {
        answer_error(&x->answer, HTTP_FAILED,
                     "the file of the index was cut meanwhile; start the server again");
    } else if (x->generation && has_changed(x->server, false)) {
        answer_changed(x);
    } else if (x->generation) {
        route->run(x);
        (void)answer_is_full(&x->answer);
        /* What was read since then may be of another trace, or what is left of this one. */
        if (x->reads_trace && has_changed(x->server, true))
            answer_changed(x);
    } else {
        answer_error(&x->answer, HTTP_GONE,
                     "this generation of the index is gone; ask api/trace for the newest");
    }
    x->generation = generation_put(x->generation);
}

void routes_run(struct exchange *x)
{
    bool found = false;

    x->answer.tsp = x->request.n_parts > 1 && strcmp(x->request.parts[1], "tsp") == 0;
    if (x->request.n_parts == 1) {
        redirect(x);
        return;
    }
    /* Some clients end an address with a slash. */
    if (x->answer.tsp && !*x->request.parts[x->request.n_parts - 1])
        x->request.n_parts--;
    for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
        if (!matches(&routes[i], &x->request))
            continue;
        found = true;
        if (routes[i].method == x->method) {
            run_route(x, &routes[i]);
            return;
        }
    }
    if (found)
        answer_error(&x->answer, HTTP_METHOD, "this address does not accept this method");
    else
        answer_error(&x->answer, HTTP_NOT_FOUND, "there is nothing at this address");
}

/* SPDX-License-Identifier: MIT */
#include "serve/routes.h"

#include <string.h>

#include "serve/tsp.h"

/* "{}" stands for any part of a path. */
struct route {
    const char *pattern; /* after the secret */
    bool post;
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

/* "/SECRET": names of the page are relative to "/SECRET/". */
static void redirect(struct exchange *x)
{
    x->answer.status = HTTP_FOUND;
    x->answer.location = x->request.parts[0];
}

#define TSP "tsp/api/"
#define OUTPUTS TSP "experiments/{}/outputs"

static const struct route routes[] = {
    {"", false, get_page},
    {"page.js", false, get_asset},
    {"page.css", false, get_asset},
    {"icon.svg", false, get_asset},
    {"api/trace", false, api_trace},
    {"api/live", false, api_live},
    {"api/names", false, api_names},
    {"api/slices", false, api_slices},
    {"api/counts", false, api_counts},
    {"api/values", false, api_values},
    {"api/arrows", false, api_arrows},
    {"api/slice", false, api_slice},
    {"api/events", false, api_events},
    {"api/search", false, api_search},
    {"api/statistics", false, api_statistics},
    {"api/latency", false, api_latency},
    {TSP "health", false, tsp_health},
    {TSP "identifier", false, tsp_identifier},
    {TSP "config/types", false, tsp_no_configurations},
    {TSP "traces", false, tsp_traces},
    {TSP "traces", true, tsp_open_trace},
    {TSP "traces/{}", false, tsp_trace},
    {TSP "experiments", false, tsp_experiments},
    {TSP "experiments", true, tsp_open_experiment},
    {TSP "experiments/{}", false, tsp_experiment},
    {OUTPUTS, false, tsp_outputs},
    {OUTPUTS "/markerSets", false, tsp_marker_sets},
    {OUTPUTS "/{}", false, tsp_output},
    {OUTPUTS "/{}/configTypes", false, tsp_no_configurations},
    {OUTPUTS "/{}/annotations", false, tsp_annotation_categories},
    {OUTPUTS "/{}/annotations", true, tsp_annotations},
    {OUTPUTS "/{}/style", true, tsp_styles},
    {OUTPUTS "/timeGraph/{}/tree", true, tsp_time_graph_tree},
    {OUTPUTS "/timeGraph/{}/states", true, tsp_time_graph_states},
    {OUTPUTS "/timeGraph/{}/arrows", true, tsp_time_graph_arrows},
    {OUTPUTS "/timeGraph/{}/tooltip", true, tsp_time_graph_tooltip},
    {OUTPUTS "/XY/{}/tree", true, tsp_xy_tree},
    {OUTPUTS "/XY/{}/xy", true, tsp_xy},
    {OUTPUTS "/data/{}/tree", true, tsp_data_tree},
    {OUTPUTS "/table/{}/columns", true, tsp_table_columns},
    {OUTPUTS "/table/{}/lines", true, tsp_table_lines},
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

/* With the generation that is asked for, or the newest one. */
static void run_route(struct exchange *x, const struct route *route)
{
    int64_t number = 0;

    if (exchange_number(x, "generation", 1, INT64_MAX, &number) < 0)
        return;
    x->generation = generations_get(&x->server->generations, (uint64_t)number);
    if (x->generation) {
        route->run(x);
        (void)answer_is_full(&x->answer);
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
    for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
        if (!matches(&routes[i], &x->request))
            continue;
        found = true;
        if (routes[i].post == x->post) {
            run_route(x, &routes[i]);
            return;
        }
    }
    if (found)
        answer_error(&x->answer, HTTP_METHOD, "this address accepts only %s",
                     x->post ? "GET" : "POST");
    else
        answer_error(&x->answer, HTTP_NOT_FOUND, "there is nothing at this address");
}

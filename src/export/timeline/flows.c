/* SPDX-License-Identifier: MIT */
#include "export/timeline/flows.h"

#include <string.h>

#include "base/macro.h"

/* The one open request of another layer with these numbers that has no partner; NULL where there is none, or
 * where there are more, of either side. */
static struct flow *find_partner(struct flows *flows, const struct flow *mine)
{
    struct flow *found = NULL;

    for (unsigned i = 0; i < flows->n; i++) {
        struct flow *flow = &flows->flows[i];

        if (flow->id == 0 || flow == mine || flow->joined ||
            memcmp(flow->words, mine->words, sizeof mine->words) != 0)
            continue;
        if (flow->layer == mine->layer || found)
            return NULL;
        found = flow;
    }
    return found;
}

static void forget(struct flows *flows, int place)
{
    flows->flows[place].id = 0;
    while (flows->n > 0 && flows->flows[flows->n - 1].id == 0)
        flows->n--;
}

static void forget_those_before(struct flows *flows, int64_t time)
{
    for (unsigned i = flows->n; i-- > 0;)
        if (i < flows->n && flows->flows[i].id != 0 && flows->flows[i].until < time)
            forget(flows, (int)i);
}

static int find_place(struct flows *flows)
{
    for (unsigned i = 0; i < flows->n; i++)
        if (flows->flows[i].id == 0)
            return (int)i;
    return flows->n < FLOWS_MAX ? (int)flows->n++ : -1;
}

int flows_begin(struct flows *flows, enum layer layer, const uint64_t words[static FLOW_WORDS],
                int64_t earliest, uint64_t *ret_id, bool *ret_joins)
{
    struct flow *partner;
    struct flow *flow;
    int place;

    forget_those_before(flows, earliest);
    place = find_place(flows);
    if (place < 0)
        return -1;
    flow = &flows->flows[place];
    *flow = (struct flow){.layer = layer, .until = INT64_MAX};
    memcpy(flow->words, words, sizeof flow->words);
    partner = find_partner(flows, flow);
    flow->id = partner ? partner->id : ++flows->last_id;
    if (partner)
        flow->joined = partner->joined = true;
    *ret_id = flow->id;
    *ret_joins = partner;
    return place;
}

void flows_end(struct flows *flows, int place, int64_t latest)
{
    if (place < 0)
        return;
    flows->flows[place].until = latest;
    if (flows->flows[place].joined || latest == INT64_MIN)
        forget(flows, place);
}

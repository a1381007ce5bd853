/* SPDX-License-Identifier: MIT */
#include "export/flows.h"

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

static int find_place(struct flows *flows)
{
    for (unsigned i = 0; i < flows->n; i++)
        if (flows->flows[i].id == 0)
            return (int)i;
    return flows->n < FLOWS_MAX ? (int)flows->n++ : -1;
}

int flows_begin(struct flows *flows, enum layer layer, const uint64_t words[static FLOW_WORDS],
                uint64_t *ret_id, bool *ret_joins)
{
    int place = find_place(flows);
    struct flow *flow = place < 0 ? NULL : &flows->flows[place];
    struct flow *partner;

    if (!flow)
        return -1;
    *flow = (struct flow){.layer = layer};
    memcpy(flow->words, words, sizeof flow->words);
    partner = find_partner(flows, flow);
    flow->id = partner ? partner->id : ++flows->last_id;
    if (partner)
        flow->joined = partner->joined = true;
    *ret_id = flow->id;
    *ret_joins = partner;
    return place;
}

void flows_end(struct flows *flows, int place)
{
    if (place < 0)
        return;
    flows->flows[place].id = 0;
    while (flows->n > 0 && flows->flows[flows->n - 1].id == 0)
        flows->n--;
}

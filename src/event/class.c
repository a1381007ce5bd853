/* SPDX-License-Identifier: MIT */
#include "event/class.h"

#include <errno.h>
#include <string.h>

#include "base/glob.h"

const char *value_name_more(const struct value_names *names, uint64_t v)
{
    uint32_t low = 0;
    uint32_t high = names->n_more;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (names->more[middle].value < v)
            low = middle + 1;
        else
            high = middle;
    }
    return low < names->n_more && names->more[low].value == v ? names->more[low].name : NULL;
}

const char *layer_name(enum layer layer)
{
    switch (layer) {
    case LAYER_VMM: return "vmm";
    case LAYER_HYPERVISOR: return "hypervisor";
    case LAYER_GUEST: return "guest";
    case LAYER_HOST: return "host";
    case LAYER_PROGRAM: break;
    }
    return "program";
}

int layer_by_name(const char *name, enum layer *ret_layer)
{
    for (unsigned i = 0; i < LAYERS; i++) {
        if (strcmp(name, layer_name((enum layer)i)) == 0) {
            *ret_layer = (enum layer)i;
            return 0;
        }
    }
    return -EINVAL;
}

bool event_class_matches(const struct event_class *class, const char *pattern)
{
    const char *colon = strchr(pattern, ':');
    const char *layer = layer_name(class->origin->layer);
    char group[128];

    if (glob_match(pattern, class->name))
        return true;
    if (colon && (size_t)(colon - pattern) == strlen(layer) &&
        memcmp(pattern, layer, strlen(layer)) == 0 && event_class_matches(class, colon + 1))
        return true;
    if (!colon || !class->group || (size_t)(colon - pattern) >= sizeof group)
        return false;
    memcpy(group, pattern, (size_t)(colon - pattern));
    group[colon - pattern] = '\0';
    return glob_match(group, class->group) && glob_match(colon + 1, class->name);
}

bool event_class_is_named(const struct event_class *class, const char *names)
{
    size_t len;

    return glob_match_star(names, class->name, &len) != NULL;
}

int event_class_field(const struct event_class *class, const char *name)
{
    for (unsigned i = 0; name && i < class->n_fields; i++)
        if (strcmp(class->fields[i].name, name) == 0)
            return (int)i;
    return -1;
}

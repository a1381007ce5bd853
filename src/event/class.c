/* SPDX-License-Identifier: MIT */
#include "event/class.h"

#include <errno.h>
#include <string.h>

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

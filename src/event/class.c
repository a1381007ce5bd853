/* SPDX-License-Identifier: MIT */
#include "event/class.h"

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

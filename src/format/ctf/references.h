/* SPDX-License-Identifier: MIT */
#pragma once

/* What refers to what in the types of a stream: the tag of a variant, and the length of a sequence, are values that were
 * read before. Each such value has a slot, and its type and the one that refers to it have the slot's number. */

#include "base/arena.h"
#include "base/error.h"
#include "format/ctf/type.h"

#define CTF_SCOPES_MAX 24 /* deeper than structs can be in each other */

/* Where a reference is looked for: the structs that it is in, and how far each has been read. */
struct ctf_scopes {
    struct ctf_metadata *metadata;
    struct arena *arena; /* of what is resolved */
    bool exported;
    struct error *error;
    const struct ctf_type *types[CTF_SCOPES_MAX];
    uint32_t seen[CTF_SCOPES_MAX];
    uint8_t origins[CTF_SCOPES_MAX +
                    1]; /* enum ctf_location_origin; CTF_ORIGIN_NONE: it is in the one before it */
    unsigned n;
};

/* Resolves the references of TYPE (NULL: nothing), the header, context or payload ORIGIN, to what is in it and in those that were
 * entered before it. -EBADMSG with the error; -ENOMEM. */
int ctf_scopes_enter(struct ctf_scopes *scopes, enum ctf_location_origin origin,
                     const struct ctf_type *type);

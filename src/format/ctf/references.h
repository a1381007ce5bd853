/* SPDX-License-Identifier: MIT */
#pragma once

/* Resolves references between the types of a stream: the tag of a variant and the length of a sequence are values that
 * were read before. Each such value has a slot. Its type and the type that refers to it have the number of the slot. */

#include "base/arena.h"
#include "base/error.h"
#include "format/ctf/type.h"

#define CTF_SCOPES_MAX 24 /* more than the possible nesting of structs */

/* Where a reference is searched: the enclosing structs, and how far each has been read. */
struct ctf_scopes {
    struct ctf_metadata *metadata;
    struct arena *arena; /* for resolved references */
    bool exported;
    struct error *error;
    const struct ctf_type *types[CTF_SCOPES_MAX];
    uint32_t seen[CTF_SCOPES_MAX];
    /* enum ctf_location_origin; CTF_ORIGIN_NONE: inside the previous struct. */
    uint8_t origins[CTF_SCOPES_MAX + 1];
    unsigned n;
};

/* Resolves the references in TYPE (NULL: does nothing), which is the header, context or payload ORIGIN. They refer to
 * members of TYPE and of types that were entered before. -EBADMSG with the error; -ENOMEM. */
int ctf_scopes_enter(struct ctf_scopes *scopes, enum ctf_location_origin origin,
                     const struct ctf_type *type);

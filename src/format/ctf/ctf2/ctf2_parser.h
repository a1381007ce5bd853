/* SPDX-License-Identifier: MIT */
#pragma once

/* The inside of ctf2.c: the parser's state, the field classes (ctf2_class.c) and their properties
 * (ctf2_property.c). All functions return 0 or a negative errno,
 * with the error filled. */

#include <jansson.h>

#include "base/macro.h"
#include "base/map.h"
#include "format/ctf/ctf2/ctf2.h"

/* Of all field classes together: aliases are read anew where they are used, and the types are kept. */
#define TYPES_MAX (1U << 20)

/* What the field classes are read for: it decides what their roles mean. */
enum ctf2_scope {
    SCOPE_PACKET_HEADER,
    SCOPE_PACKET_CONTEXT,
    SCOPE_EVENT_HEADER,
    SCOPE_EVENT, /* contexts and the payload */
};

struct ctf2_parser {
    const char *path;
    uint32_t line; /* of the fragment */
    struct error *error;
    struct arena *arena;
    struct ctf_metadata *metadata;
    struct ctf_event_decl **last_event;
    struct map aliases; /* name -> json_t * */
    bool has_preamble;
    /* Of the field classes at hand. */
    enum ctf2_scope scope;
    const struct ctf_clock *clock;
    const char *member; /* the innermost one's name, for messages */
    unsigned n_types;
};

/* -EBADMSG, in the fragment. */
#define ctf2_wrong(p, ...) error_on_line((p)->error, -EBADMSG, (p)->path, (p)->line, __VA_ARGS__)

/* The JSON text from AT to END; NULL: WHY. */
json_t *ctf2_load(const char *at, const char *end, json_error_t *why);
/* Whether JSON is an integer; of one above 2^63 - 1, which is RET_LARGE, RET has the bits. */
bool ctf2_integer(const json_t *json, int64_t *ret, bool *ret_large);

/* The property KEY of OBJECT as a string, or as an integer of LEAST or more. What is missing leaves *RET as it is, unless it is
 * REQUIRED. */
int ctf2_get_string(struct ctf2_parser *p, const json_t *object, const char *key, bool required,
                    const char **ret);
int ctf2_get_integer(struct ctf2_parser *p, const json_t *object, const char *key, bool required,
                     int64_t least, int64_t *ret);

/* An alignment in bits; 1 if there is none. */
int ctf2_get_align(struct ctf2_parser *p, const json_t *class, const char *key, uint32_t *ret);
/* The number of bits, byte order, bit order and alignment. */
int ctf2_get_bits(struct ctf2_parser *p, const json_t *class, struct ctf_type *type);
/* "[[LOW, HIGH], …]": calls PUT for each. Those of a signed field have no number above 2^63 - 1; those of others are as
 * signed ones. */
int ctf2_for_ranges(struct ctf2_parser *p, const json_t *ranges, bool is_signed, void *arg,
                    int (*put)(struct ctf2_parser *p, void *arg, int64_t low, int64_t high));
/* The mappings of an integer, or the flags of a bit map: {LABEL: RANGES}. */
int ctf2_get_labels(struct ctf2_parser *p, const json_t *object, struct ctf_type *type);
int ctf2_get_role(struct ctf2_parser *p, const json_t *class, struct ctf_type *type);
/* Where a length or a selector is: {"origin": …, "path": […]}. */
int ctf2_get_location(struct ctf2_parser *p, const json_t *class, const char *key,
                      struct ctf_type *type);

/* The struct that is the property KEY of OBJECT; NULL: it has none. */
int ctf2_read_root(struct ctf2_parser *p, const json_t *object, const char *key,
                   enum ctf2_scope scope, struct ctf_type **ret);

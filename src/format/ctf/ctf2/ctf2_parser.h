/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by the files of the parser: its state, the field classes (ctf2_class.c) and their properties
 * (ctf2_property.c). All functions return 0, or a negative errno with the error set. */

#include <jansson.h>

#include "base/macro.h"
#include "base/map.h"
#include "format/ctf/ctf2/ctf2.h"

/* Limit of types of all field classes. An alias is parsed again at each use, and its types are kept. */
#define TYPES_MAX (1U << 20)

/* Where the field classes are used. This determines the meaning of their roles. */
enum ctf2_scope {
    SCOPE_PACKET_HEADER,
    SCOPE_PACKET_CONTEXT,
    SCOPE_EVENT_HEADER,
    SCOPE_EVENT, /* contexts and the payload */
};

struct ctf2_parser {
    const char *path;
    uint32_t line; /* line of the fragment */
    struct error *error;
    struct arena *arena;
    struct ctf_metadata *metadata;
    struct ctf_event_decl **last_event;
    struct map aliases; /* name -> json_t * */
    bool has_preamble;
    /* The field classes that are being parsed. */
    enum ctf2_scope scope;
    const struct ctf_clock *clock;
    const char *member; /* name of the innermost member, for messages */
    unsigned n_types;
};

/* Sets an error -EBADMSG in the fragment. */
#define ctf2_wrong(p, ...) error_on_line((p)->error, -EBADMSG, (p)->path, (p)->line, __VA_ARGS__)

/* Parses the JSON text from AT to END. NULL: an error, in WHY. */
json_t *ctf2_load(const char *at, const char *end, json_error_t *why);
/* True if JSON is an integer. If it is above 2^63 - 1, sets *RET_LARGE, and *RET has its bits. */
bool ctf2_integer(const json_t *json, int64_t *ret, bool *ret_large);

/* Read the property KEY of OBJECT as a string, or as an integer of at least LEAST. If the property is missing, *RET is
 * unchanged; with REQUIRED, this is an error. */
int ctf2_get_string(struct ctf2_parser *p, const json_t *object, const char *key, bool required,
                    const char **ret);
int ctf2_get_integer(struct ctf2_parser *p, const json_t *object, const char *key, bool required,
                     int64_t least, int64_t *ret);

/* Reads an alignment in bits; default: 1. */
int ctf2_get_align(struct ctf2_parser *p, const json_t *class, const char *key, uint32_t *ret);
/* Reads the number of bits, byte order, bit order and alignment. */
int ctf2_get_bits(struct ctf2_parser *p, const json_t *class, struct ctf_type *type);
/* Calls PUT for each range of "[[LOW, HIGH], …]". Ranges of a signed field have no number above 2^63 - 1. Numbers of
 * other fields are passed with the same bits as signed numbers. */
int ctf2_for_ranges(struct ctf2_parser *p, const json_t *ranges, bool is_signed, void *arg,
                    int (*put)(struct ctf2_parser *p, void *arg, int64_t low, int64_t high));
/* Reads the mappings of an integer, or the flags of a bit map: {LABEL: RANGES}. */
int ctf2_get_labels(struct ctf2_parser *p, const json_t *object, struct ctf_type *type);
int ctf2_get_role(struct ctf2_parser *p, const json_t *class, struct ctf_type *type);
/* Reads the location of a length or a selector: {"origin": …, "path": […]}. */
int ctf2_get_location(struct ctf2_parser *p, const json_t *class, const char *key,
                      struct ctf_type *type);

/* Reads the struct in the property KEY of OBJECT. *RET is NULL if there is none. */
int ctf2_read_root(struct ctf2_parser *p, const json_t *object, const char *key,
                   enum ctf2_scope scope, struct ctf_type **ret);

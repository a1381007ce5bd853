/* SPDX-License-Identifier: MIT */
/* Properties that several field classes of CTF 2 have. */
#include <inttypes.h>
#include <string.h>

#include "format/ctf/ctf2/ctf2_parser.h"
#include "format/ctf/type_limits.h"

int ctf2_get_align(struct ctf2_parser *p, const json_t *class, const char *key, uint32_t *ret)
{
    int64_t align = 1;
    int r = ctf2_get_integer(p, class, key, false, 1, &align);

    if (r < 0)
        return r;
    if (align > ALIGN_MAX || (align & (align - 1)))
        return ctf2_wrong(p, "'%s': invalid alignment of %" PRId64 " bits", p->member, align);
    *ret = (uint32_t)align;
    return 0;
}

/* The number of bits, byte order, bit order and alignment. */
int ctf2_get_bits(struct ctf2_parser *p, const json_t *class, struct ctf_type *type)
{
    const char *order = "", *bit_order = NULL;
    int64_t size = 0;
    int r = ctf2_get_integer(p, class, "length", true, 1, &size);

    if (r >= 0 && size > 64)
        return ctf2_wrong(p, "'%s': invalid size of %" PRId64 " bits (1 to 64 are supported)",
                          p->member, size);
    if (r >= 0)
        r = ctf2_get_string(p, class, "byte-order", true, &order);
    if (r >= 0)
        r = ctf2_get_string(p, class, "bit-order", false, &bit_order);
    if (r >= 0)
        r = ctf2_get_align(p, class, "alignment", &type->align);
    if (r < 0)
        return r;
    if (strcmp(order, "little-endian") != 0 && strcmp(order, "big-endian") != 0)
        return ctf2_wrong(p, "'%s': invalid byte order '%s'", p->member, order);
    type->order = order[0] == 'b' ? CTF_ORDER_BE : CTF_ORDER_LE;
    type->backwards =
        bit_order && strcmp(bit_order, order[0] == 'b' ? "first-to-last" : "last-to-first") == 0;
    type->size = (uint32_t)size;
    type->whole = size >= 8 && (size & (size - 1)) == 0 && !type->backwards;
    return 0;
}

int ctf2_for_ranges(struct ctf2_parser *p, const json_t *ranges, bool is_signed, void *arg,
                    int (*put)(struct ctf2_parser *p, void *arg, int64_t low, int64_t high))
{
    size_t n = json_array_size(ranges);
    int r = 0;

    if (n == 0)
        return ctf2_wrong(p, "'%s': not ranges of integers", p->member);
    for (size_t i = 0; i < n && r >= 0; i++) {
        const json_t *range = json_array_get(ranges, i);
        int64_t low, high;
        bool low_large, high_large;

        if (json_array_size(range) != 2 ||
            !ctf2_integer(json_array_get(range, 0), &low, &low_large) ||
            !ctf2_integer(json_array_get(range, 1), &high, &high_large))
            return ctf2_wrong(p, "'%s': not ranges of integers", p->member);
        if (is_signed && (low_large || high_large))
            return ctf2_wrong(p, "'%s': a range beyond the values of the field", p->member);
        if (low_large && (!high_large || low > high))
            return ctf2_wrong(p, "'%s': a range ends before it begins", p->member);
        if (!high_large && low > high)
            return ctf2_wrong(p, "'%s': the range [%" PRId64 ", %" PRId64 "] ends before it begins",
                              p->member, low, high);
        r = put(p, arg, low, high);
    }
    return r;
}

static size_t count_ranges(const json_t *object)
{
    const char *key;
    const json_t *value;
    size_t n = 0;

    json_object_foreach((json_t *)object, key, value) n += json_array_size(value);
    return n;
}

struct labels {
    struct ctf_range *ranges;
    uint32_t n;
    const char *label;
};

static int put_label(struct ctf2_parser *p, void *arg, int64_t low, int64_t high)
{
    struct labels *labels = arg;

    (void)p;
    labels->ranges[labels->n++] = (struct ctf_range){labels->label, low, high};
    return 0;
}

/* The mappings of an integer, or the flags of a bit map: {LABEL: RANGES}. */
int ctf2_get_labels(struct ctf2_parser *p, const json_t *object, struct ctf_type *type)
{
    struct labels labels = {0};
    const char *key;
    const json_t *value;
    int r = 0;

    labels.ranges = arena_alloc(p->arena, (count_ranges(object) + 1) * sizeof *labels.ranges);
    if (!labels.ranges)
        return -ENOMEM;
    json_object_foreach((json_t *)object, key, value)
    {
        labels.label = arena_strdup(p->arena, key);
        if (!labels.label)
            return -ENOMEM;
        r = ctf2_for_ranges(p, value, type->is_signed, &labels, put_label);
        if (r < 0)
            return r;
    }
    type->ranges = labels.ranges;
    type->n_ranges = labels.n;
    return 0;
}

/* The role that is meant by NAME where it may stand. */
static enum ctf_role role_of(enum ctf2_scope scope, const char *name)
{
    static const struct {
        const char *name;
        enum ctf2_scope scope;
        enum ctf_role role;
    } roles[] = {
        {"packet-magic-number", SCOPE_PACKET_HEADER, CTF_ROLE_MAGIC},
        {"metadata-stream-uuid", SCOPE_PACKET_HEADER, CTF_ROLE_UUID},
        {"data-stream-class-id", SCOPE_PACKET_HEADER, CTF_ROLE_STREAM_ID},
        {"default-clock-timestamp", SCOPE_PACKET_CONTEXT, CTF_ROLE_BEGIN},
        {"packet-end-default-clock-timestamp", SCOPE_PACKET_CONTEXT, CTF_ROLE_END},
        {"packet-content-length", SCOPE_PACKET_CONTEXT, CTF_ROLE_CONTENT_SIZE},
        {"packet-total-length", SCOPE_PACKET_CONTEXT, CTF_ROLE_PACKET_SIZE},
        {"packet-sequence-number", SCOPE_PACKET_CONTEXT, CTF_ROLE_SEQUENCE},
        {"discarded-event-record-counter-snapshot", SCOPE_PACKET_CONTEXT, CTF_ROLE_DISCARDED},
        {"event-record-class-id", SCOPE_EVENT_HEADER, CTF_ROLE_ID},
        {"default-clock-timestamp", SCOPE_EVENT_HEADER, CTF_ROLE_TIMESTAMP},
    };

    for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
        if (roles[i].scope == scope && strcmp(roles[i].name, name) == 0)
            return roles[i].role;
    return CTF_ROLE_NONE;
}

int ctf2_get_role(struct ctf2_parser *p, const json_t *class, struct ctf_type *type)
{
    const json_t *roles = json_object_get(class, "roles");

    for (size_t i = 0; i < json_array_size(roles); i++) {
        const char *name = json_string_value(json_array_get(roles, i));
        enum ctf_role role = name ? role_of(p->scope, name) : CTF_ROLE_NONE;

        if (role != CTF_ROLE_NONE && type->role != CTF_ROLE_NONE)
            return ctf2_wrong(p, "'%s': more than one role is not supported", p->member);
        type->role = role != CTF_ROLE_NONE ? (uint8_t)role : type->role;
    }
    if (type->role == CTF_ROLE_TIMESTAMP || type->role == CTF_ROLE_BEGIN)
        type->clock = p->clock;
    return 0;
}

/* Where a length or a selector is, "{"origin": …, "path": […]}". */
int ctf2_get_location(struct ctf2_parser *p, const json_t *class, const char *key,
                      struct ctf_type *type)
{
    static const char *const origins[] = {
        [CTF_ORIGIN_NONE] = "",
        [CTF_ORIGIN_PACKET_HEADER] = "packet-header",
        [CTF_ORIGIN_PACKET_CONTEXT] = "packet-context",
        [CTF_ORIGIN_EVENT_HEADER] = "event-record-header",
        [CTF_ORIGIN_EVENT_CONTEXT] = "event-record-common-context",
        [CTF_ORIGIN_CONTEXT] = "event-record-specific-context",
        [CTF_ORIGIN_FIELDS] = "event-record-payload",
    };
    const json_t *location = json_object_get(class, key);
    const json_t *path = json_object_get(location, "path");
    size_t n = json_array_size(path);
    struct ctf_location *made;
    const char *origin = "";
    int r;

    if (n == 0 || n > LOCATION_MAX)
        return ctf2_wrong(p, "'%s': '%s' has no path, or one of more than %d elements", p->member,
                          key, LOCATION_MAX);
    r = ctf2_get_string(p, location, "origin", false, &origin);
    made = arena_alloc(p->arena, sizeof *made);
    if (r < 0 || !made)
        return r < 0 ? r : -ENOMEM;
    made->names = arena_alloc(p->arena, n * sizeof *made->names);
    if (!made->names)
        return -ENOMEM;
    while (made->origin < ARRAY_SIZE(origins) && strcmp(origins[made->origin], origin) != 0)
        made->origin++;
    if (made->origin == ARRAY_SIZE(origins))
        return ctf2_wrong(p, "'%s': unknown origin '%s'", p->member, origin);
    for (size_t i = 0; i < n; i++) {
        const json_t *name = json_array_get(path, i);
        const char **step = &made->names[made->n];

        if (!json_is_string(name) && (!json_is_null(name) || i + 1 == n))
            return ctf2_wrong(p, "'%s': the path of '%s' is not names", p->member, key);
        /* A step out of what the name before it led into leads nowhere. */
        if (json_is_null(name) && made->n && step[-1]) {
            made->n--;
            continue;
        }
        *step = json_is_null(name) ? NULL : arena_strdup(p->arena, json_string_value(name));
        if (!*step && !json_is_null(name))
            return -ENOMEM;
        made->n++;
    }
    type->location = made;
    type->reference = made->names[made->n - 1];
    return 0;
}

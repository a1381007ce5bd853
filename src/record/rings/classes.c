/* SPDX-License-Identifier: MIT */
#include "record/rings/classes.h"

#include <string.h>

#include "runtime/ring/process_file.h"

#define FIELDS_MAX 255
#define RECORD_HEADER 8 /* bytes in front of the arguments */

/* The text at *AT, which must end before END; NULL if it does not. */
static const char *take_text(const uint8_t **at, const uint8_t *end)
{
    const char *text = (const char *)*at;
    const uint8_t *nul = *at < end ? memchr(*at, 0, (size_t)(end - *at)) : NULL;

    if (!nul)
        return NULL;
    *at = nul + 1;
    return text;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* What is written as it is into a trace's metadata. */
static bool is_word(const char *text)
{
    if (!is_letter(*text))
        return false;
    for (; *text; text++)
        if (!is_letter(*text) && !(*text >= '0' && *text <= '9'))
            return false;
    return true;
}

static bool is_text(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            return false;
    return true;
}

static bool is_size(uint8_t kind, uint8_t size)
{
    if (kind == STRATA_FIELD_STRING)
        return size == 0;
    return kind < STRATA_FIELD_STRING && (size == 1 || size == 2 || size == 4 || size == 8);
}

/* Checks a description and points CLASS and FIELDS into it. */
static int parse(const struct class_description *head, const uint8_t *at, const uint8_t *end,
                 struct trace_class *class, struct strata_field *fields)
{
    const char *name = take_text(&at, end);
    const char *format = NULL;

    if (!name || !*name || !is_text(name))
        return -EBADMSG;
    if (head->has_format) {
        format = take_text(&at, end);
        if (!format)
            return -EBADMSG;
    }
    for (unsigned i = 0; i < head->n_fields; i++) {
        struct strata_field *field = &fields[i];

        if (end - at < 2)
            return -EBADMSG;
        field->kind = *at++;
        field->size = *at++;
        field->name = take_text(&at, end);
        field->type = field->name ? take_text(&at, end) : NULL;
        if (!field->type || !is_size(field->kind, field->size) || !is_word(field->name))
            return -EBADMSG;
    }
    *class = (struct trace_class){
        .name = name,
        .format = format,
        .fields = fields,
        .id = head->id,
        .n_fields = (uint8_t)head->n_fields,
        .compiled_in = true,
    };
    return 0;
}

/* One piece of memory: the class, its fields, and the texts that they point to. */
static int add(struct classes *classes, const struct class_description *head, const uint8_t *bytes)
{
    size_t text_size = head->size - sizeof(*head);
    struct trace_class **in_order;
    struct trace_class *class;
    struct strata_field *fields;
    uint8_t *text;
    int r;

    if (!classes->by_id) {
        classes->by_id = calloc(CLASS_ID_MAX + 1, sizeof(*classes->by_id));
        if (!classes->by_id)
            return -ENOMEM;
    }
    if (classes->by_id[head->id])
        return -EBADMSG;
    if ((classes->n & (classes->n - 1)) == 0) {
        in_order = realloc(classes->in_order,
                           (classes->n ? 2 * classes->n : 1) * sizeof(struct trace_class *));
        if (!in_order)
            return -ENOMEM;
        classes->in_order = in_order;
    }
    class = malloc(sizeof(*class) + head->n_fields * sizeof(*fields) + text_size);
    if (!class)
        return -ENOMEM;
    fields = (struct strata_field *)(class + 1);
    text = (uint8_t *)(fields + head->n_fields);
    memcpy(text, bytes, text_size);
    r = parse(head, text, text + text_size, class, fields);
    if (r < 0) {
        free(class);
        return r;
    }
    classes->by_id[head->id] = class;
    classes->in_order[classes->n++] = class;
    return 0;
}

int classes_read(struct classes *classes, const uint8_t *bytes, uint64_t size, const char *path,
                 struct error *error)
{
    while (classes->used < size) {
        uint64_t left = size - classes->used;
        struct class_description head;
        int r = -EBADMSG;

        if (left >= sizeof(head)) {
            memcpy(&head, bytes + classes->used, sizeof(head));
            if (head.size >= sizeof(head) && head.size <= left && head.size % 8 == 0 &&
                head.id >= RING_CLASS_MIN && head.id <= RING_CLASS_MAX &&
                head.n_fields <= FIELDS_MAX)
                r = add(classes, &head, bytes + classes->used + sizeof(head));
        }
        if (r == -ENOMEM)
            return error_set(error, r, path, "out of memory");
        if (r < 0)
            return error_at(error, r, path, sizeof(struct process_file) + classes->used,
                            "the description of an event is damaged");
        classes->used += head.size;
    }
    return 0;
}

void classes_done(struct classes *classes)
{
    for (unsigned i = 0; i < classes->n; i++)
        free(classes->in_order[i]);
    free(classes->in_order);
    free(classes->by_id);
    *classes = (struct classes){0};
}

const struct trace_class *classes_find(const struct classes *classes, uint32_t id)
{
    return classes->by_id && id <= CLASS_ID_MAX ? classes->by_id[id] : NULL;
}

/* How many of LEFT bytes at P a record's arguments take; SIZE_MAX: more. */
static size_t arguments_size(const struct trace_class *class, const uint8_t *p, size_t left)
{
    size_t at = 0;

    for (unsigned i = 0; i < class->n_fields; i++) {
        const struct strata_field *field = &class->fields[i];
        size_t size = field->size;

        if (field->kind == STRATA_FIELD_STRING) {
            const uint8_t *nul = at < left ? memchr(p + at, 0, left - at) : NULL;

            if (!nul)
                return SIZE_MAX;
            size = (size_t)(nul - (p + at)) + 1;
        }
        if (size > left - at)
            return SIZE_MAX;
        at += size;
    }
    return at;
}

size_t classes_count(const struct classes *classes, const struct ring_packet *packet,
                     uint64_t *ret_records)
{
    size_t at = 0, end = 0;
    uint64_t n = 0;

    while (packet->content_size - at >= RECORD_HEADER && at < packet->content_size) {
        const struct trace_class *class;
        uint64_t word;
        size_t size;

        memcpy(&word, packet->content + at, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        class = classes_find(classes, (uint32_t)(word & 0xffff));
#else
        class = classes_find(classes, (uint32_t)(word >> 48));
#endif
        size = class ? arguments_size(class, packet->content + at + RECORD_HEADER,
                                      packet->content_size - at - RECORD_HEADER)
                     : SIZE_MAX;
        if (size == SIZE_MAX)
            break;
        end = at + RECORD_HEADER + size;
        n++;
        at = MIN((end + 7) & ~(size_t)7, packet->content_size);
    }
    *ret_records = n;
    return end;
}

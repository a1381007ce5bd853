/* SPDX-License-Identifier: MIT */
#include "base/bytes.h"
#include "event/program.h"
#include "view/class_table.h"
#include "view/json.h"
#include "view/time_column.h"
#include "view/view.h"

struct line_csv {
    struct view view;
    struct view_options options;
    struct time_column time;
    /* `GROUP,EVENT,,`, then for each field its key as it stands in a cell with quotes: `,""name"":`,
     * behind `,"{` the first. */
    struct class_table classes;
    struct text cell; /* in memory: what may need quotes */
};

static bool is_special(char c)
{
    return c == ',' || c == '"' || c == '\n' || c == '\r';
}

/* Not 0: one of the eight bytes of V is C. */
static inline uint64_t has_byte(uint64_t v, char c)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);

    v ^= ones * (uint8_t)c;
    return (v - ones) & ~v & (ones << 7);
}

/* Whether a cell must stand in quotes. */
static bool wants_quotes(const char *s, size_t len)
{
    for (; len >= 8; s += 8, len -= 8) {
        uint64_t v = load_u64(s);

        if (has_byte(v, ',') | has_byte(v, '"') | has_byte(v, '\n') | has_byte(v, '\r'))
            return true;
    }
    for (; len > 0; s++, len--)
        if (is_special(*s))
            return true;
    return false;
}

#define PIECE_MAX (TEXT_ROOM_MAX / 2)

/* What is within quotes: with quotes doubled. */
static void put_quoted(struct text *out, const char *s, size_t len)
{
    while (len > 0) {
        size_t n = MIN(len, (size_t)PIECE_MAX);
        char *p = text_room(out, 2 * n);

        for (size_t i = 0; i < n; i++) {
            *p++ = s[i];
            if (s[i] == '"')
                *p++ = '"';
        }
        out->next = p;
        s += n;
        len -= n;
    }
}

/* A cell: in quotes where it holds a comma, a quote or a line end. */
static void put_cell(struct text *out, const char *s, size_t len)
{
    if (likely(!wants_quotes(s, len))) {
        text_put(out, s, len);
        return;
    }
    text_put_char(out, '"');
    put_quoted(out, s, len);
    text_put_char(out, '"');
}

static void put_str(struct text *out, const char *s)
{
    if (s)
        put_cell(out, s, strlen(s));
}

static void make_class(const struct event_class *class, struct text *text)
{
    struct text piece = TEXT_IN_MEMORY;
    struct text key = TEXT_IN_MEMORY;

    put_str(&piece, class->group);
    text_put_char(&piece, ',');
    put_str(&piece, class->name);
    text_put_literal(&piece, ",,");
    json_piece_put(text, &piece);
    for (unsigned i = 0; i < class->n_fields; i++) {
        json_put_str(&key, class->fields[i].name);
        text_put_str(&piece, i ? "," : ",\"{");
        put_quoted(&piece, key.start, text_len(&key));
        text_put_char(&piece, ':');
        json_piece_put(text, &piece);
        key.next = key.start;
    }
    if (key.error)
        text->error = key.error;
    json_pieces_end(text);
    text_done(&key);
    text_done(&piece);
}

/* Puts what was written to the line's scratch cell, and empties that. */
static void put_scratch(struct line_csv *line)
{
    struct text *cell = &line->cell;

    put_cell(line->view.out, cell->start ? cell->start : "", text_len(cell));
    cell->next = cell->start;
}

/* What is short, and has room at once. */
#define COLUMNS_MAX (TIME_COLUMN_MAX + 3 * NUMBER_MAX + 16)

static void put_vcpu(struct line_csv *line, const struct item *item)
{
    if (item->origin->put_vcpu)
        item->origin->put_vcpu(item->origin, item->vcpu, &line->cell);
    else
        text_put_i64(&line->cell, item->vcpu);
    put_scratch(line);
}

/* TIME,ERROR,CPU,PID,COMM,VCPU,LAYER,SOURCE, */
static void put_common(struct line_csv *line, const struct item *item)
{
    struct text *out = line->view.out;
    const struct origin *origin = item->origin;
    const char *layer = layer_name(origin->layer);
    size_t layer_len = strlen(layer);
    char *p = text_room(out, COLUMNS_MAX);

    if (likely(item->time != TIME_UNKNOWN))
        p = time_column_put(&line->time, &origin->clock, p, item->time);
    *p++ = ',';
    if (line->options.errors) {
        p = number_dec(p, item->error_ns);
        *p++ = ',';
    }
    if (item->cpu != CPU_UNKNOWN)
        p = number_sdec(p, item->cpu);
    *p++ = ',';
    if (item->pid != PID_UNKNOWN)
        p = number_sdec(p, item->pid);
    *p++ = ',';
    if (item->pid != PID_UNKNOWN && origin->task_name) {
        out->next = p;
        put_str(out, origin->task_name(origin, item->pid));
        p = text_room(out, COLUMNS_MAX);
    }
    *p++ = ',';
    if (unlikely(item->vcpu != VCPU_UNKNOWN)) {
        out->next = p;
        put_vcpu(line, item);
        p = text_room(out, COLUMNS_MAX);
    }
    *p++ = ',';
    memcpy(p, layer, layer_len);
    p += layer_len;
    *p++ = ',';
    if (line->options.origin_number)
        p = number_dec(p, line->options.origin_number(line->options.origin_arg, origin));
    *p++ = ',';
    out->next = p;
}

static void put_field(struct line_csv *line, const struct field *field, const struct value *value)
{
    struct text *out = line->view.out;
    struct text *cell = &line->cell;

    if (field->type != FIELD_STRING && field->type != FIELD_BYTES) {
        json_put_value(out, field, value);
        return;
    }
    json_put_value(cell, field, value);
    put_quoted(out, cell->start, text_len(cell));
    cell->next = cell->start;
}

/* The fields, as json_put_fields() writes them, in a cell; and the end of the line. */
static void put_fields(struct line_csv *line, const struct item *item,
                       const struct class_piece *all)
{
    struct text *out = line->view.out;
    const struct event_class *class = item->class;
    const char *pieces = json_piece_next(all->text);
    /* Of all keys, and one number. */
    size_t room = all->len + TEXT_UNIT + NUMBER_MAX;
    struct value values[FIELDS_MAX];

    if (class->n_fields == 0) {
        text_put_literal(out, ",{}\r\n");
        return;
    }
    item_values(item, values);
    for (unsigned i = 0; i < class->n_fields; i++) {
        if (likely(room <= TEXT_ROOM_MAX && class->fields[i].type == FIELD_UINT &&
                   values[i].present)) {
            char *p = json_piece_copy_units(text_room(out, room), pieces);

            out->next = number_dec(p, values[i].u);
        } else {
            json_piece_copy(out, pieces);
            put_field(line, &class->fields[i], &values[i]);
        }
        pieces = json_piece_next(pieces);
    }
    text_put_literal(out, "}\"\r\n");
}

static int put_event(struct line_csv *line, const struct item *item)
{
    struct text *out = line->view.out;
    const struct class_piece *piece = class_table_get(&line->classes, item->class);

    if (unlikely(!piece))
        return -ENOMEM;
    put_common(line, item);
    json_piece_copy(out, piece->text);
    item_put_text(item, &line->cell);
    put_scratch(line);
    put_fields(line, item, piece);
    return line->cell.error;
}

static void put_loss(struct line_csv *line, const struct item *item)
{
    struct text *out = line->view.out;

    put_common(line, item);
    text_put_literal(out, ",,");
    if (item->lost == LOST_UNKNOWN)
        text_put_literal(out, "unknown");
    else
        text_put_u64(out, item->lost);
    text_put_literal(out, ",,\r\n");
}

static void line_csv_begin(struct view *view)
{
    const struct line_csv *line = container_of(view, struct line_csv, view);

    text_put_literal(view->out, "time,");
    text_put_str(view->out, line->options.errors ? "error_ns," : "");
    text_put_literal(view->out, "cpu,pid,comm,vcpu,layer,source,group,event,lost,text,fields\r\n");
}

static int line_csv_put(struct view *view, const struct item *items, unsigned n)
{
    struct line_csv *line = container_of(view, struct line_csv, view);

    for (unsigned i = 0; i < n; i++) {
        if (likely(items[i].kind == ITEM_EVENT)) {
            int r = put_event(line, &items[i]);
            if (r < 0)
                return r;
        } else {
            put_loss(line, &items[i]);
        }
    }
    return 0;
}

static void line_csv_free(struct view *view)
{
    struct line_csv *line = container_of(view, struct line_csv, view);

    class_table_done(&line->classes);
    text_done(&line->cell);
    free(line);
}

int line_csv_open(const struct view_options *options, struct text *out, struct view **ret_view)
{
    static const struct view_ops ops = {
        .begin = line_csv_begin, .put = line_csv_put, .free = line_csv_free};
    struct line_csv *line = calloc(1, sizeof *line);

    if (!line)
        return -ENOMEM;
    line->view = (struct view){.ops = &ops, .out = out};
    line->options = *options;
    line->classes.make = make_class;
    line->cell = TEXT_IN_MEMORY;
    *ret_view = &line->view;
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "base/number.h"
#include "base/printable.h"
#include "event/program.h"
#include "print/class_table.h"
#include "print/csv.h"
#include "print/json.h"
#include "print/name_cells.h"
#include "print/time_column.h"
#include "print/view.h"

/* The columns from CPU to SOURCE as last written, with the commas around them. */
struct who_cell {
    const struct origin *origin; /* NULL: empty */
    const char *name;            /* of the thread; a reader may learn a better one */
    int32_t cpu, pid, vcpu;
    uint32_t len;
    char text[128];
};

#define WHO_CELLS 256 /* a power of two */

struct line_csv {
    struct sink sink;
    struct text *out; /* borrowed; the caller checks its error */
    struct view_options options;
    struct time_column time;
    /* `GROUP,EVENT,,`, then for each field its key as in a quoted cell: `,""name"":`. The first key follows `,"{`. */
    struct class_table classes;
    struct text cell; /* in memory: a cell that may need quotes */
    struct text columns;
    struct who_cell who[WHO_CELLS];
    struct name_cells names;
};

/* Puts CELL as a cell, and empties it. */
static inline void put_scratch(struct text *out, struct text *cell, bool spreadsheet)
{
    if (unlikely(spreadsheet && csv_begins_formula(cell->start, text_len(cell)))) {
        text_put_char(cell, '\'');
        memmove(cell->start + 1, cell->start, text_len(cell) - 1);
        *cell->start = '\'';
    }
    text_room(cell, TEXT_UNIT);
    csv_put_cell(out, cell->start, text_len(cell));
    cell->next = cell->start;
}

static void put_str(struct text *out, struct text *cell, const char *s, bool spreadsheet)
{
    if (s) {
        text_put_safe_str(cell, s);
        put_scratch(out, cell, spreadsheet);
    }
}

static void make_columns(const struct event_class *class, struct text *text, bool spreadsheet)
{
    struct text piece = TEXT_IN_MEMORY;
    struct text key = TEXT_IN_MEMORY;

    put_str(&piece, &key, class->group, spreadsheet);
    text_put_char(&piece, ',');
    put_str(&piece, &key, class->name, spreadsheet);
    text_put_literal(&piece, ",,");
    json_piece_put(text, &piece);
    for (unsigned i = 0; i < class->n_fields; i++) {
        json_put_str(&key, class->fields[i].name);
        text_put_str(&piece, i ? "," : ",\"{");
        csv_put_quoted(&piece, key.start, text_len(&key));
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

static void make_class(const struct event_class *class, struct text *text)
{
    make_columns(class, text, false);
}

static void make_spreadsheet_class(const struct event_class *class, struct text *text)
{
    make_columns(class, text, true);
}

/* Puts ,CPU,PID,COMM,VCPU,LAYER,SOURCE, */
static void put_who(struct line_csv *line, const struct item *item, const char *name,
                    struct text *out)
{
    const struct origin *origin = item->origin;

    text_put_char(out, ',');
    if (item->cpu != CPU_UNKNOWN)
        text_put_i64(out, item->cpu);
    text_put_char(out, ',');
    if (item->pid != PID_UNKNOWN)
        text_put_i64(out, item->pid);
    text_put_char(out, ',');
    put_str(out, &line->cell, name, line->options.spreadsheet);
    text_put_char(out, ',');
    if (item->vcpu != VCPU_UNKNOWN && origin->put_vcpu) {
        origin->put_vcpu(origin, item->vcpu, &line->cell);
        put_scratch(out, &line->cell, line->options.spreadsheet);
    } else if (item->vcpu != VCPU_UNKNOWN) {
        text_put_i64(out, item->vcpu);
    }
    text_put_char(out, ',');
    text_put_str(out, layer_name(origin->layer));
    text_put_char(out, ',');
    if (line->options.origin_number)
        text_put_u64(out, line->options.origin_number(line->options.origin_arg, origin));
    text_put_char(out, ',');
}

/* Caches these columns in CELL, unless they are too long. */
static _cold_ const struct who_cell *make_who(struct line_csv *line, struct who_cell *cell,
                                              const struct item *item, const char *name)
{
    struct text *columns = &line->columns;

    cell->origin = NULL;
    columns->next = columns->start;
    put_who(line, item, name, columns);
    if (columns->error || text_len(columns) > sizeof cell->text)
        return NULL;
    cell->len = (uint32_t)text_len(columns);
    memcpy(cell->text, columns->start, cell->len);
    cell->name = name;
    cell->cpu = item->cpu;
    cell->pid = item->pid;
    cell->vcpu = item->vcpu;
    cell->origin = item->origin;
    return cell;
}

/* NULL if these columns cannot be cached. */
static inline const struct who_cell *get_who(struct line_csv *line, const struct item *item,
                                             const char *name)
{
    uint32_t hash = (uint32_t)item->pid + (uint32_t)item->cpu * 31 + (uint32_t)item->vcpu * 17;
    struct who_cell *cell = &line->who[hash % WHO_CELLS];

    if (likely(cell->origin == item->origin && cell->cpu == item->cpu && cell->pid == item->pid &&
               cell->vcpu == item->vcpu && cell->name == name))
        return cell;
    return make_who(line, cell, item, name);
}

#define COMMON_MAX (TIME_COLUMN_MAX + NUMBER_MAX + sizeof(struct who_cell) + 1)

/* Puts TIME,ERROR,CPU,PID,COMM,VCPU,LAYER,SOURCE, */
static void put_common(struct line_csv *line, const struct item *item)
{
    struct text *out = line->out;
    const struct origin *origin = item->origin;
    const char *name = item_task_name(item);
    const struct who_cell *who = get_who(line, item, name);
    char *p = text_room(out, COMMON_MAX);

    if (likely(item->time != TIME_UNKNOWN))
        p = time_column_put(&line->time, &origin->clock, p, item->time);
    if (line->options.errors) {
        *p++ = ',';
        if (item_error_is_known(item))
            p = number_dec(p, item->error_ns);
    }
    if (likely(who)) {
        out->next = text_copy_units(p, who->text, who->len);
    } else {
        out->next = p;
        put_who(line, item, name, out);
    }
}

static void put_field(struct line_csv *line, const struct field *field, const struct value *value)
{
    struct text *out = line->out;
    struct text *cell = &line->cell;

    if (field->type != FIELD_STRING && field->type != FIELD_BYTES && field->type != FIELD_FLOAT) {
        json_put_value(out, field, value);
        return;
    }
    json_put_value(cell, field, value);
    csv_put_quoted(out, cell->start, text_len(cell));
    cell->next = cell->start;
}

/* Puts the fields as json_put_fields() does, as a cell, and the comma after it. */
static void put_fields(struct line_csv *line, const struct item *item, const struct value *values,
                       const struct class_piece *all)
{
    struct text *out = line->out;
    const struct event_class *class = item->class;
    const char *pieces = json_piece_next(all->text);
    /* Of all keys, and numbers. */
    size_t room = all->len + TEXT_UNIT + class->n_fields * NUMBER_MAX;
    bool fits = room <= TEXT_ROOM_MAX;
    char *p;

    if (class->n_fields == 0) {
        text_put_literal(out, ",{},");
        return;
    }
    p = text_room(out, MIN(room, (size_t)TEXT_ROOM_MAX));
    for (unsigned i = 0; i < class->n_fields; i++) {
        char *end = NULL;

        if (likely(fits)) {
            p = json_piece_copy_units(p, pieces);
            end = json_put_integer(p, &class->fields[i], &values[i]);
        } else {
            json_piece_copy(out, pieces);
            p = out->next;
        }
        if (likely(end)) {
            p = end;
        } else {
            out->next = p;
            put_field(line, &class->fields[i], &values[i]);
            p = text_room(out, MIN(room, (size_t)TEXT_ROOM_MAX));
        }
        pieces = json_piece_next(pieces);
    }
    memcpy(p, "}\",", 3);
    out->next = p + 3;
}

static int put_event(struct line_csv *line, const struct item *item)
{
    struct text *out = line->out;
    const struct class_piece *piece = class_table_get(&line->classes, item->class);
    struct value values[FIELDS_MAX];

    if (unlikely(!piece))
        return -ENOMEM;
    put_common(line, item);
    json_piece_put_units(out, piece->text);
    item_values(item, values);
    item_put_text(item, &line->cell);
    put_scratch(out, &line->cell, line->options.spreadsheet);
    put_fields(line, item, values, piece);
    if (piece->named)
        name_cells_put(&line->names, out, item, values, piece);
    memcpy(text_room(out, 2), "\r\n", 2);
    out->next += 2;
    return line->cell.error;
}

static void put_loss(struct line_csv *line, const struct item *item)
{
    struct text *out = line->out;

    put_common(line, item);
    text_put_literal(out, ",,");
    if (item->lost == LOST_UNKNOWN)
        text_put_literal(out, "unknown");
    else
        text_put_u64(out, item->lost);
    text_put_literal(out, ",,,\r\n");
}

static void line_csv_begin(struct sink *sink)
{
    const struct line_csv *line = container_of(sink, struct line_csv, sink);

    text_put_literal(line->out, "time,");
    text_put_str(line->out, line->options.errors ? "error_ns," : "");
    text_put_literal(line->out,
                     "cpu,pid,comm,vcpu,layer,source,group,event,lost,text,fields,names\r\n");
}

static int line_csv_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct line_csv *line = container_of(sink, struct line_csv, sink);

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

static void line_csv_free(struct sink *sink)
{
    struct line_csv *line = container_of(sink, struct line_csv, sink);

    class_table_done(&line->classes);
    text_done(&line->cell);
    name_cells_done(&line->names);
    text_done(&line->columns);
    free(line);
}

int line_csv_open(const struct view_options *options, struct text *out, struct sink **ret_sink)
{
    static const struct sink_ops ops = {
        .begin = line_csv_begin, .put = line_csv_put, .free = line_csv_free};
    struct line_csv *line = calloc(1, sizeof *line);

    if (!line)
        return -ENOMEM;
    line->sink.ops = &ops;
    line->out = out;
    line->options = *options;
    line->classes.make = options->spreadsheet ? make_spreadsheet_class : make_class;
    line->cell = TEXT_IN_MEMORY;
    name_cells_init(&line->names, "\"{", "}\"", csv_put_quoted);
    line->columns = TEXT_IN_MEMORY;
    *ret_sink = &line->sink;
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "event/program.h"
#include "view/class_table.h"
#include "view/json.h"
#include "view/time_column.h"
#include "view/view.h"

struct line_csv {
    struct view view;
    struct view_options options;
    struct time_column time;
    struct class_table classes; /* `GROUP,EVENT,,` */
    struct text cell;           /* in memory: what may need quotes */
};

/* Whether a cell must stand in quotes. */
static bool is_special(char c)
{
    return c == ',' || c == '"' || c == '\n' || c == '\r';
}

#define PIECE_MAX (TEXT_ROOM_MAX / 2)

/* A cell: in quotes where it holds a comma, a quote or a line end, with quotes doubled. */
static void put_cell(struct text *out, const char *s, size_t len)
{
    size_t plain = 0;

    while (plain < len && !is_special(s[plain]))
        plain++;
    if (plain == len) {
        text_put(out, s, len);
        return;
    }
    text_put_char(out, '"');
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
    text_put_char(out, '"');
}

static void put_str(struct text *out, const char *s)
{
    if (s)
        put_cell(out, s, strlen(s));
}

static void make_class(const struct event_class *class, struct text *text)
{
    put_str(text, class->group);
    text_put_char(text, ',');
    put_str(text, class->name);
    text_put_literal(text, ",,");
}

/* Puts what was written to the line's scratch cell, and empties that. */
static void put_scratch(struct line_csv *line)
{
    struct text *cell = &line->cell;

    put_cell(line->view.out, cell->start ? cell->start : "", text_len(cell));
    cell->next = cell->start;
}

static void put_common(struct line_csv *line, const struct item *item)
{
    struct text *out = line->view.out;
    const struct origin *origin = item->origin;

    if (item->time != TIME_UNKNOWN)
        out->next = time_column_put(&line->time, &origin->clock, text_room(out, TIME_COLUMN_MAX),
                                    item->time);
    text_put_char(out, ',');
    if (line->options.errors) {
        text_put_u64(out, item->error_ns);
        text_put_char(out, ',');
    }
    if (item->cpu != CPU_UNKNOWN)
        text_put_i64(out, item->cpu);
    text_put_char(out, ',');
    if (item->pid != PID_UNKNOWN)
        text_put_i64(out, item->pid);
    text_put_char(out, ',');
    if (item->pid != PID_UNKNOWN && origin->task_name)
        put_str(out, origin->task_name(origin, item->pid));
    text_put_char(out, ',');
    if (item->vcpu != VCPU_UNKNOWN) {
        if (origin->put_vcpu)
            origin->put_vcpu(origin, item->vcpu, &line->cell);
        else
            text_put_i64(&line->cell, item->vcpu);
        put_scratch(line);
    }
    text_put_char(out, ',');
    text_put_str(out, layer_name(origin->layer));
    text_put_char(out, ',');
    if (line->options.origin_number)
        text_put_u64(out, line->options.origin_number(line->options.origin_arg, origin));
    text_put_char(out, ',');
}

static int put_event(struct line_csv *line, const struct item *item)
{
    struct text *out = line->view.out;
    const struct class_piece *piece = class_table_get(&line->classes, item->class);

    if (unlikely(!piece))
        return -ENOMEM;
    put_common(line, item);
    text_put(out, piece->text, piece->len);
    item_put_text(item, &line->cell);
    put_scratch(line);
    text_put_char(out, ',');
    json_put_fields(&line->cell, item);
    put_scratch(line);
    text_put_literal(out, "\r\n");
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

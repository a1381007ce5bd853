/* SPDX-License-Identifier: MIT */
#include "tables/event_row.h"

#include <errno.h>

#include "event/program.h"
#include "print/json.h"

void row_buffer_init(struct row_buffer *buffer)
{
    buffer->text = TEXT_IN_MEMORY;
}

void row_buffer_done(struct row_buffer *buffer)
{
    text_done(&buffer->text);
}

/* Makes a cell of the text in BUFFER from START on. The text may move while more is put, so cells have offsets until
 * finish_cells(). */
static struct value made_cell(const struct row_buffer *buffer, size_t start)
{
    return (struct value){
        .u = start, .len = (uint32_t)(text_len(&buffer->text) - start), .present = true};
}

static bool is_made(const struct event_row *row, unsigned column, const struct value *cell)
{
    const struct event_table *table = row->table;

    if (!cell->present)
        return false;
    if (column < EVENT_FIELDS)
        return column == EVENT_VCPU && cell->len > 0;
    column -= EVENT_FIELDS;
    if (column >= table->n_fields)
        return true;
    return row->item->class->fields[column].type == FIELD_BYTES &&
           row->item->class->fields[column].element > 0;
}

static struct value vcpu_cell(const struct item *item, struct row_buffer *buffer)
{
    size_t start = text_len(&buffer->text);

    if (item->vcpu == VCPU_UNKNOWN || !item->origin->put_vcpu)
        return cell_integer_if(item->vcpu, item->vcpu != VCPU_UNKNOWN);
    item->origin->put_vcpu(item->origin, item->vcpu, &buffer->text);
    return made_cell(buffer, start);
}

static inline struct value common_cell(const struct event_row *row, enum event_column column,
                                       struct row_buffer *buffer)
{
    const struct item *item = row->item;

    switch (column) {
    case EVENT_ID: return cell_integer(row->id);
    case EVENT_TIME:
        if (unlikely(item->time == TIME_UNKNOWN))
            return cell_null();
        return cell_integer(table_ns(item, item->time));
    case EVENT_ERROR:
        return cell_integer_if(item->error_ns, row->errors && item_error_is_known(item));
    case EVENT_SOURCE: return cell_integer(row->source);
    case EVENT_CPU: return cell_integer_if(item->cpu, item->cpu != CPU_UNKNOWN);
    case EVENT_PID: return cell_integer_if(item->pid, item->pid != PID_UNKNOWN);
    case EVENT_VCPU: return vcpu_cell(item, buffer);
    case EVENT_FIELDS: break;
    }
    return cell_null();
}

/* Makes the cell of FIELD with VALUE. An array of numbers is a JSON list. */
static inline struct value field_cell(const struct field *field, struct value value,
                                      struct row_buffer *buffer)
{
    size_t start = text_len(&buffer->text);

    if (!value.present)
        return cell_null();
    if (field->type == FIELD_STRING) {
        value.len = (uint32_t)strnlen(value.s, value.len);
    } else if (unlikely(field->type == FIELD_BYTES && field->element > 0)) {
        json_put_value(&buffer->text, field, &value);
        return made_cell(buffer, start);
    }
    return value;
}

static struct value name_cell(const struct item *item, unsigned field, const struct value *value,
                              struct row_buffer *buffer)
{
    size_t start = text_len(&buffer->text);

    if (!item_put_name(item, field, value, &buffer->text))
        return cell_null();
    return made_cell(buffer, start);
}

static void clear(struct row_buffer *buffer)
{
    buffer->text.next = buffer->text.start;
}

static inline void settle(const struct row_buffer *buffer, struct value *cell)
{
    cell->s = (buffer->text.start ? buffer->text.start : "") + cell->u;
}

int event_row_cell(const struct event_row *row, unsigned column, struct row_buffer *buffer,
                   struct value *ret_cell)
{
    const struct event_table *table = row->table;
    const struct item *item = row->item;
    struct value value;

    clear(buffer);
    if (column < EVENT_FIELDS) {
        *ret_cell = common_cell(row, (enum event_column)column, buffer);
    } else if (column < EVENT_FIELDS + table->n_fields) {
        column -= EVENT_FIELDS;
        *ret_cell = field_cell(&item->class->fields[column], item_value(item, column), buffer);
        column += EVENT_FIELDS;
    } else {
        unsigned field = table->named[column - EVENT_FIELDS - table->n_fields];

        value = item_value(item, field);
        *ret_cell = name_cell(item, field, &value, buffer);
    }
    if (unlikely(buffer->text.error)) {
        *ret_cell = cell_null();
        return -ENOMEM;
    }
    if (is_made(row, column, ret_cell))
        settle(buffer, ret_cell);
    return 0;
}

int event_row_cells(const struct event_row *row, struct row_buffer *buffer, struct value *cells)
{
    const struct event_table *table = row->table;
    const struct item *item = row->item;
    unsigned n = 0;

    clear(buffer);
    for (; n < EVENT_FIELDS; n++)
        cells[n] = common_cell(row, (enum event_column)n, buffer);
    item_values(item, buffer->values);
    for (unsigned i = 0; i < table->n_fields; i++)
        cells[n++] = field_cell(&item->class->fields[i], buffer->values[i], buffer);
    for (unsigned i = 0; n < table->table.n_columns; i++)
        cells[n++] = name_cell(item, table->named[i], &buffer->values[table->named[i]], buffer);
    if (likely(text_len(&buffer->text) == 0))
        return buffer->text.error ? -ENOMEM : 0;
    if (unlikely(buffer->text.error))
        return -ENOMEM;
    for (unsigned i = EVENT_VCPU; i < n; i++)
        if (is_made(row, i, &cells[i]))
            settle(buffer, &cells[i]);
    return 0;
}

/* Makes a cell of `event`, valid until something else is put to BUFFER. */
static struct value all_event(const struct event_row *row, unsigned column,
                              struct row_buffer *buffer)
{
    const struct item *item = row->item;
    struct value cell;

    switch (column) {
    case ALL_EVENT_ID: return common_cell(row, EVENT_ID, buffer);
    case ALL_EVENT_TIME: return common_cell(row, EVENT_TIME, buffer);
    case ALL_EVENT_ERROR: return common_cell(row, EVENT_ERROR, buffer);
    case ALL_EVENT_LAYER: return cell_text(layer_name(item->origin->layer));
    case ALL_EVENT_SOURCE: return common_cell(row, EVENT_SOURCE, buffer);
    case ALL_EVENT_CPU: return common_cell(row, EVENT_CPU, buffer);
    case ALL_EVENT_PID: return common_cell(row, EVENT_PID, buffer);
    case ALL_EVENT_COMM: return cell_text(item_task_name(item));
    case ALL_EVENT_VCPU:
        cell = vcpu_cell(item, buffer);
        if (cell.present && cell.len > 0)
            settle(buffer, &cell);
        return cell;
    case ALL_EVENT_GROUP: return cell_text(item->class->group);
    case ALL_EVENT_EVENT: return cell_text(item->class->name);
    default: return cell_null();
    }
}

int all_event_cell(const struct event_row *row, unsigned column, struct row_buffer *buffer,
                   struct value *ret_cell)
{
    clear(buffer);
    *ret_cell = all_event(row, column, buffer);
    return buffer->text.error ? -ENOMEM : 0;
}

int all_event_cells(const struct event_row *row, struct row_buffer *buffer, struct value *cells)
{
    clear(buffer);
    for (unsigned i = 0; i < ALL_EVENT_COLUMNS; i++)
        cells[i] = all_event(row, i, buffer);
    return buffer->text.error ? -ENOMEM : 0;
}

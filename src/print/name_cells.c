/* SPDX-License-Identifier: MIT */
#include "print/name_cells.h"

#include "event/program.h"
#include "print/json.h"

void name_cells_init(struct name_cells *cells, const char *begin, const char *end,
                     void (*put)(struct text *out, const char *s, size_t len))
{
    cells->begin_len = (uint32_t)strlen(begin);
    cells->end_len = (uint32_t)strlen(end);
    memcpy(cells->begin, begin, cells->begin_len);
    memcpy(cells->end, end, cells->end_len);
    cells->put = put;
    cells->name = TEXT_IN_MEMORY;
    cells->member = TEXT_IN_MEMORY;
    cells->made = TEXT_IN_MEMORY;
}

void name_cells_done(struct name_cells *cells)
{
    text_done(&cells->name);
    text_done(&cells->member);
    text_done(&cells->made);
}

/* Makes the member of this value in cells->made. False if the value has no name. */
static bool make_member(struct name_cells *cells, const struct item *item, unsigned field,
                        const struct value *value)
{
    struct text *name = &cells->name, *member = &cells->member, *made = &cells->made;

    name->next = name->start;
    member->next = member->start;
    made->next = made->start;
    if (!item_put_name(item, field, value, name))
        return false;
    json_put_str(member, item->class->fields[field].name);
    text_put_char(member, ':');
    json_put_string(member, name->start ? name->start : "", text_len(name));
    cells->put(made, member->start, text_len(member));
    return true;
}

static inline struct name_cell *cell_of(struct name_cells *cells, const struct field *field,
                                        uint64_t value)
{
    size_t hash = (size_t)value ^ (size_t)value >> 8 ^ (uintptr_t)field / sizeof *field * 31;

    return &cells->cells[hash % NAME_CELLS];
}

/* Puts the separator at P, where TEXT_UNIT bytes must be free. */
static inline char *put_separator(const struct name_cells *cells, char *p, bool first)
{
    *p = ',';
    return first ? text_copy_units(p, cells->begin, cells->begin_len) : p + 1;
}

/* Puts the name of one value, as name_cells_put(), and caches it in CELL (unless NULL) if it is not too long. True if
 * it has a name. */
static _cold_ bool put_new(struct name_cells *cells, struct name_cell *cell, struct text *out,
                           const struct item *item, unsigned field, const struct value *value,
                           bool first)
{
    const struct text *made = &cells->made;
    size_t len;

    if (!make_member(cells, item, field, value))
        return false;
    if (cells->name.error || cells->member.error || made->error) {
        out->error = -ENOMEM;
        return false;
    }
    len = text_len(made);
    out->next = put_separator(cells, text_room(out, TEXT_UNIT), first);
    text_put(out, made->start, len);
    if (cell && len <= sizeof cell->text) {
        cell->field = &item->class->fields[field];
        cell->value = value->u;
        cell->len = (uint32_t)len;
        memcpy(cell->text, made->start, len);
    }
    return true;
}

void name_cells_put(struct name_cells *cells, struct text *out, const struct item *item,
                    const struct value *values, const struct class_piece *piece)
{
    const struct event_class *class = item->class;
    bool first = true;

    for (unsigned i = piece->first_named; i < piece->end_named; i++) {
        const struct field *field = &class->fields[i];
        struct name_cell *cell = NULL;

        /* put_name() may look at more than the value. */
        if (!class->put_name) {
            if (!field->names || !values[i].present)
                continue;
            cell = cell_of(cells, field, values[i].u);
        }
        if (likely(cell && cell->field == field && cell->value == values[i].u)) {
            char *p = text_room(out, TEXT_UNIT + sizeof cell->text);

            p = put_separator(cells, p, first);
            out->next = text_copy_units(p, cell->text, cell->len);
            first = false;
        } else if (put_new(cells, cell, out, item, i, &values[i], first)) {
            first = false;
        }
    }
    if (!first)
        out->next = text_copy_units(text_room(out, TEXT_UNIT), cells->end, cells->end_len);
}

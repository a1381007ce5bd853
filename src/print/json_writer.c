/* SPDX-License-Identifier: MIT */
#include "print/json_writer.h"

#include <assert.h>

#include "print/json.h"

static void put_comma(struct json_writer *w)
{
    uint32_t bit = UINT32_C(1) << w->depth;

    if (w->depth == 0)
        return;
    if (w->filled & bit)
        text_put_char(w->out, ',');
    if (w->lines & bit)
        text_put_char(w->out, '\n');
    w->filled |= bit;
}

static void begin_value(struct json_writer *w)
{
    if (!w->after_key)
        put_comma(w);
    w->after_key = false;
}

void json_write_key(struct json_writer *w, const char *key)
{
    put_comma(w);
    json_put_str(w->out, key);
    text_put_char(w->out, ':');
    w->after_key = true;
}

static void open_value(struct json_writer *w, bool array, bool lines)
{
    uint32_t bit;

    begin_value(w);
    assert(w->depth < JSON_WRITER_DEPTH);
    bit = UINT32_C(1) << ++w->depth;
    w->filled &= ~bit;
    w->arrays = array ? w->arrays | bit : w->arrays & ~bit;
    w->lines = lines ? w->lines | bit : w->lines & ~bit;
    text_put_char(w->out, array ? '[' : '{');
}

void json_write_object(struct json_writer *w)
{
    open_value(w, false, false);
}

void json_write_array(struct json_writer *w)
{
    open_value(w, true, false);
}

void json_write_lines(struct json_writer *w)
{
    open_value(w, true, true);
}

void json_write_end(struct json_writer *w)
{
    assert(w->depth > 0);
    text_put_char(w->out, w->arrays >> w->depth & 1 ? ']' : '}');
    w->depth--;
}

void json_write_finish(struct json_writer *w)
{
    while (w->depth > 0)
        json_write_end(w);
    text_put_char(w->out, '\n');
}

void json_write_string(struct json_writer *w, const char *s, size_t len)
{
    begin_value(w);
    json_put_string(w->out, s, len);
}

void json_write_str(struct json_writer *w, const char *s)
{
    json_write_string(w, s, strlen(s));
}

void json_write_u64(struct json_writer *w, uint64_t v)
{
    begin_value(w);
    text_put_u64(w->out, v);
}

void json_write_i64(struct json_writer *w, int64_t v)
{
    begin_value(w);
    text_put_i64(w->out, v);
}

void json_write_real(struct json_writer *w, double v)
{
    begin_value(w);
    text_printf(w->out, "%.6g", v);
}

void json_write_bool(struct json_writer *w, bool v)
{
    begin_value(w);
    text_put_str(w->out, v ? "true" : "false");
}

void json_write_raw(struct json_writer *w, const char *s, size_t len)
{
    begin_value(w);
    text_put(w->out, s, len);
}

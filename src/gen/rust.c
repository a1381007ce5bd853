/* SPDX-License-Identifier: MIT */
#include "gen/rust.h"

#include <string.h>

/* What the words of a C type say together, in whatever order. */
struct words {
    unsigned longs;
    bool is_short;
    bool is_char;
    bool is_unsigned;
    bool is_const;
    const char *rust; /* of a word that is a type by itself, or NULL */
};

static const struct {
    const char *c;
    const char *rust;
} whole_words[] = {
    {"bool", "bool"},       {"int8_t", "i8"},    {"uint8_t", "u8"},    {"int16_t", "i16"},
    {"uint16_t", "u16"},    {"int32_t", "i32"},  {"uint32_t", "u32"},  {"int64_t", "i64"},
    {"uint64_t", "u64"},    {"size_t", "usize"}, {"ssize_t", "isize"}, {"ptrdiff_t", "isize"},
    {"uintptr_t", "usize"}, {"void", "()"},
};

static bool is(const char *word, const char *s, size_t len)
{
    return strncmp(word, s, len) == 0 && word[len] == '\0';
}

static void take_word(struct words *words, const char *s, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(whole_words); i++)
        if (is(whole_words[i].c, s, len))
            words->rust = whole_words[i].rust;
    words->longs += is("long", s, len);
    words->is_short = words->is_short || is("short", s, len);
    words->is_char = words->is_char || is("char", s, len);
    words->is_unsigned = words->is_unsigned || is("unsigned", s, len);
    words->is_const = words->is_const || is("const", s, len);
}

static const char *scalar(const struct words *words, bool is_signed)
{
    if (words->rust)
        return words->rust;
    if (words->is_char && words->is_unsigned)
        return "std::os::raw::c_uchar";
    if (words->is_char)
        return is_signed ? "std::os::raw::c_schar" : "std::os::raw::c_char";
    if (words->is_short)
        return words->is_unsigned ? "std::os::raw::c_ushort" : "std::os::raw::c_short";
    if (words->longs > 1)
        return words->is_unsigned ? "std::os::raw::c_ulonglong" : "std::os::raw::c_longlong";
    if (words->longs == 1)
        return words->is_unsigned ? "std::os::raw::c_ulong" : "std::os::raw::c_long";
    return words->is_unsigned ? "std::os::raw::c_uint" : "std::os::raw::c_int";
}

static void put_type(struct text *out, const char *type)
{
    struct words words = {0};
    bool is_signed = false;
    unsigned stars = 0;

    for (const char *p = type; *p;) {
        size_t len = strcspn(p, " *");

        take_word(&words, p, len);
        is_signed = is_signed || is("signed", p, len);
        p += len;
        for (; *p == ' ' || *p == '*'; p++)
            stars += *p == '*';
    }
    if (stars > 0)
        text_put_str(out, words.is_const ? "*const " : "*mut ");
    /* The type that a pointer to a pointer leads to does not matter. */
    text_put_str(out, stars > 1 ? "()" : scalar(&words, is_signed));
}

static bool is_text(const struct gen_argument *argument)
{
    return strcmp(argument->type, "const char *") == 0;
}

static void put_name(struct text *out, const struct gen_argument *argument)
{
    text_put_char(out, '_');
    text_put_str(out, argument->field);
}

static void param(struct text *out, const struct gen_argument *argument)
{
    put_name(out, argument);
    text_put_literal(out, ": ");
    if (is_text(argument))
        text_put_literal(out, "&std::ffi::CStr");
    else
        put_type(out, argument->type);
}

static void extern_param(struct text *out, const struct gen_argument *argument)
{
    put_name(out, argument);
    text_put_literal(out, ": ");
    put_type(out, argument->type);
}

static void value(struct text *out, const struct gen_argument *argument)
{
    put_name(out, argument);
    if (is_text(argument))
        text_put_literal(out, ".as_ptr()");
}

static void each(struct gen_state *state, const char *separator,
                 void (*put)(struct text *out, const struct gen_argument *argument))
{
    const struct gen_event *event = state->event;

    for (unsigned i = 0; i < event->n_arguments; i++) {
        if (i > 0)
            text_put_str(state->out, separator);
        put(state->out, &event->arguments[i]);
    }
}

void gen_put_rust_params(struct gen_state *state)
{
    each(state, ", ", param);
}

void gen_put_rust_extern_params(struct gen_state *state)
{
    each(state, ", ", extern_param);
}

void gen_put_rust_values(struct gen_state *state)
{
    each(state, ", ", value);
}

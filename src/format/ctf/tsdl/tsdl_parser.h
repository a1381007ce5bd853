/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by the files of the parser: its state, its tokens (tsdl_token.c) and its types (tsdl_type.c). All functions
 * return 0, or a negative errno with the error set. */

#include <stdbool.h>

#include "base/macro.h"
#include "format/ctf/tsdl/tsdl.h"
#include "format/ctf/type_limits.h"

#define TEXT_MAX 4096 /* limit of a name, a type, a format */

enum token {
    TOKEN_END,
    TOKEN_WORD,   /* name or number */
    TOKEN_STRING, /* quoted; `text` is without quotes and escapes */
    TOKEN_MARK,   /* one character; or := or ... */
};

#define MARK_IS 'I'    /* := */
#define MARK_UP_TO 'U' /* ... */

/* The name space of a name. Tags have name spaces of their own, as in C. */
enum space {
    SPACE_ALIAS,
    SPACE_STRUCT,
    SPACE_VARIANT,
    SPACE_ENUM,
};

struct name {
    enum space space;
    const char *text;
    struct ctf_type *type;
};

/* A number of the environment that is used as the length of arrays [env.KEY]. */
struct environment_number {
    struct environment_number *next;
    const char *key;
    int64_t number;
};

struct parser {
    const char *path;
    const char *at;
    const char *end;
    uint32_t line;        /* line of the token */
    uint32_t lines_after; /* line ends after the token that are already read */
    struct error *error;
    struct arena *arena;
    struct ctf_metadata *metadata;
    struct ctf_event_decl **last_event;
    struct environment_number *numbers;
    struct name *names; /* names of inner scopes come last */
    size_t n_names;
    size_t names_room;
    unsigned depth;
    /* The last comments of Strata that the parser has not used yet; NULL: none. */
    const char *group;
    const char *format;
    const char *c_type;
    /* The current token. */
    enum token token;
    char mark;
    size_t len;
    char text[TEXT_MAX + 1];
};

/* Sets an error -EBADMSG at the line of the token. */
#define tsdl_wrong(p, ...) error_on_line((p)->error, -EBADMSG, (p)->path, (p)->line, __VA_ARGS__)

/* Reads the next token. */
int tsdl_next(struct parser *p);
/* Copies the token's text. */
int tsdl_keep(struct parser *p, const char **ret);
bool tsdl_at_mark(const struct parser *p, char mark);
bool tsdl_at_word(const struct parser *p, const char *word);
/* Goes to the token after MARK, which must be the current one. */
int tsdl_expect(struct parser *p, char mark);
int tsdl_open_brace(struct parser *p);
int tsdl_close_brace(struct parser *p);
/* Skips the rest of a statement up to its ';', including all braces. */
int tsdl_pass_over(struct parser *p);
/* The value of a digit of up to base 16. */
unsigned tsdl_digit(char c);
bool tsdl_is_number(const struct parser *p);
/* Converts the token to a number. A count above the largest signed number becomes negative. */
int tsdl_to_number(struct parser *p, int64_t *ret);

int tsdl_to_order(struct parser *p, enum ctf_order *ret);
int tsdl_to_align(struct parser *p, uint32_t *ret);
/* Adds a copy of LIKE to the metadata. */
int tsdl_new_type(struct parser *p, const struct ctf_type *like, struct ctf_type **ret);
/* Reads an integer, floating_point or string after that word. */
int tsdl_read_basic(struct parser *p, enum ctf_kind kind, struct ctf_type **ret);
/* Reads a type and, unless RET_NAME is NULL, the name that follows it; *RET_NAME is NULL if there is none. */
int tsdl_read_type(struct parser *p, struct ctf_type **ret, const char **ret_name);
/* Reads a type that begins with a keyword. *RET stays NULL if it does not. */
int tsdl_read_keyword(struct parser *p, struct ctf_type **ret);
/* Reads a statement that only names a type. *RET_WAS: true if it was such a statement. */
int tsdl_read_type_statement(struct parser *p, bool *ret_was);

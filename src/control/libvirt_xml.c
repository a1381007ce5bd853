/* SPDX-License-Identifier: MIT */
#include "control/libvirt_xml.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"

#define SPACE " \t\r\n"

/* A tag: <NAME ATTRIBUTES>, or </NAME>. */
struct tag {
    const char *name, *attributes, *end; /* of the tag */
    size_t name_len;
    bool is_end;
};

/* The next tag at *P, which moves after it. False: there is none. */
static bool next_tag(const char **p, struct tag *ret)
{
    struct tag tag = {0};
    const char *at = *p;

    while ((at = strchr(at, '<')) && strncmp(at, "<!--", 4) == 0) {
        at = strstr(at + 4, "-->");
        if (!at)
            return false;
    }
    if (!at)
        return false;
    at++;
    tag.is_end = *at == '/';
    at += tag.is_end;
    tag.name = at;
    tag.name_len = strcspn(at, SPACE "/>");
    tag.attributes = at += tag.name_len;
    /* A '>' may stand in a value. */
    for (char quote = 0; *at && (quote || *at != '>'); at++)
        if (quote ? *at == quote : *at == '"' || *at == '\'')
            quote = quote ? 0 : *at;
    if (!*at)
        return false;
    tag.end = at;
    *p = at + 1;
    *ret = tag;
    return true;
}

static bool is_tag(const struct tag *tag, const char *name)
{
    return strlen(name) == tag->name_len && strncmp(tag->name, name, tag->name_len) == 0;
}

static const struct {
    const char *entity;
    char c;
} entities[] = {
    {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''},
};

/* Writes the text between FROM and END to TO, which has room for it, with entities replaced. */
static void unescape(const char *from, const char *end, char *to)
{
    while (from < end) {
        size_t i = 0;

        while (i < ARRAY_SIZE(entities) &&
               strncmp(from, entities[i].entity, strlen(entities[i].entity)) != 0)
            i++;
        *to++ = i < ARRAY_SIZE(entities) ? entities[i].c : *from;
        from += i < ARRAY_SIZE(entities) ? strlen(entities[i].entity) : 1;
    }
    *to = '\0';
}

/* The value of an attribute, allocated. 1: *RET is it; 0: the tag does not have it; -ENOMEM. */
static int read_attribute(const struct tag *tag, const char *name, char **ret)
{
    const char *at = tag->attributes;

    while (at < tag->end) {
        const char *key = at + strspn(at, SPACE), *value;
        size_t key_len = strcspn(key, "=" SPACE "/>");
        char quote;

        at = key + key_len;
        if (*at != '=' || (at[1] != '"' && at[1] != '\''))
            return 0;
        quote = at[1];
        value = at + 2;
        at = strchr(value, quote);
        if (!at || at > tag->end)
            return 0;
        if (key_len == strlen(name) && strncmp(key, name, key_len) == 0) {
            char *text = malloc((size_t)(at - value) + 1);

            if (!text)
                return -ENOMEM;
            unescape(value, at, text);
            *ret = text;
            return 1;
        }
        at++;
    }
    return 0;
}

/* The values of a channel. A channel has each tag once. */
static int read_channel_tag(const struct tag *tag, char **path, char **name, char **id)
{
    char **to = is_tag(tag, "source")   ? path
                : is_tag(tag, "target") ? name
                : is_tag(tag, "alias")  ? id
                                        : NULL;

    if (!to || *to)
        return 0;
    return read_attribute(tag, to == path ? "path" : "name", to);
}

int libvirt_xml_port(const char *xml, const char *name, char **ret_path, char **ret_id)
{
    char *path = NULL, *target = NULL, *id = NULL;
    bool in_channel = false;
    struct tag tag;
    int r = 0;

    while (r == 0 && next_tag(&xml, &tag)) {
        if (is_tag(&tag, "channel")) {
            if (tag.is_end && path && target && strcmp(target, name) == 0) {
                *ret_path = TAKE_PTR(path);
                *ret_id = TAKE_PTR(id);
                r = 1;
            }
            in_channel = !tag.is_end && tag.end[-1] != '/';
            free(path);
            free(target);
            free(id);
            path = target = id = NULL;
        } else if (in_channel) {
            r = MIN(read_channel_tag(&tag, &path, &target, &id), 0);
        }
    }
    free(path);
    free(id);
    free(target);
    return r;
}

static void put_attribute(struct text *text, const char *name, const char *value)
{
    text_printf(text, " %s='", name);
    for (; *value; value++) {
        size_t i = 0;

        while (i < ARRAY_SIZE(entities) && entities[i].c != *value)
            i++;
        if (i < ARRAY_SIZE(entities))
            text_put_str(text, entities[i].entity);
        else
            text_put_char(text, *value);
    }
    text_put_char(text, '\'');
}

char *libvirt_xml_channel(const char *path, const char *name)
{
    struct text text = TEXT_IN_MEMORY;

    text_put_literal(&text, "<channel type='unix'><source mode='bind'");
    if (path)
        put_attribute(&text, "path", path);
    text_put_literal(&text, "/><target type='virtio'");
    put_attribute(&text, "name", name);
    text_put(&text, "/></channel>", sizeof "/></channel>");
    if (!text.error)
        return text.start;
    text_done(&text);
    return NULL;
}

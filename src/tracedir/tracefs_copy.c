/* SPDX-License-Identifier: MIT */
#include "tracedir/tracefs_copy.h"

#include <string.h>

#include "base/macro.h"

#define NAME_PART_MAX 128

/* True if P is the name of a system or an event, as the kernel restricts them. */
static bool is_plain(const char *p, size_t len)
{
    if (len == 0 || len > NAME_PART_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || (c == '-' && i > 0)))
            return false;
    }
    return true;
}

bool tracefs_copy_has(const char *path, size_t len)
{
    static const char *const files[] = {
        "events/header_page", "events/header_event", "trace_clock",
        "saved_cmdlines",     "saved_tgids",         "printk_formats",
        "kallsyms",           "proc/kallsyms", /* of a copy by hand; no recorder writes it */
    };
    const char *end = path + len;
    const char *system, *event, *slash;

    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        if (strlen(files[i]) == len && memcmp(files[i], path, len) == 0)
            return true;
    /* events/SYSTEM/EVENT/format */
    if (len < 7 || memcmp(path, "events/", 7) != 0)
        return false;
    system = path + 7;
    slash = memchr(system, '/', (size_t)(end - system));
    if (!slash || !is_plain(system, (size_t)(slash - system)))
        return false;
    event = slash + 1;
    slash = memchr(event, '/', (size_t)(end - event));
    if (!slash || !is_plain(event, (size_t)(slash - event)))
        return false;
    return end - slash == 7 && memcmp(slash, "/format", 7) == 0;
}

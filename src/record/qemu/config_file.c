/* SPDX-License-Identifier: MIT */
#include "record/qemu/config_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input.h"
#include "base/macro.h"

#define FILE_MAX ((size_t)64 * 1024)
#define BLANKS " \t\r"

/* "[group]" and "[group "id"]": the group, ended in place; NULL: LINE is neither. */
static char *group_of(char *line)
{
    size_t len = strcspn(line + 1, BLANKS "]");

    if (line[0] != '[' || len == 0 || line[1 + len] == '\0')
        return NULL;
    line[1 + len] = '\0';
    return line + 1;
}

/* "key = "value"", both ended in place. */
static bool split_entry(char *line, char **ret_key, char **ret_value)
{
    size_t len = strcspn(line, BLANKS "=");
    char *value = line + len + strspn(line + len, BLANKS);
    char *end;

    if (len == 0 || *value != '=')
        return false;
    value += 1 + strspn(value + 1, BLANKS);
    end = *value == '"' ? strchr(value + 1, '"') : NULL;
    if (!end)
        return false;
    line[len] = '\0';
    *end = '\0';
    *ret_key = line;
    *ret_value = value + 1;
    return true;
}

static void read_lines(char *text, config_entry_fn *entry, void *arg)
{
    const char *group = "";
    char *line, *key, *value;

    while ((line = strsep(&text, "\n"))) {
        line += strspn(line, BLANKS);
        if (line[0] == '[') {
            char *name = group_of(line);

            group = name ? name : "";
        } else if (line[0] != '#' && split_entry(line, &key, &value)) {
            entry(arg, group, key, value);
        }
    }
}

void config_file_read(const char *path, config_entry_fn *entry, void *arg)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    struct error error;
    struct stat status;
    size_t len;

    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= (off_t)FILE_MAX &&
        input_read_file(fd, FILE_MAX, path, &text, &len, &error) == 0) {
        text[len] = '\0';
        read_lines(text, entry, arg);
    }
    close(fd);
}

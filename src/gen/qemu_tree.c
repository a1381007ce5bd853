/* SPDX-License-Identifier: MIT */
#include "gen/qemu_tree.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

/* QEMU's largest file that is looked at has 16 KB. */
#define FILE_MAX ((size_t)1024 * 1024)

static const struct gen_qemu_tree newest = {.log_stamps = true};

/* ROOT/NAME as a string (malloc), cut at FILE_MAX. -ENOENT, …, -ENOMEM. */
static int read_file(const char *root, const char *name, char **ret_text)
{
    _cleanup_free_ char *path = NULL, *text = malloc(FILE_MAX + 1);
    _cleanup_(fclosep) FILE *file = NULL;
    size_t n;

    if (!text || asprintf(&path, "%s/%s", root, name) < 0)
        return -ENOMEM;
    file = fopen(path, "re");
    if (!file)
        return -errno;
    n = fread(text, 1, FILE_MAX, file);
    if (ferror(file))
        return errno > 0 ? -errno : -EIO;
    text[n] = '\0';
    *ret_text = TAKE_PTR(text);
    return 0;
}

static bool has_file(const char *root, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", root, name);

    return n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0;
}

static bool is_tree(const char *dir)
{
    return has_file(dir, "VERSION") && has_file(dir, "trace/control.h");
}

/* DIR, which is absolute, or the nearest one above that is a tree; DIR is changed. */
static bool climb(char *dir)
{
    for (;;) {
        char *slash = strrchr(dir, '/');

        if (is_tree(dir))
            return true;
        if (!slash || slash == dir)
            return false;
        *slash = '\0';
    }
}

static int found(const char *root, char **ret_root)
{
    char *copy = strdup(root);

    if (!copy)
        return -ENOMEM;
    *ret_root = copy;
    return 0;
}

/* What stands between KEY and END in the text of ROOT/NAME, if that is a tree. */
static int follow(const char *file, const char *key, char end, char **ret_root)
{
    _cleanup_free_ char *text = NULL;
    char *value, *stop;
    int r = read_file(".", file, &text);

    if (r < 0)
        return r == -ENOMEM ? r : -ENOENT;
    value = strstr(text, key);
    stop = value ? strchr(value + strlen(key), end) : NULL;
    if (!stop)
        return -ENOENT;
    *stop = '\0';
    value += strlen(key);
    return is_tree(value) ? found(value, ret_root) : -ENOENT;
}

int qemu_tree_find(const char *input, char **ret_root)
{
    char dir[PATH_MAX];
    int r;

    /* For a symbolic link, the place of the link counts, not its target. */
    if (input && strcmp(input, "-") != 0) {
        const char *slash = strrchr(input, '/');
        _cleanup_free_ char *parent =
            slash ? strndup(input, (size_t)(slash - input) + 1) : strdup(".");

        if (!parent)
            return -ENOMEM;
        if (realpath(parent, dir) && climb(dir))
            return found(dir, ret_root);
    }
    r = follow("config-host.mak", "SRC_PATH=", '\n', ret_root);
    if (r == -ENOENT)
        r = follow("meson-info/meson-info.json", "\"source\": \"", '"', ret_root);
    if (r != -ENOENT)
        return r;
    if (getcwd(dir, sizeof dir) && climb(dir))
        return found(dir, ret_root);
    return -ENOENT;
}

/* Whether ROOT/NAME says WORD; a file that is not there does not. */
static int says(const char *root, const char *name, const char *word, bool *ret)
{
    _cleanup_free_ char *text = NULL;
    int r = read_file(root, name, &text);

    if (r < 0 && r != -ENOENT)
        return r;
    *ret = text && strstr(text, word);
    return 0;
}

/* Accepts only the form "7.2.22". */
static int look_at_version(const char *root, struct gen_qemu_tree *tree)
{
    _cleanup_free_ char *text = NULL;
    int r = read_file(root, "VERSION", &text);

    if (r < 0)
        return r == -ENOENT ? 0 : r;
    if (sscanf(text, "%4u.%4u", &tree->major, &tree->minor) != 2)
        tree->major = tree->minor = 0;
    return 0;
}

int qemu_tree_look(const char *root, struct gen_qemu_tree *ret_tree)
{
    static const char word[] = "message_with_timestamp";
    struct gen_qemu_tree tree = {0};
    int r;

    r = look_at_version(root, &tree);
    if (r >= 0)
        r = says(root, "util/log.c", word, &tree.log_stamps);
    if (r >= 0)
        r = says(root, "include/qemu/error-report.h", word, &tree.log_asks);
    if (r < 0)
        return r;
    tree.log_asks = tree.log_asks && !tree.log_stamps;
    *ret_tree = tree;
    return 0;
}

int qemu_tree_of(const char *input, struct gen_qemu_tree *ret_tree)
{
    _cleanup_free_ char *root = NULL;
    int r = qemu_tree_find(input, &root);

    if (r == -ENOENT) {
        *ret_tree = newest;
        return 0;
    }
    return r < 0 ? r : qemu_tree_look(root, ret_tree);
}

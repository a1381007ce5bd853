/* SPDX-License-Identifier: MIT */
#include "export/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/input.h"
#include "export/ctf/tsdl.h"

/* Pieces of 256 KB cost the kernel three times as much. */
#define OUT_SIZE ((size_t)64 * 1024)

static bool is_stdout(const char *wanted)
{
    return !wanted || strcmp(wanted, "-") == 0;
}

static int fail(struct fault *fault, const char *path, const char *what)
{
    int error = errno;

    return fault_plain(fault, -error, path, "%s: %s", what, strerror(error));
}

/* Whether PATH names something that can only be written to as it is: a pipe, a device. */
static bool is_special(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static bool is_empty(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    bool empty = dir;

    while (dir && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            empty = false;
    if (dir)
        closedir(dir);
    return empty;
}

/* The metadata of an export in CTF, which is not large. */
#define METADATA_MAX ((size_t)4 << 20)

static bool is_exported_metadata(int directory)
{
    int fd = openat(directory, "metadata", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char *text = NULL;
    size_t len;
    bool is = fd >= 0 && input_read_file(fd, METADATA_MAX, "metadata", &text, &len, NULL) >= 0;

    if (is) {
        text[len] = '\0';
        is = strstr(text, "\n    " TSDL_EXPORTED "\n");
    }
    free(text);
    if (fd >= 0)
        close(fd);
    return is;
}

/* True if the directory PATH is an export in CTF and nothing else, so that it may be replaced. */
static bool is_export(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    struct stat st;
    bool is = dir && is_exported_metadata(fd);

    while (is && (entry = readdir(dir)))
        is = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
             ((strcmp(entry->d_name, "metadata") == 0 ||
               entry->d_name[strspn(entry->d_name, CTF_STREAM_CHARACTERS)] == '\0') &&
              fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode));
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return is;
}

/* "WANTED.XXXXXX", a trailing '/' taken off. */
static char *make_template(const char *wanted)
{
    size_t len = strlen(wanted);
    char *path = malloc(len + sizeof ".XXXXXX");

    while (len > 1 && wanted[len - 1] == '/')
        len--;
    if (path)
        memcpy(path, wanted, len), memcpy(path + len, ".XXXXXX", sizeof ".XXXXXX");
    return path;
}

/* Makes the directory by TEMPLATE, which becomes place->path once it is there. */
static int open_dir(struct export_place *place, char *template, struct fault *fault)
{
    struct stat st;
    mode_t mask;

    if (stat(place->wanted, &st) == 0 &&
        !(S_ISDIR(st.st_mode) && (is_empty(place->wanted) || is_export(place->wanted))))
        return fault_plain(fault, -EEXIST, place->wanted,
                           "exists and is not an export; name another directory");
    if (!mkdtemp(template))
        return fail(fault, place->wanted, "cannot make a directory beside it");
    place->path = template;
    mask = umask(0);
    umask(mask);
    if (chmod(template, 0777 & ~mask) < 0)
        return fail(fault, place->wanted, "cannot make it readable");
    return 0;
}

static int open_file(struct export_place *place, char *template, struct fault *fault)
{
    struct stat st;
    mode_t mask;

    if (stat(place->wanted, &st) == 0 && S_ISDIR(st.st_mode))
        return fault_plain(fault, -EISDIR, place->wanted, "is a directory, and this is one file");
    place->fd = mkostemp(template, O_CLOEXEC);
    if (place->fd < 0)
        return fail(fault, place->wanted, "cannot make a file beside it");
    place->path = template;
    mask = umask(0);
    umask(mask);
    if (fchmod(place->fd, 0666 & ~mask) < 0)
        return fail(fault, place->wanted, "cannot make it readable");
    return 0;
}

static int open_special(struct export_place *place, struct fault *fault)
{
    if (place->target != EXPORT_STREAM)
        return fault_plain(fault, -EINVAL, place->wanted,
                           "is no file, and this format cannot be written to a pipe or device");
    place->fd = open(place->wanted, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return place->fd < 0 ? fail(fault, place->wanted, "cannot open it to write") : 0;
}

static int open_it(struct export_place *place, struct fault *fault)
{
    int r;

    if (is_stdout(place->wanted)) {
        place->wanted = NULL;
        place->fd = STDOUT_FILENO;
    } else if (is_special(place->wanted)) {
        r = open_special(place, fault);
        if (r < 0)
            return r;
    } else {
        char *template = make_template(place->wanted);

        if (!template)
            return export_no_memory(fault);
        r = place->target == EXPORT_FOLDER ? open_dir(place, template, fault)
                                           : open_file(place, template, fault);
        if (!place->path)
            free(template);
        if (r < 0)
            return r;
    }
    if (place->target == EXPORT_STREAM && text_open_fd(&place->out, place->fd, OUT_SIZE) < 0)
        return export_no_memory(fault);
    return 0;
}

int export_place_open(enum export_target target, const char *wanted, struct export_place *ret,
                      struct fault *fault)
{
    struct export_place place = {
        .target = target, .wanted = wanted, .fd = -1, .out = TEXT_IN_MEMORY};
    int r = open_it(&place, fault);

    if (r < 0) {
        export_place_done(&place);
        return r;
    }
    *ret = place;
    return 0;
}

/* A directory takes the place of an empty one by itself. One that is an export is exchanged with it, and then goes
 * under the name that the new one had. */
static int give_name(struct export_place *place)
{
    if (rename(place->path, place->wanted) == 0)
        return 0;
    if (place->target != EXPORT_FOLDER || (errno != ENOTEMPTY && errno != EEXIST) ||
        !is_export(place->wanted))
        return -1;
    if (renameat2(AT_FDCWD, place->path, AT_FDCWD, place->wanted, RENAME_EXCHANGE) == 0) {
        export_place_remove(place->path, true);
        return 0;
    }
    /* Not every file system can. */
    export_place_remove(place->wanted, true);
    return rename(place->path, place->wanted);
}

int export_place_keep(struct export_place *place, struct fault *fault)
{
    int r = place->target == EXPORT_STREAM ? text_flush(&place->out) : 0;

    if (r == -EPIPE)
        return r;
    if (r < 0)
        return fault_plain(fault, r, place->wanted ? place->wanted : "standard output",
                           "cannot write: %s", strerror(-r));
    if (!place->path)
        return 0;
    if (place->fd >= 0) {
        r = close(place->fd);
        place->fd = -1;
        if (r < 0)
            return fail(fault, place->wanted, "cannot write");
    }
    if (give_name(place) < 0)
        return fail(fault, place->wanted, "cannot give the export its name");
    free(place->path);
    place->path = NULL;
    return 0;
}

/* What getdents64() writes, for want of a declaration: byte 16 is the length of the entry, byte 19 its name. */
#define ENTRY_LENGTH 16
#define ENTRY_NAME 19

/* The entries of the directory at FD, as many as one pass sees. How many went. System calls alone, as signal handlers
 * want it; readdir() may allocate. */
static unsigned remove_entries(int fd);

/* The directory NAME in DIR, and what is in it. */
static bool remove_dir(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0) {
        /* What a pass removes may hide the rest from it. */
        while (remove_entries(fd) > 0)
            lseek(fd, 0, SEEK_SET);
        close(fd);
    }
    return unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

static unsigned remove_entries(int fd)
{
    _Alignas(uint64_t) char entries[2048];
    unsigned removed = 0;
    long n;

    while ((n = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
        for (long at = 0; at < n;) {
            const char *name = entries + at + ENTRY_NAME;
            uint16_t length;

            memcpy(&length, entries + at + ENTRY_LENGTH, sizeof length);
            at += length;
            if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                continue;
            if (unlinkat(fd, name, 0) == 0 || (errno == EISDIR && remove_dir(fd, name)))
                removed++;
        }
    return removed;
}

void export_place_remove(const char *path, bool directory)
{
    if (directory)
        remove_dir(AT_FDCWD, path);
    else
        unlink(path);
}

void export_place_done(struct export_place *place)
{
    if (place->path)
        export_place_remove(place->path, place->target == EXPORT_FOLDER);
    if (place->fd >= 0 && place->fd != STDOUT_FILENO)
        close(place->fd);
    text_done(&place->out);
    free(place->path);
    *place = (struct export_place){.fd = -1, .out = TEXT_IN_MEMORY};
}

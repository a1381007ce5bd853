/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/input.h"
#include "export/ctf/tsdl.h"
#include "export/export.h"

/* Limits the metadata that is read; an export's is smaller. */
#define METADATA_MAX_BYTES ((size_t)4 << 20)

static bool is_exported_metadata(int directory)
{
    _cleanup_(closep) int fd =
        openat(directory, "metadata", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t len;

    if (fd < 0 || input_read_file(fd, METADATA_MAX_BYTES, "metadata", &text, &len, NULL) < 0)
        return false;
    text[len] = '\0';
    return strstr(text, "\n    " TSDL_EXPORTED "\n");
}

static bool is_exported_file(int directory, const char *name)
{
    struct stat st;

    return (strcmp(name, "metadata") == 0 || name[strspn(name, CTF_STREAM_CHARACTERS)] == '\0') &&
           fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

bool export_ctf_is_export(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    bool is = dir && is_exported_metadata(fd);

    while (is && (entry = readdir(dir)))
        is = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
             is_exported_file(fd, entry->d_name);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return is;
}

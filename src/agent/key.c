/* SPDX-License-Identifier: MIT */
#include "agent/key.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int key_read(const char *path, uint8_t **ret_key, size_t *ret_size, struct error *error)
{
    uint8_t key[KEY_MAX + 1];
    struct stat st;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int r = 0;

    if (fd < 0)
        return error_set(error, -errno, path, "%s", strerror(errno));
    n = fstat(fd, &st) < 0 ? -1 : read(fd, key, sizeof key);
    if (n < 0)
        r = error_set(error, -errno, path, "%s", strerror(errno));
    close(fd);
    if (r < 0)
        return r;
    if (st.st_mode & 077)
        return error_set(error, -EPERM, path, "others can read this key: chmod 600");
    while (n > 0 && memchr(" \r\n", key[n - 1], 3))
        n--;
    if ((size_t)n < KEY_MIN || (size_t)n > KEY_MAX)
        return error_set(error, -EINVAL, path, "a key must have %u to %u bytes, not %zd", KEY_MIN,
                         KEY_MAX, n);
    *ret_key = malloc((size_t)n);
    if (!*ret_key)
        return error_set(error, -ENOMEM, path, "out of memory");
    memcpy(*ret_key, key, (size_t)n);
    *ret_size = (size_t)n;
    return 0;
}

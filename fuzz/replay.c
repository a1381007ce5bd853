/* SPDX-License-Identifier: MIT */

/* Runs a fuzz target over files, without a fuzzer: `replay_NAME PATH…`, where a PATH is a file or a
 * directory of files. The first argument must exist and hold an input; later ones may be missing, as
 * not every target has past finds. An input that takes longer than TIMEOUT seconds ends the run with
 * SIGALRM; the last line printed names the input at fault. */

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"

#define TIMEOUT 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    _cleanup_free_ uint8_t *data = NULL;
    FILE *file = fopen(path, "rbe");
    struct stat st;
    size_t size;

    if (!file || fstat(fileno(file), &st) < 0) {
        perror(path);
        if (file)
            fclose(file);
        return -1;
    }
    /* Just the size, so that a sanitiser sees the first byte read beyond it. */
    size = (size_t)st.st_size;
    data = malloc(size ? size : 1);
    if (!data || fread(data, 1, size, file) != size) {
        fprintf(stderr, "%s: cannot read it\n", path);
        fclose(file);
        return -1;
    }
    fclose(file);

    puts(path);
    fflush(stdout);
    alarm(TIMEOUT);
    (void)LLVMFuzzerTestOneInput(data, size);
    alarm(0);
    return 1;
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* How many inputs were run, or -1. */
static int run_path(const char *path)
{
    struct dirent **entries;
    struct stat st;
    int n, done = 0;

    if (stat(path, &st) < 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return run_file(path);

    n = scandir(path, &entries, not_hidden, alphasort);
    if (n < 0)
        return -1;
    for (int i = 0; i < n; i++) {
        char name[4096];

        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        free(entries[i]);
        if (done >= 0)
            done = run_file(name) < 0 ? -1 : done + 1;
    }
    free(entries);
    return done;
}

int main(int argc, char **argv)
{
    int total = 0;

    for (int i = 1; i < argc; i++) {
        int done = run_path(argv[i]);

        if (done < 0)
            return EXIT_FAILURE;
        if (done == 0 && i == 1) {
            fprintf(stderr, "%s: no inputs here\n", argv[i]);
            return EXIT_FAILURE;
        }
        total += done;
    }
    printf("%d inputs\n", total);
    return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: MIT */
#include "record/rings/no_rings.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/input.h"
#include "runtime/ring/process_file.h"

#define REPORT_MAX ((size_t)8 << 20)

void no_rings_done(struct no_rings *report)
{
    free(report->events);
    free(report->text);
    *report = (struct no_rings){0};
}

/* Cuts the next line off *REST. NULL: no complete line. */
static char *next_line(char **rest)
{
    char *line = *rest;
    char *end = strchr(line, '\n');

    if (!end)
        return NULL;
    *end = '\0';
    *rest = end + 1;
    return line;
}

/* The names are those in the text. False: it is not a report. */
static bool parse(struct no_rings *report)
{
    char *rest = report->text, *line = next_line(&rest);

    if (!line || strcmp(line, NO_RINGS_MAGIC) != 0)
        return false;
    while ((line = next_line(&rest))) {
        char *value = strchr(line, ' ');

        if (!value)
            return false;
        *value++ = '\0';
        if (strcmp(line, "program") == 0) {
            snprintf(report->program, sizeof report->program, "%s", value);
        } else if (strcmp(line, "rings") == 0) {
            report->has_backend = strcmp(value, "yes") == 0;
        } else if (strcmp(line, "lost") == 0) {
            report->lost = strtoull(value, NULL, 10);
        } else if (strcmp(line, "on") == 0 || strcmp(line, "off") == 0 ||
                   strcmp(line, "condition") == 0 || strcmp(line, "no-memory") == 0) {
            report->events[report->n_events++] = value;
            report->n_conditions += strcmp(line, "condition") == 0;
            report->n_on += strcmp(line, "on") == 0 || strcmp(line, "condition") == 0;
            report->n_no_memory += strcmp(line, "no-memory") == 0;
        }
    }
    report->events[report->n_events] = NULL;
    return report->n_events > 0;
}

/* 1, 0: it is not a report; -ENOMEM. */
static int read_one(int parent, const char *name, struct no_rings *ret)
{
    _cleanup_(closep) int fd = openat(parent, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct no_rings report = {0};
    struct stat st;
    size_t len, lines = 1;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size > REPORT_MAX ||
        input_read_file(fd, (size_t)st.st_size, name, &report.text, &len, NULL) < 0)
        return 0;
    report.text[len] = '\0';
    for (const char *p = report.text; *p; p++)
        lines += *p == '\n';
    report.events = calloc(lines, sizeof *report.events);
    if (!report.events || !parse(&report)) {
        int r = report.events ? 0 : -ENOMEM;

        no_rings_done(&report);
        return r;
    }
    *ret = report;
    return 1;
}

static unsigned rank(const struct no_rings *report)
{
    if (!report->text)
        return 0;
    if (report->lost > 0 || report->n_no_memory > 0)
        return 4;
    return !report->has_backend ? 1 : report->n_on == 0 ? 2 : 3;
}

int no_rings_read(const char *parent, struct no_rings *ret)
{
    _cleanup_(closedirp) DIR *dir = opendir(parent);
    struct no_rings best = {0}, one;
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        int r;

        if (strncmp(entry->d_name, NO_RINGS_PREFIX, strlen(NO_RINGS_PREFIX)) != 0)
            continue;
        r = read_one(dirfd(dir), entry->d_name, &one);
        if (r < 0) {
            no_rings_done(&best);
            return r;
        }
        if (r == 0)
            continue;
        if (rank(&one) > rank(&best)) {
            no_rings_done(&best);
            best = one;
        } else {
            no_rings_done(&one);
        }
    }
    if (!best.text)
        return 0;
    *ret = best;
    return 1;
}

/* SPDX-License-Identifier: MIT */
/* Runs a program with its output thrown away and prints on descriptor 3 what it cost:
 *
 *     cost PROGRAM [ARGUMENT]...    "CPU_SECONDS PEAK_KIB EXIT_STATUS\n"
 *
 * A program of its own, because Linux counts the memory of the process that starts another towards
 * the peak of the other: started by an interpreter, every program would seem to need what the interpreter needs. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    struct rusage usage;
    int status;
    pid_t child;

    if (argc < 2)
        return 2;
    child = fork();
    if (child < 0)
        return 1;
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);

        if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
            _exit(127);
        close(3);
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    if (wait4(child, &status, 0, &usage) != child)
        return 1;
    dprintf(3, "%.6f %ld %d\n", seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss,
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}

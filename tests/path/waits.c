/* SPDX-License-Identifier: MIT */
/* Threads that wait for what is known: `waiter` for a mutex while `holder` has it and uses a CPU for 20 ms, `sleeper` for 20 ms. Each
 * does it ten times. Holder begins to count once waiter is asleep, so that its time is a part of the wait however busy the machine is. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define TIMES 10
#define NS 20000000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static pid_t waiter_tid;
static atomic_bool is_at_mutex; /* it sleeps next for the mutex */

static void use_cpu(long ns)
{
    struct timespec begin, now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < ns);
}

static bool is_asleep(pid_t tid)
{
    char path[64], line[512];
    const char *state = NULL;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
    file = fopen(path, "r");
    if (!file)
        return false;
    if (fgets(line, sizeof line, file))
        state = strrchr(line, ')');
    fclose(file);
    return state && state[1] == ' ' && state[2] == 'S';
}

static void *hold(void *arg)
{
    prctl(PR_SET_NAME, "holder");
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&mutex);
        pthread_barrier_wait(&both);
        while (!atomic_load(&is_at_mutex) || !is_asleep(waiter_tid))
            usleep(1000);
        atomic_store(&is_at_mutex, false);
        use_cpu(NS);
        pthread_mutex_unlock(&mutex);
        pthread_barrier_wait(&both);
    }
    return arg;
}

static void *wait_for_mutex(void *arg)
{
    prctl(PR_SET_NAME, "waiter");
    waiter_tid = gettid();
    for (int i = 0; i < TIMES; i++) {
        pthread_barrier_wait(&both);
        atomic_store(&is_at_mutex, true);
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        pthread_barrier_wait(&both);
    }
    return arg;
}

static void *sleep_often(void *arg)
{
    const struct timespec time = {.tv_nsec = NS};

    prctl(PR_SET_NAME, "sleeper");
    for (int i = 0; i < TIMES; i++)
        nanosleep(&time, NULL);
    return arg;
}

int main(void)
{
    void *(*const bodies[])(void *) = {hold, wait_for_mutex, sleep_often};
    pthread_t threads[3];

    pthread_barrier_init(&both, NULL, 2);
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, bodies[i], NULL) != 0)
            return 1;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

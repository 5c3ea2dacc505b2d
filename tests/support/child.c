/* child.c - runs the test program itself again (child.h). */
#define _GNU_SOURCE
#include "support/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MOST_VARIABLES = 1024 };

const char *test_child_task(int argc, char **argv)
{
    return argc == 3 && strcmp(argv[1], "child") == 0 ? argv[2] : NULL;
}

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Is this variable set or removed by the settings? */
static bool is_named(const char *variable, const char *const *settings)
{
    const size_t length = strcspn(variable, "=");
    for (; *settings != NULL; settings++)
        if (strcspn(*settings, "=") == length && strncmp(*settings, variable, length) == 0)
            return true;
    return false;
}

int test_child_wait(int pid, int limit_seconds)
{
    const double deadline = now_seconds() + limit_seconds;
    int status;
    for (;;) {
        const pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (ended < 0 && errno != EINTR) return -1;
        if (now_seconds() > deadline) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return -2;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* Reads the bytes that are there and drops those that do not fit. False at the end of the
 * stream. */
static bool drain(int fd, char *text, size_t size, size_t *used)
{
    char spill[4096];
    const size_t room = size - 1 - *used;
    const ssize_t got = room > 0 ? read(fd, text + *used, room) : read(fd, spill, sizeof spill);
    if (got > 0 && room > 0) *used += (size_t)got;
    text[*used] = '\0';
    return got > 0 || (got < 0 && errno == EINTR);
}

void test_child_run(const char *task, const char *const *settings, int limit_seconds,
                    test_child *child)
{
    memset(child, 0, sizeof *child);
    child->exit_status = -1;
    char *variables[MOST_VARIABLES + 1];
    int count = 0;
    for (char **v = environ; *v != NULL && count < MOST_VARIABLES; v++)
        if (!begins(*v, "DUOBLAS_") && !begins(*v, "OMP_") && !is_named(*v, settings))
            variables[count++] = *v;
    for (const char *const *s = settings; *s != NULL && count < MOST_VARIABLES; s++)
        if (strchr(*s, '=') != NULL) variables[count++] = (char *)*s;
    variables[count] = NULL;

    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0) return;
    if (pipe2(err, O_CLOEXEC) != 0) {
        close(out[0]);
        close(out[1]);
        return;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
    char *const arguments[] = {"/proc/self/exe", "child", (char *)task, NULL};
    pid_t pid;
    const int failed = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, arguments, variables);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    close(err[1]);
    if (failed == 0) {
        const double deadline = now_seconds() + limit_seconds;
        struct pollfd streams[2] = {{.fd = out[0], .events = POLLIN},
                                    {.fd = err[0], .events = POLLIN}};
        size_t out_used = 0, err_used = 0;
        while ((streams[0].fd >= 0 || streams[1].fd >= 0) && now_seconds() < deadline) {
            if (poll(streams, 2, 100) <= 0) continue;
            if (streams[0].revents != 0 && !drain(out[0], child->out, sizeof child->out, &out_used))
                streams[0].fd = -1;
            if (streams[1].revents != 0 && !drain(err[0], child->err, sizeof child->err, &err_used))
                streams[1].fd = -1;
        }
        const double left = deadline - now_seconds();
        child->exit_status = test_child_wait((int)pid, left > 0 ? (int)left + 1 : 0);
    }
    close(out[0]);
    close(err[0]);
}

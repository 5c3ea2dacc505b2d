/*
 * child.h - runs the test program itself again, in a fresh process with another environment.
 *
 * The environment and the machine are read once per process, so everything that depends on them is
 * tried in a child process. main() asks test_child_task first; if there is a task, it does the task
 * and returns.
 */
#ifndef DUO_TESTS_CHILD_H
#define DUO_TESTS_CHILD_H

typedef struct test_child {
    int exit_status; /* the process's; -1: a signal ended it; -2: the time limit did */
    char out[32768]; /* its output to stdout, cut */
    char err[32768]; /* to stderr */
} test_child;

/* The task this process was started for, or NULL: it is not a child. */
const char *test_child_task(int argc, char **argv);

/*
 * Runs the program with this task and waits, at most limit_seconds. settings: "NAME=value" sets and
 * "NAME" removes a variable; ends with NULL. All other DUOBLAS_ and OMP_ variables are removed.
 */
void test_child_run(const char *task, const char *const *settings, int limit_seconds,
                    test_child *child);

/* The same end for a process that was forked by hand: its status as above. */
int test_child_wait(int pid, int limit_seconds);

#endif

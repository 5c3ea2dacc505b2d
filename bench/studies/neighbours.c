/* neighbours.c - see neighbours.h */
#define _GNU_SOURCE
#include "bench/studies/neighbours.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 4096 };

static pid_t neighbour[MOST];
static int neighbours;
static int gate[2] = {-1, -1}; /* a pipe: they sleep until they can read a byte from it */

static void keep_busy(pid_t parent)
{
    char word;
    volatile double number = 1.0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(gate[1]);
    /* The parent may have ended before the signal was asked for, or may end now. */
    if (getppid() != parent || read(gate[0], &word, 1) != 1) _exit(0);
    for (;;) number = 0.5 * number + 1.0;
}

bool duo_neighbours_open(int count)
{
    const pid_t parent = getpid();
    if (count == 0) return true;
    if (count > MOST || pipe(gate) != 0) return false;
    while (neighbours < count) {
        const pid_t made = fork();
        if (made == 0) keep_busy(parent);
        if (made < 0) return false;
        neighbour[neighbours++] = made;
    }
    close(gate[0]);
    return true;
}

void duo_neighbours_wake(void)
{
    for (int i = 0; i < neighbours; i++)
        if (write(gate[1], "!", 1) != 1) return;
}

void duo_neighbours_close(void)
{
    for (int i = 0; i < neighbours; i++) {
        (void)kill(neighbour[i], SIGKILL);
        (void)waitpid(neighbour[i], NULL, 0);
    }
    if (neighbours > 0) close(gate[1]);
    neighbours = 0;
}

/* interrupt.c - see interrupt.h */
#include "bench/tool/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "bench/tool/progress.h"

static const int watched[] = {SIGINT, SIGTERM, SIGHUP};
enum { WATCHED = sizeof watched / sizeof watched[0] };

/* What is told; changed while the signals are held back. */
static const char *volatile told = "no file was written";

static void tell(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) { /* nobody to tell */
    }
}

static void leave(int signal_number)
{
    tell(duo_progress_shown() ? "\r\033[K" : "\n");
    tell("duoblas: interrupted; ");
    tell(told);
    tell("\n");
    _exit(128 + signal_number);
}

static void mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < WATCHED; i++) sigaddset(&set, watched[i]);
    (void)pthread_sigmask(how, &set, NULL);
}

void duo_interrupt_watch(void)
{
    struct sigaction action = {.sa_handler = leave};
    struct sigaction before;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < WATCHED; i++) /* one that the caller has us ignore stays ignored (nohup) */
        if (sigaction(watched[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(watched[i], &action, NULL);
}

void duo_interrupt_hold(void) { mask(SIG_BLOCK); }

void duo_interrupt_allow_with(const char *advice)
{
    told = advice;
    mask(SIG_UNBLOCK);
}

void duo_interrupt_allow(void) { duo_interrupt_allow_with("all files had been written"); }

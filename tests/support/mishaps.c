/* mishaps.c - shared by the tests of failures; see mishaps.h. */
#define _GNU_SOURCE
#include "support/mishaps.h"

#include "sim/sim.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/reference_order.h"

#include <stdlib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 60 };

static char now_at[200]; /* the case, where a signal handler can reach it */

static void bark(int number)
{
    static const char text[] = "watchdog: hangs in ";
    (void)number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    (void)!write(STDERR_FILENO, now_at, strlen(now_at));
    (void)!write(STDERR_FILENO, "\n", 1);
    _exit(3);
}

void watch(void) { signal(SIGALRM, bark); }

void begin_case(const char *name)
{
    snprintf(now_at, sizeof now_at, "%s", name);
    test_case("%s", name);
    alarm(PATIENCE_SECONDS);
}

void check_later_calls(duo_context *ctx, bool must_be_cpu)
{
    float x[200], sum = test_poison(), c[16], ones[16];
    for (int i = 0; i < 200; i++) x[i] = (float)(i % 7);
    for (int i = 0; i < 16; i++) ones[i] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 200, x, 1, &sum));
    CHECK(sum == reference_order(DUO_SSUM, 200, x, 1, NULL, 1), "%g", (double)sum);
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    if (must_be_cpu) CHECK(d.side == DUO_SIDE_CPU, "%s after a loss", d.algorithm);
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 4, 4, 4, 1.0f,
                                   ones, 4, ones, 4, 0.0f, c, 4));
    CHECK(c[0] == 4.0f && c[15] == 4.0f, "%g %g", (double)c[0], (double)c[15]);
    void *memory = NULL, *host = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof x, &memory));
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, sizeof x, &host));
    if (memory != NULL && host != NULL) {
        memcpy(host, x, sizeof x);
        CHECK_STATUS(DUO_OK, duo_copy(ctx, memory, host, sizeof x));
        sum = test_poison();
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 200, memory, 1, &sum));
        CHECK(sum == reference_order(DUO_SSUM, 200, x, 1, NULL, 1), "%g", (double)sum);
    }
    CHECK_STATUS(DUO_OK, duo_free(ctx, memory));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx, host));
}

const char *kind_name(sim_kind kind)
{
    static const char *const names[SIM_KINDS + 1] = {
        "count", "load",     "link", "allocate", "release", "pin",    "unpin",
        "wipe",  "classify", "open", "close",    "copy",    "launch", "pack",
        "mark",  "wait",     "idle", "after",    "record",  "replay", "async"};
    return names[kind];
}

int mishap_after(int nth, int all, int stride)
{
    const int fewer = test_amount(8, 1, 0);
    return fewer == 0 || nth < all / fewer ? nth + 1 : nth + fewer * stride;
}

void mishap_arm(const mishap *what, int nth)
{
    if (what->kind == SIM_KINDS)
        sim_fail_async(nth, what->garbage);
    else
        sim_fail(what->kind, nth, what->status, what->times);
}

void mishap_disarm(const mishap *what)
{
    if (what->kind == SIM_KINDS)
        sim_fail_async(0, false);
    else
        sim_fail(what->kind, 0, DUO_OK, 0);
}

bool mishap_covers(const mishap *what, int scenario, int nth)
{
    return what->row < 0 || (what->row + scenario + nth) % test_amount(4, 2, 2) == 0;
}

const char *mishap_name(const mishap *what, int nth, char text[80])
{
    snprintf(text, 80, "%s-%d=%d/%s%s%s", kind_name(what->kind), nth, (int)what->status,
             what->times < 0 ? "from-then-on" : "once", what->garbage ? "/garbage" : "",
             what->warm ? "/warm" : "");
    return text;
}

static void each_while_running(void (*sweep)(const mishap *what))
{
    for (int i = 0; i < 4; i++)
        sweep(&(mishap){.kind = SIM_KINDS,
                        .status = DUO_ERR_LOST,
                        .times = 1,
                        .garbage = i / 2 != 0,
                        .warm = i % 2 != 0,
                        .row = -1});
}

void each_mishap(sim_kind kind, void (*sweep)(const mishap *what))
{
    static const mishap rows[] = {{.status = DUO_ERR_MEMORY, .times = 1, .warm = false},
                                  {.status = DUO_ERR_MEMORY, .times = -1, .warm = true},
                                  {.status = DUO_ERR_DEVICE, .times = 1, .warm = true},
                                  {.status = DUO_ERR_DEVICE, .times = -1, .warm = false},
                                  {.status = DUO_ERR_LOST, .times = 1, .warm = false},
                                  {.status = DUO_ERR_LOST, .times = -1, .warm = true}};
    if (kind == SIM_KINDS) each_while_running(sweep);
    for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]) && kind != SIM_KINDS; i++) {
        mishap what = rows[i];
        what.kind = kind;
        what.row = i;
        sweep(&what);
    }
}

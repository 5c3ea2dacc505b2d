/* adds_variable.c - a library that, when it starts, looks for a variable and adds another. */
#define _GNU_SOURCE
#include <stdlib.h>

static __attribute__((constructor)) void start(void)
{
    (void)setenv("TEST_ADDED", getenv("TEST_TOLD") != NULL ? "told" : "not told", 1);
}

/* plant.c - a library that an attacker has planted: it tells that it was loaded. */
#include <unistd.h>

static void __attribute__((constructor)) loaded(void)
{
    static const char text[] = "PLANTED\n";
    (void)!write(2, text, sizeof text - 1);
}

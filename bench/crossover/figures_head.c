/* figures_head.c - the machine of kept figures (figures.h) */
#include "bench/crossover/figures.h"

#include <string.h>

#include "cpu/blas_library.h"
#include "host/machine.h"

enum { FORMAT = 2 };
enum {
    HEAD_FORMAT,
    HEAD_VERSION,
    HEAD_CPU,
    HEAD_CPU_ID,
    HEAD_THREADS,
    HEAD_BLAS,
    HEAD_GPU,
    HEAD_DRIVER,
    HEAD_CACHE
};
static const char *const names[DUO_FIGURES_HEAD] = {
    "format", "version", "cpu", "cpu_id", "threads", "blas", "gpu", "driver", "cache"};

void duo_figures_head_of(const duo_crossover *x, duo_figures_head *h)
{
    snprintf(h->value[HEAD_FORMAT], sizeof h->value[0], "%d", FORMAT);
    snprintf(h->value[HEAD_VERSION], sizeof h->value[0], "%s", DUO_VERSION_STRING);
    snprintf(h->value[HEAD_CPU], sizeof h->value[0], "%s", duo_machine_cpu());
    snprintf(h->value[HEAD_CPU_ID], sizeof h->value[0], "%s", duo_machine_cpu_id());
    snprintf(h->value[HEAD_THREADS], sizeof h->value[0], "%d", x->threads);
    snprintf(h->value[HEAD_BLAS], sizeof h->value[0], "%s", duo_blas_library_name());
    snprintf(h->value[HEAD_GPU], sizeof h->value[0], "%s", x->gpu ? x->gpu_name : "none");
    snprintf(h->value[HEAD_DRIVER], sizeof h->value[0], "%s", x->gpu ? x->driver : "none");
    snprintf(h->value[HEAD_CACHE], sizeof h->value[0], "%s", x->cold ? "cold" : "warm");
}

bool duo_figures_head_read(const char *line, duo_figures_head *h)
{
    for (int i = 0; i < DUO_FIGURES_HEAD; i++) {
        const size_t length = strlen(names[i]);
        if (strncmp(line, "# ", 2) != 0 || strncmp(line + 2, names[i], length) != 0 ||
            strncmp(line + 2 + length, ": ", 2) != 0)
            continue;
        snprintf(h->value[i], sizeof h->value[0], "%s", line + length + 4);
        return true;
    }
    return false;
}

static bool differ(const duo_figures_head *a, const duo_figures_head *b, int i)
{
    return strcmp(a->value[i], b->value[i]) != 0;
}

duo_figures_difference duo_figures_compare(const duo_figures_head *a, const duo_figures_head *b)
{
    return (duo_figures_difference){.all = differ(a, b, HEAD_FORMAT) ||
                                           differ(a, b, HEAD_VERSION) || differ(a, b, HEAD_CPU) ||
                                           differ(a, b, HEAD_CPU_ID) || differ(a, b, HEAD_CACHE),
                                    .threads = differ(a, b, HEAD_THREADS),
                                    .blas = differ(a, b, HEAD_BLAS),
                                    .gpu = differ(a, b, HEAD_GPU) || differ(a, b, HEAD_DRIVER)};
}

void duo_figures_head_print(const duo_figures_head *h, FILE *file)
{
    for (int i = 0; i < DUO_FIGURES_HEAD; i++) fprintf(file, "# %s: %s\n", names[i], h->value[i]);
}

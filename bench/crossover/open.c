/* open.c - memory, context and device of the crossover benchmark. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/crossover/crossover.h"
#include "bench/measure/benchmark.h"
#include "bench/measure/stock.h"
#include "bench/tool/text.h"
#include "choice/profile_in_use.h"
#include "gpu/backend/devices.h"
#include "host/environment.h"
#include "host/machine.h"

enum { LEAST_FLOATS = 1024 };

/* The largest share of the time for making stocks. Smaller stocks mean fewer large sizes. */
static const double kOpenShare = 0.15;

/* Floats that can be allocated and filled in that time. */
static double affordable_floats(const duo_crossover *x)
{
    enum { SAMPLE = 1 << 22 };
    duo_stock stock;
    const double began = duo_now_seconds();
    if (!duo_stock_open(&stock, x->context, DUO_PLACE_PAGEABLE, SAMPLE, 1, x->seed, NULL))
        return 0.0;
    duo_stock_close(&stock);
    return kOpenShare * x->most_seconds / (duo_now_seconds() - began) * SAMPLE;
}

/* A share of the wanted size, but enough for one number. */
static size_t scaled(size_t floats, double share)
{
    const size_t rest = (size_t)((double)floats * share);
    return rest > LEAST_FLOATS ? rest : LEAST_FLOATS;
}

static void open_gpu(duo_crossover *x, size_t input, size_t output)
{
    const char *why;
    const bool first = !duo_devices_looked();
    const double begin = duo_now_seconds();
    x->device = duo_environment_get()->device;
    x->gpu = duo_devices(&why) > 0;
    x->why = why;
    if (!x->gpu) return;
    x->device_info.size = sizeof x->device_info;
    x->gpu = duo_device_describe(x->device, &x->device_info) == DUO_OK &&
             duo_set_device(x->context, x->device) == DUO_OK &&
             duo_set_path(x->context, DUO_PATH_GPU) == DUO_OK && duo_warm_up(x->context) == DUO_OK;
    if (x->gpu && first) x->open_seconds = duo_now_seconds() - begin;
    x->gpu = x->gpu &&
             duo_backend_current()->open(x->device, NULL, DUO_PRIORITY_NORMAL, &x->queue) == DUO_OK;
    const duo_stock *const host = &x->stock[DUO_PLACE_PAGEABLE];
    x->gpu = x->gpu && duo_stock_open(&x->stock[DUO_PLACE_PINNED], x->context, DUO_PLACE_PINNED,
                                      input, output, x->seed, host);
    /* On a small device half of the memory is left for copies of host arrays. */
    const double most = 0.45 * (double)x->device_info.memory_free_bytes;
    const double share = fmin(1.0, most / (4.0 * (double)(input + output)));
    x->gpu = x->gpu && duo_stock_open(&x->stock[DUO_PLACE_DEVICE], x->context, DUO_PLACE_DEVICE,
                                      scaled(input, share), scaled(output, share), x->seed, host);
    if (!x->gpu) {
        x->why = "the GPU could not be opened, or has too little memory";
        return;
    }
    snprintf(x->gpu_name, sizeof x->gpu_name, "%.90s", x->device_info.name);
    snprintf(x->driver, sizeof x->driver, "%d.%d", x->device_info.driver_version / 1000,
             x->device_info.driver_version % 1000 / 10);
}

bool duo_crossover_open(duo_crossover *x)
{
    size_t input = 0, output = 0;
    for (int i = 0; i < x->cases; i++) {
        const size_t in = duo_problem_input_floats(&x->item[i].problem);
        const size_t out = duo_problem_output_floats(&x->item[i].problem);
        if (in > input) input = in;
        if (out > output) output = out;
    }
    /* Two stocks on the host if there may be a GPU: pageable and pinned. */
    const double floats = (double)(input + output);
    const double share =
        fmin(0.6 * duo_available_bytes() / (2.0 * 4.0 * floats), affordable_floats(x) / floats);
    if (share < 1.0) {
        input = scaled(input, share);
        output = scaled(output, share);
    }
    x->threads = duo_machine_threads();
    snprintf(x->cpu, sizeof x->cpu, "%s", duo_machine_cpu());
    (void)duo_text_blas(x->cpu_blas, sizeof x->cpu_blas);
    if (duo_create(&x->context) != DUO_OK ||
        duo_set_math(x->context, DUO_CROSSOVER_MATH) != DUO_OK ||
        !duo_stock_open(&x->stock[DUO_PLACE_PAGEABLE], x->context, DUO_PLACE_PAGEABLE, input,
                        output, x->seed, NULL)) {
        fprintf(stderr, "duoblas: out of memory\n");
        return false;
    }
    open_gpu(x, input, output);
    if (x->cold) /* twice the last-level cache, and more than any GPU's */
        for (int place = 0; place < DUO_PLACES; place++)
            x->stock[place].rotate_bytes = place == DUO_PLACE_DEVICE
                                               ? (size_t)256 << 20
                                               : 2 * duo_machine_cache_bytes() + (64u << 20);
    if (!x->gpu) {
        x->assumed = x->gpu_profile != NULL ? x->gpu_profile : duo_profile_built_in("h100");
        snprintf(x->gpu_name, sizeof x->gpu_name, "%s", x->assumed->gpu);
        snprintf(x->driver, sizeof x->driver, "%s", x->assumed->driver);
    }
    return true;
}

void duo_crossover_close(duo_crossover *x)
{
    for (int place = DUO_PLACES - 1; place >= 0; place--) duo_stock_close(&x->stock[place]);
    if (x->queue != NULL) (void)duo_backend_current()->close(x->queue);
    (void)duo_destroy(x->context);
    free(x->unwanted);
}

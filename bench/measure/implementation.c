/* implementation.c - see implementation.h */
#include "bench/measure/implementation.h"

#include <stdlib.h>

#include "bench/measure/blas_instance.h"
#include "bench/measure/settings.h"
#include "gpu/backend/devices.h"
#include "host/environment.h"

/* The most slots. Very small problems do not flush a cache even with these; the descriptors of more
 * calls would fill it themselves. */
enum { MOST_SLOTS = 16384 };

/* ---- Algorithms below the API ---- */

static bool run_on_cpu(const duo_implementation *self, const duo_call *call)
{
    return self->algorithm->run(call) == DUO_OK;
}

/* sgemm_cpu_openblas computes with the threads that the library has. */
static bool run_library(const duo_implementation *self, const duo_call *call)
{
    duo_blas_instance *const blas = duo_blas_instance_get();
    if (blas == NULL) return false;
    const int before = duo_blas_instance_begin(blas, self->threads);
    const bool done = run_on_cpu(self, call);
    duo_blas_instance_end(blas, before);
    return done;
}

duo_implementation duo_cpu_implementation(const duo_algorithm *algorithm, int threads,
                                          const duo_stock *stock)
{
    return (duo_implementation){.name = algorithm->name,
                                .side = DUO_SIDE_CPU,
                                .threads = threads,
                                .stock = stock,
                                .algorithm = algorithm,
                                .call = algorithm->id == DUO_sgemm_cpu_openblas ? run_library
                                                                                : run_on_cpu};
}

bool duo_implementation_finish_queue(const duo_implementation *self)
{
    return duo_backend_current()->finish(self->queue) == DUO_OK;
}

static bool launch_on_gpu(const duo_implementation *self, const duo_call *call)
{
    return duo_backend_current()->launch(self->queue, self->algorithm->id, call, NULL, 0) == DUO_OK;
}

duo_implementation duo_gpu_implementation(const duo_algorithm *algorithm, duo_queue *queue,
                                          const duo_stock *stock, bool wait_each)
{
    return (duo_implementation){.name = algorithm->name,
                                .side = DUO_SIDE_GPU,
                                .stock = stock,
                                .wait_each = wait_each,
                                .algorithm = algorithm,
                                .queue = queue,
                                .call = launch_on_gpu,
                                .finish = duo_implementation_finish_queue};
}

/* ---- The public API ---- */

bool duo_api_run(duo_context *context, const duo_call *call, float *result)
{
    const duo_operand *const o = call->operand;
    switch (call->operation) {
    case DUO_SGEMM:
        return duo_sgemm(context, DUO_COL_MAJOR, duo_transpose_if(call->transa),
                         duo_transpose_if(call->transb), call->m, call->n, call->k, call->alpha,
                         o[DUO_A].address, o[DUO_A].ld, o[DUO_B].address, o[DUO_B].ld, call->beta,
                         o[DUO_C].address, o[DUO_C].ld) == DUO_OK;
    case DUO_SASUM:
        return duo_sasum(context, call->n, o[DUO_X].address, o[DUO_X].ld, result) == DUO_OK;
    case DUO_SSUM:
        return duo_ssum(context, call->n, o[DUO_X].address, o[DUO_X].ld, result) == DUO_OK;
    default:
        return duo_sdot(context, call->n, o[DUO_X].address, o[DUO_X].ld, o[DUO_Y].address,
                        o[DUO_Y].ld, result) == DUO_OK;
    }
}

static bool call_api(const duo_implementation *self, const duo_call *call)
{
    return duo_api_run(self->context, call, self->result);
}

static bool finish_context(const duo_implementation *self)
{
    return duo_synchronize(self->context) == DUO_OK;
}

duo_implementation duo_api_implementation(duo_context *context, const duo_stock *stock,
                                          bool wait_each)
{
    static float result;
    return (duo_implementation){.name = "duo API",
                                .side = DUO_SIDE_GPU,
                                .stock = stock,
                                .wait_each = wait_each,
                                .context = context,
                                .result = &result,
                                .call = call_api,
                                .finish = finish_context};
}

/* ---- At a problem ---- */

typedef struct packed {
    void *address; /* device memory; NULL: not packed */
    size_t bytes;
} packed;

/* The `user` of the benchmark. */
typedef struct calls {
    const duo_implementation *implementation;
    duo_call *call; /* one for each slot */
    int64_t slots, next;
    packed *packed; /* A and B of each slot; NULL: none is packed */
} calls;

/* Packs the implementation's packed operands in every slot. False: there is no room. */
static bool pack(calls *c)
{
    const duo_implementation *const i = c->implementation;
    const duo_backend *const backend = duo_backend_current();
    const int device = duo_environment_get()->device;
    c->packed = calloc(2 * (size_t)c->slots, sizeof *c->packed);
    if (c->packed == NULL) return false;
    for (int64_t p = 0; p < 2 * c->slots; p++) {
        duo_call *const call = &c->call[p / 2];
        const int operand = (int)(p % 2);
        packed *const space = &c->packed[p];
        space->bytes = backend->packed_bytes(i->algorithm->id, call, operand);
        if ((i->packed >> operand & 1) == 0 || space->bytes == 0) continue;
        if (duo_device_allocate(device, space->bytes, &space->address) != DUO_OK ||
            backend->pack(i->queue, i->algorithm->id, call, operand, space->address) != DUO_OK)
            return false;
        call->operand[operand].packed = space->address;
    }
    return true;
}

static bool make_calls(calls *c, const duo_problem *problem)
{
    const duo_implementation *const i = c->implementation;
    c->slots = duo_stock_slots(i->stock, problem);
    if (c->slots > MOST_SLOTS) c->slots = MOST_SLOTS;
    if (c->slots == 0) return false;
    c->call = malloc((size_t)c->slots * sizeof *c->call);
    if (c->call == NULL) return false;
    for (int64_t slot = 0; slot < c->slots; slot++) {
        c->call[slot] = duo_problem_call(problem, i->stock, slot);
        if (i->threads > 0) c->call[slot].threads = i->threads;
    }
    return i->packed == 0 || pack(c);
}

static bool run(void *user, int64_t count)
{
    calls *const c = user;
    const duo_implementation *const i = c->implementation;
    bool good = true;
    duo_settings_use(i->settings);
    for (int64_t done = 0; done < count && good; done++) {
        good = i->call(i, &c->call[c->next]) && (!i->wait_each || i->finish(i));
        if (++c->next == c->slots) c->next = 0;
    }
    duo_blas_instance_restore();
    return good && (i->finish == NULL || i->finish(i));
}

bool duo_benchmark_open(duo_benchmark *benchmark, const duo_implementation *implementation,
                        const duo_problem *problem)
{
    calls *const c = calloc(1, sizeof *c);
    *benchmark = (duo_benchmark){.run = run, .user = c};
    if (c == NULL) return false;
    c->implementation = implementation;
    const bool good = make_calls(c, problem);
    if (!good) duo_benchmark_close(benchmark);
    return good;
}

bool duo_benchmark_call_once(const duo_benchmark *benchmark)
{
    calls *const c = benchmark->user;
    c->next = 0;
    return run(c, 1);
}

void duo_benchmark_close(duo_benchmark *benchmark)
{
    calls *const c = benchmark->user;
    benchmark->user = NULL;
    if (c == NULL) return;
    for (int64_t p = 0; c->packed != NULL && p < 2 * c->slots; p++)
        if (c->packed[p].address != NULL)
            (void)duo_device_release(duo_environment_get()->device, c->packed[p].address,
                                     c->packed[p].bytes);
    free(c->packed);
    free(c->call);
    free(c);
}

/* host_list.c - lists the ways to compute products of host arrays: the library, copies around
 * cuBLAS, cuBLASXt. */
#include <stddef.h>

#include "bench/host/host.h"
#include "bench/peers/cublas.h"
#include "gpu/backend/devices.h"

/* ---- Device memory ---- */

/* Groups allocate without the library, so that DUOBLAS_DEVICE_MEMORY does not count their
 * memory. */

static size_t bytes_of(const duo_operand *o)
{
    return sizeof(float) * (size_t)o->rows * (size_t)o->columns;
}

void duo_host_close_device(const duo_host *h, duo_host_group *g)
{
    for (int i = DUO_A; i <= DUO_C; i++) {
        duo_operand *const o = &g->device.operand[i];
        if (o->address == NULL) continue;
        (void)duo_disown(h->bench->context, o->address);
        (void)duo_backend_current()->release(h->device, o->address);
        o->address = NULL;
    }
}

void duo_host_open_device(const duo_host *h, duo_host_group *g)
{
    bool good = h->devices > 0;
    g->device = g->host;
    for (int i = DUO_A; i <= DUO_C; i++) {
        g->device.operand[i].address = NULL;
        g->device.operand[i].residence = DUO_AT_DEVICE;
    }
    for (int i = DUO_A; i <= DUO_C && good; i++) {
        duo_operand *const o = &g->device.operand[i];
        void *address = NULL;
        good = duo_backend_current()->allocate(h->device, bytes_of(o), &address) == DUO_OK;
        o->address = address;
        good = good && duo_adopt(h->bench->context, address, bytes_of(o)) == DUO_OK &&
               duo_copy(h->bench->context, address, g->host.operand[i].address, bytes_of(o)) ==
                   DUO_OK &&
               duo_synchronize(h->bench->context) == DUO_OK;
    }
    if (!good) duo_host_close_device(h, g);
}

/* ---- Copies around cuBLAS ---- */

/* Copies like cudaMemcpyAsync in the queue's stream, which waits for plain memory anyway. */
static bool copy(const duo_implementation *i, const duo_operand *to, const duo_operand *from)
{
    const duo_backend *const backend = duo_backend_current();
    const size_t bytes = bytes_of(to);
    const bool plain = to->residence == DUO_AT_PAGEABLE || from->residence == DUO_AT_PAGEABLE;
    return (plain ? backend->copy_now : backend->copy)(i->queue, to->address, bytes, from->address,
                                                       bytes, bytes, 1) == DUO_OK;
}

static bool copies_and_product(const duo_host_line *line)
{
    const duo_implementation *const i = &line->implementation;
    const duo_operand *const host = line->group->host.operand, *const device =
                                                                   line->group->device.operand;
    return copy(i, &device[DUO_A], &host[DUO_A]) && copy(i, &device[DUO_B], &host[DUO_B]) &&
           i->call(i, &line->group->device) && copy(i, &host[DUO_C], &device[DUO_C]) &&
           i->finish(i);
}

/* ---- Lines ---- */

/* Resident products wait only for the last call, so that only arithmetic is timed. */
bool duo_host_run(void *user, int64_t calls)
{
    const duo_host_line *const line = user;
    const duo_implementation *const i = &line->implementation;
    const duo_call *const call = line->resident ? &line->group->device : &line->group->host;
    for (int64_t done = 0; done < calls; done++)
        if (!(line->copies ? copies_and_product(line) : i->call(i, call))) return false;
    return i->finish == NULL || i->finish(i);
}

static void expect(duo_host_line *line, const duo_host_line *before, const duo_problem *problem,
                   const duo_problem *smaller)
{
    if (before->name == NULL) return;
    const double seconds =
        before->too_long ? before->expected_seconds : before->benchmark.median_seconds;
    line->expected_seconds = seconds * duo_problem_flops(problem) / duo_problem_flops(smaller);
}

void duo_host_list(const duo_host *h, duo_host_group *g, const duo_host_group *before)
{
    static const int blocks[] = {1024, 2048, 4096};
    const bool room = g->device.operand[DUO_C].address != NULL;
    duo_host_line *line = g->line;
    *line = (duo_host_line){.name = "duo_sgemm"};
    line++->implementation = duo_api_implementation(h->context, NULL, true);
    if (room) *line = (duo_host_line){.name = "duo_sgemm, on the GPU", .resident = true};
    line++->implementation = duo_api_implementation(h->bench->context, NULL, true);
    if (room && h->bench->cublas_why == NULL &&
        duo_peer_cublas(&line->implementation, DUO_SGEMM, NULL, true)) {
        line->name = "copies + cuBLAS";
        line->copies = true;
    }
    line++;
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++, line++)
        if (g->problem.shape[0] >= 2 * blocks[i] &&
            duo_peer_cublasxt(&line->implementation, blocks[i]))
            line->name = line->implementation.name;
    for (int i = 0; i < DUO_HOST_LINES; i++) {
        g->line[i].group = g;
        g->line[i].error = -1.0;
        g->line[i].benchmark = (duo_benchmark){.run = duo_host_run, .user = &g->line[i]};
        if (before != NULL) expect(&g->line[i], &before->line[i], &g->problem, &before->problem);
    }
}

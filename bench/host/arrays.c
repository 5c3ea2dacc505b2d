/* arrays.c - operands of large products in host memory (host.h) */
#include "bench/host/host.h"

#include <stdlib.h>
#include <string.h>

enum { FILL_FLOATS = 1 << 20, PAGE_BYTES = 4096 };

static int64_t floats_of(const duo_problem *p, int operand)
{
    const int64_t rows = operand == DUO_B ? p->shape[2] : p->shape[0];
    const int64_t columns = operand == DUO_A ? p->shape[2] : p->shape[1];
    return rows * columns;
}

static float *take(const duo_arrays *a, size_t floats)
{
    void *block = NULL;
    if (a->place == DUO_PLACE_PINNED)
        return duo_malloc_host(a->context, 4 * floats, &block) == DUO_OK ? block : NULL;
    return aligned_alloc(PAGE_BYTES, (4 * floats + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
}

/* Fills in parts; each has its own seed. The thread that first writes to a page of plain memory
 * places it. */
static void fill(float *x, int64_t floats, bool random, uint64_t seed)
{
#pragma omp parallel for schedule(dynamic)
    for (int64_t from = 0; from < floats; from += FILL_FLOATS) {
        const int64_t rest = floats - from;
        const size_t count = (size_t)(rest < FILL_FLOATS ? rest : FILL_FLOATS);
        if (random)
            duo_fill_random(x + from, count, seed + (uint64_t)(from / FILL_FLOATS));
        else
            memset(x + from, 0, 4 * count);
    }
}

bool duo_arrays_open(duo_arrays *a, duo_context *context, duo_place place,
                     const duo_problem *problem, int problems, uint64_t seed)
{
    bool good = true;
    *a = (duo_arrays){.context = context, .place = place};
    for (int operand = DUO_A; operand <= DUO_C && good; operand++) {
        int64_t floats = 1;
        for (int i = 0; i < problems; i++)
            if (floats_of(&problem[i], operand) > floats) floats = floats_of(&problem[i], operand);
        a->operand[operand] = take(a, (size_t)floats);
        good = a->operand[operand] != NULL;
        /* The seeds of A and B are 2^40 apart: more than their parts. */
        if (good)
            fill(a->operand[operand], floats, operand != DUO_C, seed + ((uint64_t)operand << 40));
    }
    if (!good) duo_arrays_close(a);
    return good;
}

void duo_arrays_close(duo_arrays *a)
{
    for (int operand = DUO_A; operand <= DUO_C; operand++) {
        if (a->place == DUO_PLACE_PINNED && a->operand[operand] != NULL)
            (void)duo_free_host(a->context, a->operand[operand]);
        else
            free(a->operand[operand]);
        a->operand[operand] = NULL;
    }
}

duo_call duo_arrays_call(const duo_arrays *a, const duo_problem *p)
{
    /* A stock without memory gives the shapes; the addresses are ours. */
    const duo_stock none = {.place = a->place};
    duo_call call = duo_problem_call(p, &none, 0);
    for (int operand = DUO_A; operand <= DUO_C; operand++)
        call.operand[operand].address = a->operand[operand];
    return call;
}

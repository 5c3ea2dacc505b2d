/* many_devices.c - products of host arrays on several devices; see many_devices.h. */
#include "support/many_devices.h"

#include <stdio.h>
#include <string.h>

#include "choice/algorithm.h"
#include "sim/clock.h"
#include "support/harness.h"
#include "support/made_machine.h"

static void takes(duo_algorithm_id id, double each)
{
    machine.curve[id] = (duo_curve){.count = 2, .size = {1.0, 1e6}, .seconds = {each, each * 1e18}};
}

void arithmetic_is_slow(duo_algorithm_id algorithm)
{
    const duo_algorithm_table table = duo_algorithm_tables[DUO_SGEMM];
    duo_device_info info = {.size = sizeof info};
    new_machine(0.0, 0.0);
    for (int i = 0; i < table.count; i++)
        takes(table.algorithm[i].id, table.algorithm[i].id == algorithm        ? 1e-6
                                     : table.algorithm[i].side == DUO_SIDE_GPU ? 1e-5
                                                                               : 1e-3);
    if (duo_device_describe(0, &info) == DUO_OK)
        snprintf(machine.gpu, sizeof machine.gpu, "%.90s", info.name);
}

static float element(const test_array *x, bool transposed, int64_t i, int64_t j)
{
    return transposed ? x->data[j + i * x->ld] : x->data[i + j * x->ld];
}

void many_new(many_product *p, test_rng *rng)
{
    p->a = test_array_matrix(false, p->transa, p->m, p->k, test_between(rng, 0, 5),
                             test_between(rng, 0, 3));
    p->b = test_array_matrix(false, p->transb, p->k, p->n, test_between(rng, 0, 5),
                             test_between(rng, 0, 3));
    p->c = test_array_matrix(false, false, p->m, p->n, test_between(rng, 0, 5),
                             test_between(rng, 0, 3));
    test_array_fill(&p->a, rng, DATA_INTEGER);
    test_array_fill(&p->b, rng, DATA_INTEGER);
    if (p->beta != 0.0f) test_array_fill(&p->c, rng, DATA_INTEGER);
    p->start = test_array_copy(&p->c);
    p->expected = test_array_copy(&p->c);
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) {
            float *const cell = &p->expected.data[i + j * p->expected.ld];
            float sum = 0.0f;
            for (int64_t x = 0; x < p->k; x++)
                sum += element(&p->a, p->transa, i, x) * element(&p->b, p->transb, x, j);
            *cell = 2.0f * sum + (p->beta != 0.0f ? p->beta * *cell : 0.0f);
        }
}

void many_end(many_product *p)
{
    test_array_free(&p->a);
    test_array_free(&p->b);
    test_array_free(&p->c);
    test_array_free(&p->start);
    test_array_free(&p->expected);
}

void many_put(many_product *p, duo_context *ctx)
{
    memcpy(p->c.block, p->start.block, p->c.block_bytes);
    p->placed[0] = test_put(ctx, p->place, &p->a);
    p->placed[1] = test_put(ctx, p->place, &p->b);
    p->placed[2] = test_put(ctx, p->place, &p->c);
}

void many_take(many_product *p, duo_context *ctx)
{
    for (int i = 0; i < 3; i++) test_take(ctx, &p->placed[i]);
}

duo_status many_call(const many_product *p, duo_context *ctx)
{
    return duo_sgemm(ctx, DUO_COL_MAJOR, p->transa ? DUO_TRANS : DUO_NO_TRANS,
                     p->transb ? DUO_TRANS : DUO_NO_TRANS, p->m, p->n, p->k, 2.0f,
                     p->placed[0].address, p->a.ld, p->placed[1].address, p->b.ld, p->beta,
                     p->placed[2].address, p->c.ld);
}

void many_check(const many_product *p)
{
    CHECK(test_array_equal(&p->c, &p->expected), "the product is wrong");
    CHECK(test_array_intact(&p->a) && test_array_intact(&p->b) && test_array_intact(&p->c),
          "written outside of C");
}

unsigned many_computed(void)
{
    const sim_operation *log;
    const size_t count = sim_log(&log);
    unsigned devices = 0;
    for (size_t i = 0; i < count; i++)
        if (log[i].kind == SIM_COMPUTE) devices |= 1u << log[i].device;
    return devices;
}

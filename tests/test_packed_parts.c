/*
 * test_packed_parts.c - operands that are packed in parts, and products of parts of them, for every
 * algorithm of a GPU that packs.
 *
 * A and B are cut into ranges of rows of op(A), and columns of op(B). The ranges are packed in any
 * order, each to its place in memory that holds poison. After each comes a product of the parts
 * packed by then. So a product that reads more than its own parts meets NaN, and NaN in other parts
 * must not show. At last the packed memory has to be the same, bit by bit, as if each operand had
 * been packed at once.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/reference/sgemm_data.h"
#include "gpu/backend/devices.h"
#include "support/arrays.h"
#include "support/calls.h"
#include "support/harness.h"
#include "support/oracle.h"
#include "support/run_algorithm.h"

enum { GRAIN = 64, MOST_PARTS = 64 }; /* rows: parts begin and end at its multiples */

/* ---- Problems ---- */

/* By columns, C := op(A) op(B), and the right result. C is poison before each product. */
typedef struct problem {
    bool transa, transb;
    int64_t m, n, k, offset;
    const duo_sgemm_data *data;
    test_array a, b, c;
    double *want, *bound, *tf32_bound; /* i * n + j */
} problem;

static void *new_bytes(size_t bytes)
{
    void *const memory = malloc(bytes);
    if (memory == NULL) exit(EXIT_FAILURE);
    return memory;
}

/* The whole call, with its operands on the host. */
static duo_call call_of(const problem *p)
{
    return test_sgemm_call(p->transa, p->transb, p->m, p->n, p->k, 1.0f, p->a.data, p->a.ld,
                           p->b.data, p->b.ld, 0.0f, p->c.data, p->c.ld);
}

/* Makes the operands of a problem with sizes and data. plant: one row of op(A), or one column of
 * op(B), has a NaN, so that only one part has it. */
static void make_operands(problem *p, test_rng *rng, bool plant)
{
    const size_t count = (size_t)(p->m * p->n);
    p->a = test_array_matrix(false, p->transa, p->m, p->k, test_between(rng, 0, 5), p->offset);
    p->b = test_array_matrix(false, p->transb, p->k, p->n, test_between(rng, 0, 5), p->offset);
    p->c = test_array_matrix(false, false, p->m, p->n, test_between(rng, 0, 5), p->offset);
    p->want = new_bytes(count * sizeof(double));
    p->bound = new_bytes(count * sizeof(double));
    p->tf32_bound = new_bytes(count * sizeof(double));
    const duo_call call = call_of(p);
    duo_sgemm_data_fill(p->data, test_random(rng), &call);
    if (plant) {
        test_array *const x = test_between(rng, 0, 1) != 0 ? &p->a : &p->b;
        x->data[test_between(rng, 0, x->length - 1) + test_between(rng, 0, x->runs - 1) * x->ld] =
            NAN;
    }
    const oracle_product q = {DUO_COL_MAJOR,
                              p->transa ? DUO_TRANS : DUO_NO_TRANS,
                              p->transb ? DUO_TRANS : DUO_NO_TRANS,
                              p->m,
                              p->n,
                              p->k,
                              1.0f,
                              p->a.data,
                              p->a.ld,
                              p->b.data,
                              p->b.ld,
                              0.0f,
                              p->c.data,
                              p->c.ld};
    oracle_sgemm(&q, p->want, p->bound);
    oracle_tf32_bound(&q, p->bound, p->tf32_bound);
    /* The bounds of the public header leave underflow out: half of the least subnormal for every
     * operation. */
    for (size_t i = 0; i < count; i++) {
        p->bound[i] += ((double)p->k + 2.0) * 0x1p-149;
        p->tf32_bound[i] += ((double)p->k + 2.0) * 0x1p-149;
    }
}

static void free_operands(problem *p)
{
    test_array_free(&p->a);
    test_array_free(&p->b);
    test_array_free(&p->c);
    free(p->want);
    free(p->bound);
    free(p->tf32_bound);
}

/* ---- Parts ---- */

/* Rows of op(A), or columns of op(B): [cut[x], cut[x + 1]) is part x. */
typedef struct parts {
    int count;
    int64_t cut[MOST_PARTS + 1];
    int order[MOST_PARTS]; /* of packing */
    bool packed[MOST_PARTS];
} parts;

static parts cut_in_parts(test_rng *rng, int64_t rows)
{
    parts p = {0};
    const int64_t grains = (rows + GRAIN - 1) / GRAIN;
    const int64_t most = 1 + grains / 3; /* grains of a part */
    for (int64_t at = 0; at < grains && p.count < MOST_PARTS - 1; at += test_between(rng, 1, most))
        p.cut[p.count++] = at * GRAIN;
    p.cut[p.count] = rows;
    for (int x = 0; x < p.count; x++) { /* a random permutation */
        const int y = (int)test_between(rng, 0, x);
        p.order[x] = p.order[y];
        p.order[y] = x;
    }
    return p;
}

/* A range of rows. */
typedef struct range {
    int64_t first, end;
} range;

/* Part x with some of the packed parts around it. */
static range packed_around(test_rng *rng, const parts *p, int x)
{
    int first = x, last = x;
    while (first > 0 && p->packed[first - 1] && test_between(rng, 0, 3) != 0) first--;
    while (last + 1 < p->count && p->packed[last + 1] && test_between(rng, 0, 3) != 0) last++;
    return (range){p->cut[first], p->cut[last + 1]};
}

/* Any part that is packed; -1: none is. */
static int any_packed(test_rng *rng, const parts *p)
{
    const int from = (int)test_between(rng, 0, p->count - 1);
    for (int x = 0; x < p->count; x++)
        if (p->packed[(from + x) % p->count]) return (from + x) % p->count;
    return -1;
}

/* ---- On the device ---- */

typedef struct machine {
    const duo_backend *backend;
    const duo_algorithm *algorithm;
    duo_queue *queue;
    void *memory[DUO_OPERANDS];
    float *address[DUO_OPERANDS]; /* of each operand's elements, p->offset floats on */
    size_t bytes[2];              /* of A and B, packed */
    void *packed[2], *at_once[2]; /* packed in parts, and as a whole */
} machine;

static void *device_memory(size_t bytes)
{
    void *memory = NULL;
    if (!CHECK_STATUS(DUO_OK, duo_backend_current()->allocate(0, bytes, &memory)))
        exit(EXIT_FAILURE);
    return memory;
}

static void to_device(const machine *on, void *to, const void *from, size_t bytes)
{
    CHECK_STATUS(DUO_OK, on->backend->copy_now(on->queue, to, bytes, from, bytes, bytes, 1));
}

static void poison_device(const machine *on, void *to, size_t bytes)
{
    float *const poison = new_bytes(bytes + sizeof(float));
    test_fill_poison(poison, (int64_t)(bytes / sizeof(float) + 1));
    to_device(on, to, poison, bytes);
    free(poison);
}

/* The call of some rows of op(A) and some columns of op(B), on the device. */
static duo_call part_of(const machine *on, const problem *p, range rows, range columns)
{
    float *const a = on->address[DUO_A] + rows.first * (p->transa ? p->a.ld : 1);
    float *const b = on->address[DUO_B] + columns.first * (p->transb ? 1 : p->b.ld);
    float *const c = on->address[DUO_C] + rows.first + columns.first * p->c.ld;
    duo_call call =
        test_sgemm_call(p->transa, p->transb, rows.end - rows.first, columns.end - columns.first,
                        p->k, 1.0f, a, p->a.ld, b, p->b.ld, 0.0f, c, p->c.ld);
    call.operand[DUO_A].packed_rows = p->m;
    call.operand[DUO_A].packed_first = rows.first;
    call.operand[DUO_B].packed_rows = p->n;
    call.operand[DUO_B].packed_first = columns.first;
    return call;
}

static machine make_machine(const duo_algorithm *algorithm, const problem *p)
{
    machine on = {.backend = duo_backend_current(), .algorithm = algorithm};
    const test_array *const array[DUO_OPERANDS] = {&p->a, &p->b, &p->c};
    const duo_call whole = call_of(p);
    if (!CHECK_STATUS(DUO_OK, on.backend->open(0, NULL, DUO_PRIORITY_NORMAL, &on.queue)))
        exit(EXIT_FAILURE);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        on.memory[i] = device_memory(array[i]->bytes + (size_t)p->offset * sizeof(float));
        on.address[i] = (float *)on.memory[i] + p->offset;
        to_device(&on, on.address[i], array[i]->data, array[i]->bytes);
    }
    const duo_call all = part_of(&on, p, (range){0, p->m}, (range){0, p->n});
    for (int i = DUO_A; i <= DUO_B; i++) {
        on.bytes[i] = on.backend->packed_bytes(algorithm->id, &whole, i);
        on.packed[i] = device_memory(on.bytes[i]);
        on.at_once[i] = device_memory(on.bytes[i]);
        poison_device(&on, on.packed[i], on.bytes[i]);
        poison_device(&on, on.at_once[i], on.bytes[i]);
        duo_call own = all; /* by its own rows, as duo_prepare packs */
        own.operand[i].packed_rows = 0;
        CHECK_STATUS(DUO_OK, on.backend->pack(on.queue, algorithm->id, &own, i, on.at_once[i]));
    }
    return on;
}

static void end_machine(machine *on)
{
    CHECK_STATUS(DUO_OK, on->backend->close(on->queue));
    for (int i = 0; i < DUO_OPERANDS; i++)
        CHECK_STATUS(DUO_OK, on->backend->release(0, on->memory[i]));
    for (int i = DUO_A; i <= DUO_B; i++) {
        CHECK_STATUS(DUO_OK, on->backend->release(0, on->packed[i]));
        CHECK_STATUS(DUO_OK, on->backend->release(0, on->at_once[i]));
    }
}

/* Elements of C in those rows and columns are right, all others are poison. */
static void check_part(const problem *p, const float *c, const double *bound, range rows,
                       range columns)
{
    int64_t wrong = 0, written = 0;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            const int64_t at = i * p->n + j;
            const float got = c[i + j * p->c.ld];
            if (rows.first <= i && i < rows.end && columns.first <= j && j < columns.end)
                wrong += !oracle_close(p->want[at], bound[at], got);
            else
                written += !test_is_poison(got);
        }
    CHECK(wrong == 0 && written == 0,
          "%jd elements are wrong and %jd written outside, of rows [%jd, %jd) and columns "
          "[%jd, %jd)",
          (intmax_t)wrong, (intmax_t)written, (intmax_t)rows.first, (intmax_t)rows.end,
          (intmax_t)columns.first, (intmax_t)columns.end);
}

/* A product of parts that are packed, of one operand or of both. */
static void multiply_part(const machine *on, const problem *p, test_rng *rng, range rows,
                          range columns)
{
    const size_t bytes = p->c.bytes;
    float *const c = new_bytes(bytes);
    duo_call call = part_of(on, p, rows, columns);
    const int64_t which = test_between(rng, 0, 5);
    if (which != 0) call.operand[DUO_A].packed = on->packed[DUO_A];
    if (which != 1) call.operand[DUO_B].packed = on->packed[DUO_B];
    to_device(on, on->address[DUO_C], p->c.data, bytes);
    CHECK_STATUS(DUO_OK, on->backend->launch(on->queue, on->algorithm->id, &call, NULL, 0));
    CHECK_STATUS(DUO_OK,
                 on->backend->copy_now(on->queue, c, bytes, on->address[DUO_C], bytes, bytes, 1));
    check_part(p, c, test_algorithm_rounds(on->algorithm) ? p->tf32_bound : p->bound, rows,
               columns);
    free(c);
}

static void check_same_as_at_once(const machine *on)
{
    for (int i = DUO_A; i <= DUO_B; i++) {
        const size_t bytes = on->bytes[i];
        char *const in_parts = new_bytes(bytes), *const whole = new_bytes(bytes);
        CHECK_STATUS(DUO_OK, on->backend->copy_now(on->queue, in_parts, bytes, on->packed[i], bytes,
                                                   bytes, 1));
        CHECK_STATUS(DUO_OK, on->backend->copy_now(on->queue, whole, bytes, on->at_once[i], bytes,
                                                   bytes, 1));
        CHECK(memcmp(in_parts, whole, bytes) == 0, "operand %d differs from what is packed at once",
              i);
        free(in_parts);
        free(whole);
    }
}

/* ---- Tests ---- */

static void pack_and_multiply(const duo_algorithm *algorithm, const problem *p, test_rng *rng)
{
    machine on = make_machine(algorithm, p);
    parts of[2] = {cut_in_parts(rng, p->m), cut_in_parts(rng, p->n)};
    int done[2] = {0, 0};
    while (done[0] + done[1] < of[0].count + of[1].count) {
        int i = (int)test_between(rng, DUO_A, DUO_B);
        if (done[i] == of[i].count) i = !i;
        const int x = of[i].order[done[i]++];
        const range part = {of[i].cut[x], of[i].cut[x + 1]};
        const duo_call call = i == DUO_A ? part_of(&on, p, part, (range){0, p->n})
                                         : part_of(&on, p, (range){0, p->m}, part);
        CHECK_STATUS(DUO_OK, on.backend->pack(on.queue, algorithm->id, &call, i, on.packed[i]));
        of[i].packed[x] = true;
        const int y = any_packed(rng, &of[!i]);
        if (y < 0) continue;
        const range mine = packed_around(rng, &of[i], x), other = packed_around(rng, &of[!i], y);
        multiply_part(&on, p, rng, i == DUO_A ? mine : other, i == DUO_A ? other : mine);
    }
    multiply_part(&on, p, rng, (range){0, p->m}, (range){0, p->n});
    check_same_as_at_once(&on);
    end_machine(&on);
}

/* Runs the problem by all algorithms that pack. Returns how many there are. */
static int all_algorithms(const problem *p, test_rng *rng)
{
    const duo_algorithm *algorithm[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithm);
    int packing = 0;
    for (int r = 0; r < count; r++) {
        const duo_call call = call_of(p);
        test_case("packed_parts/%s/%c%c/%jdx%jdx%jd/offset=%jd/%s", algorithm[r]->name,
                  p->transa ? 't' : 'n', p->transb ? 't' : 'n', (intmax_t)p->m, (intmax_t)p->n,
                  (intmax_t)p->k, (intmax_t)p->offset, p->data->name);
        if (!test_algorithm_accepts(algorithm[r], &call)) continue;
        if (duo_backend_current()->packed_bytes(algorithm[r]->id, &call, DUO_A) == 0) continue;
        pack_and_multiply(algorithm[r], p, rng);
        packing++;
    }
    return packing;
}

/* Every kind of data, with each operand stored along k and across. */
static void random_parts(void)
{
    const int64_t most = 900;
    test_rng rng = test_rng_for("packed parts");
    int packing = 0;
    for (int x = 0; x < 16 * DUO_SGEMM_KINDS; x++) {
        problem p = {.transa = test_between(&rng, 0, 1) != 0,
                     .transb = test_between(&rng, 0, 1) != 0,
                     .m = test_between(&rng, 1, most),
                     .n = test_between(&rng, 1, most),
                     .k = test_between(&rng, 64, 300),
                     .offset = test_between(&rng, 0, 1) * test_between(&rng, 1, 7),
                     .data = &duo_sgemm_kinds[x % DUO_SGEMM_KINDS]};
        make_operands(&p, &rng, x / DUO_SGEMM_KINDS % 2 != 0);
        packing += all_algorithms(&p, &rng);
        free_operands(&p);
    }
    if (packing == 0) test_skip("no algorithm of this device packs");
}

/* Data with elements so far apart that the guard refuses fp16x3 for all tiles. */
static const duo_sgemm_data *wide_data(void)
{
    const duo_sgemm_data *data = duo_sgemm_kinds;
    while (data->spread < 60) data++;
    return data;
}

/* The whole of C has as many large tiles, of 256 x 128, as an H100 has multiprocessors: then these
 * are chosen, and for most parts smaller ones. */
static void large_parts(void)
{
    test_rng rng = test_rng_for("packed parts large");
    for (int x = 0; x < 8; x++) {
        const bool aligned = x / 4 == 0;
        problem p = {.transa = x % 2 != 0,
                     .transb = x / 2 % 2 != 0,
                     .m = aligned ? 2816 : 2791,
                     .n = aligned ? 1536 : 1533,
                     .k = aligned ? 128 : 133,
                     .data = x % 4 == 3 ? wide_data() : &duo_sgemm_kinds[0]};
        make_operands(&p, &rng, x % 4 == 2);
        (void)all_algorithms(&p, &rng);
        free_operands(&p);
    }
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"random_parts", random_parts},
        {"large_parts", large_parts},
        {NULL, NULL},
    };
    return test_main(argc, argv, "packed_parts", tests);
}

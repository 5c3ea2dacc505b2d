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

#include "gpu/backend/devices.h"
#include "support/harness.h"
#include "support/oracle.h"
#include "support/problems.h"
#include "support/run_algorithm.h"

enum { GRAIN = 64, MOST_PARTS = 64 }; /* rows: parts begin and end at its multiples */

/* ---- Problems ---- */

/* A product and its operands. C is poison before each product. */
typedef struct product {
    test_problem of;
    test_operands o;
} product;

static void *new_bytes(size_t bytes)
{
    void *const memory = malloc(bytes);
    if (memory == NULL) exit(EXIT_FAILURE);
    return memory;
}

/* By columns, C := op(A) op(B). plant: one row of op(A), or one column of op(B), has a NaN, so that
 * only one part has it. */
static product new_product(test_rng *rng, const duo_sgemm_data *kind, int64_t m, int64_t n,
                           int64_t k, bool plant)
{
    product p = {.of = test_problem_random(rng)};
    p.of.layout = DUO_COL_MAJOR;
    p.of.m = m, p.of.n = n, p.of.k = k;
    p.of.alpha = 1.0f;
    p.of.beta = 0.0f;
    p.of.kind = kind;
    p.o = test_operands_make(&p.of, rng);
    if (!plant) return p;
    test_array *const x = test_between(rng, 0, 1) != 0 ? &p.o.a : &p.o.b;
    x->data[test_between(rng, 0, x->length - 1) + test_between(rng, 0, x->runs - 1) * x->ld] = NAN;
    test_operands_expect(&p.of, &p.o);
    return p;
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
    float *address[DUO_OPERANDS]; /* of each operand's elements, p->of.offset floats on */
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
static duo_call part_of(const machine *on, const product *p, range rows, range columns)
{
    duo_call call = test_problem_call(&p->of, &p->o);
    duo_call_set_sizes(&call, rows.end - rows.first, columns.end - columns.first, p->of.k);
    call.operand[DUO_A].address = on->address[DUO_A] + rows.first * (call.transa ? p->o.a.ld : 1);
    call.operand[DUO_B].address =
        on->address[DUO_B] + columns.first * (call.transb ? 1 : p->o.b.ld);
    call.operand[DUO_C].address = on->address[DUO_C] + rows.first + columns.first * p->o.c.ld;
    call.operand[DUO_A].packed_rows = p->of.m;
    call.operand[DUO_A].packed_first = rows.first;
    call.operand[DUO_B].packed_rows = p->of.n;
    call.operand[DUO_B].packed_first = columns.first;
    return call;
}

static machine make_machine(const duo_algorithm *algorithm, const product *p)
{
    machine on = {.backend = duo_backend_current(), .algorithm = algorithm};
    const test_array *const array[DUO_OPERANDS] = {&p->o.a, &p->o.b, &p->o.c};
    const duo_call whole = test_problem_call(&p->of, &p->o);
    if (!CHECK_STATUS(DUO_OK, on.backend->open(0, NULL, DUO_PRIORITY_NORMAL, &on.queue)))
        exit(EXIT_FAILURE);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        on.memory[i] = device_memory(array[i]->bytes + (size_t)p->of.offset * sizeof(float));
        on.address[i] = (float *)on.memory[i] + p->of.offset;
        to_device(&on, on.address[i], array[i]->data, array[i]->bytes);
    }
    const duo_call all = part_of(&on, p, (range){0, p->of.m}, (range){0, p->of.n});
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
static void check_part(const product *p, const float *c, const double *bound, range rows,
                       range columns)
{
    int64_t wrong = 0, written = 0;
    for (int64_t i = 0; i < p->of.m; i++)
        for (int64_t j = 0; j < p->of.n; j++) {
            const int64_t at = i * p->of.n + j;
            const float got = c[i + j * p->o.c.ld];
            if (rows.first <= i && i < rows.end && columns.first <= j && j < columns.end)
                wrong += !oracle_close(p->o.want[at], bound[at], got);
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
static void multiply_part(const machine *on, const product *p, test_rng *rng, range rows,
                          range columns)
{
    const size_t bytes = p->o.c.bytes;
    float *const c = new_bytes(bytes);
    duo_call call = part_of(on, p, rows, columns);
    const int64_t which = test_between(rng, 0, 5);
    if (which != 0) call.operand[DUO_A].packed = on->packed[DUO_A];
    if (which != 1) call.operand[DUO_B].packed = on->packed[DUO_B];
    to_device(on, on->address[DUO_C], p->o.c.data, bytes);
    CHECK_STATUS(DUO_OK, on->backend->launch(on->queue, on->algorithm->id, &call, NULL, 0));
    CHECK_STATUS(DUO_OK,
                 on->backend->copy_now(on->queue, c, bytes, on->address[DUO_C], bytes, bytes, 1));
    check_part(p, c, test_operands_bound(&p->o, on->algorithm), rows, columns);
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

static void pack_and_multiply(const duo_algorithm *algorithm, const product *p, test_rng *rng)
{
    machine on = make_machine(algorithm, p);
    parts of[2] = {cut_in_parts(rng, p->of.m), cut_in_parts(rng, p->of.n)};
    int done[2] = {0, 0};
    while (done[0] + done[1] < of[0].count + of[1].count) {
        int i = (int)test_between(rng, DUO_A, DUO_B);
        if (done[i] == of[i].count) i = !i;
        const int x = of[i].order[done[i]++];
        const range part = {of[i].cut[x], of[i].cut[x + 1]};
        const duo_call call = i == DUO_A ? part_of(&on, p, part, (range){0, p->of.n})
                                         : part_of(&on, p, (range){0, p->of.m}, part);
        CHECK_STATUS(DUO_OK, on.backend->pack(on.queue, algorithm->id, &call, i, on.packed[i]));
        of[i].packed[x] = true;
        const int y = any_packed(rng, &of[!i]);
        if (y < 0) continue;
        const range mine = packed_around(rng, &of[i], x), other = packed_around(rng, &of[!i], y);
        multiply_part(&on, p, rng, i == DUO_A ? mine : other, i == DUO_A ? other : mine);
    }
    multiply_part(&on, p, rng, (range){0, p->of.m}, (range){0, p->of.n});
    check_same_as_at_once(&on);
    end_machine(&on);
}

/* Runs the problem by all algorithms that pack. Returns how many there are. */
static int all_algorithms(const product *p, test_rng *rng)
{
    const duo_algorithm *algorithm[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithm);
    int packing = 0;
    for (int r = 0; r < count; r++) {
        const duo_call call = test_problem_call(&p->of, &p->o);
        test_problem_name(&p->of, "packed_parts", algorithm[r]->name);
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
        const int64_t m = test_between(&rng, 1, most), n = test_between(&rng, 1, most);
        product p = new_product(&rng, &duo_sgemm_kinds[x % DUO_SGEMM_KINDS], m, n,
                                test_between(&rng, 64, 300), x / DUO_SGEMM_KINDS % 2 != 0);
        packing += all_algorithms(&p, &rng);
        test_operands_free(&p.o);
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
        product p =
            new_product(&rng, x % 4 == 3 ? wide_data() : &duo_sgemm_kinds[0], aligned ? 2816 : 2791,
                        aligned ? 1536 : 1533, aligned ? 128 : 133, x % 4 == 2);
        (void)all_algorithms(&p, &rng);
        test_operands_free(&p.o);
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

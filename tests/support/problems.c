/* problems.c - products with their operands and right results (problems.h). */
#include "support/problems.h"

#include <stdlib.h>

#include "support/harness.h"

static char letter(duo_transpose trans)
{
    return trans == DUO_NO_TRANS ? 'n' : trans == DUO_TRANS ? 't' : 'c';
}

void test_problem_name(const test_problem *p, const char *suite, const char *where)
{
    test_case("%s/%s/%s%c%c/%jdx%jdx%jd/ld+%jd,%jd,%jd/a=%g,b=%g/offset=%jd/%s", suite, where,
              p->layout == DUO_ROW_MAJOR ? "row-major " : "", letter(p->transa), letter(p->transb),
              (intmax_t)p->m, (intmax_t)p->n, (intmax_t)p->k, (intmax_t)p->extra_a,
              (intmax_t)p->extra_b, (intmax_t)p->extra_c, (double)p->alpha, (double)p->beta,
              (intmax_t)p->offset, test_data_name(p->data));
}

/* The stored matrix X for an op(X) of rows x columns. */
static test_array new_matrix(const test_problem *p, duo_transpose trans, int64_t rows,
                             int64_t columns, int64_t extra)
{
    return test_array_matrix(p->layout == DUO_ROW_MAJOR, trans != DUO_NO_TRANS, rows, columns,
                             extra, p->offset);
}

oracle_product test_problem_product(const test_problem *p, const test_operands *o)
{
    return (oracle_product){p->layout, p->transa, p->transb,        p->m,    p->n,
                            p->k,      p->alpha,  o->a.data,        o->a.ld, o->b.data,
                            o->b.ld,   p->beta,   o->c_before.data, o->c.ld};
}

test_operands test_operands_make(const test_problem *p, test_rng *rng)
{
    test_operands o = {.a = new_matrix(p, p->transa, p->m, p->k, p->extra_a),
                       .b = new_matrix(p, p->transb, p->k, p->n, p->extra_b),
                       .c = new_matrix(p, DUO_NO_TRANS, p->m, p->n, p->extra_c)};
    if (p->alpha != 0.0f) {
        test_array_fill(&o.a, rng, p->data);
        test_array_fill(&o.b, rng, p->data);
    }
    if (p->beta != 0.0f) test_array_fill(&o.c, rng, p->data);
    o.c_before = test_array_copy(&o.c);
    const size_t count = (size_t)(p->m * p->n) + 1;
    o.want = malloc(count * sizeof(double));
    o.bound = malloc(count * sizeof(double));
    if (o.want == NULL || o.bound == NULL) exit(EXIT_FAILURE);
    const oracle_product q = test_problem_product(p, &o);
    oracle_sgemm(&q, o.want, o.bound);
    return o;
}

void test_operands_free(test_operands *o)
{
    test_array_free(&o->a);
    test_array_free(&o->b);
    test_array_free(&o->c);
    test_array_free(&o->c_before);
    free(o->want);
    free(o->bound);
}

void test_operands_check(const test_problem *p, const test_operands *o, int status)
{
    if (!CHECK(status == DUO_OK, "status %d", status)) return;
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            const double want = o->want[i * p->n + j];
            const double bound = p->data == DATA_INTEGER ? 0.0 : o->bound[i * p->n + j];
            const float got = o->c.data[oracle_index(p->layout, i, j, o->c.ld)];
            if (!oracle_close(want, bound, got)) {
                CHECK(false, "C(%jd,%jd) = %.9g, expected %.12g within %.3g", (intmax_t)i,
                      (intmax_t)j, (double)got, want, bound);
                return;
            }
        }
    }
    CHECK(test_array_intact(&o->a) && test_array_intact(&o->b) && test_array_intact(&o->c),
          "written outside C");
}

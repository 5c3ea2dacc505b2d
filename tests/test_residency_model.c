/*
 * test_residency_model.c - random calls on one large array with changing kept parts, and on some
 * blocks of device memory, against plain loops over the right values.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "support/data.h"
#include "support/exact.h"
#include "support/harness.h"

/*
 * One host array with kept parts, and some blocks of device memory; `truth` has the right value of
 * each element. Every value is a small integer, so sums and products are exact.
 */
enum { BLOCKS = 4, BLOCK_FLOATS = 2000, CONTEXTS = 3, LARGEST_VALUE = 1 << 12, FACTORS = 6 };

typedef struct space {
    float *address;
    float *truth;
    int64_t count;
} space;

/* Columns of rows, ld apart, somewhere in a space. */
typedef struct piece {
    int space;
    int64_t at, rows, columns, ld;
} piece;

typedef struct model {
    space space[1 + BLOCKS]; /* the array, then the blocks */
    piece factor[FACTORS];   /* places where A or B often is */
    int *owner;              /* each element's kept range; 0: none */
    int next_owner;
    int64_t longest; /* of a kept range */
    duo_context *context[CONTEXTS];
    test_rng rng;
    bool wrong;
} model;

static int64_t any(model *w, int64_t low, int64_t high) { return test_between(&w->rng, low, high); }

static duo_context *any_context(model *w) { return w->context[any(w, 0, CONTEXTS - 1)]; }

static int64_t span(const piece *p) { return (p->columns - 1) * p->ld + p->rows; }

static piece any_piece(model *w, int64_t rows, int64_t columns)
{
    piece p = {.rows = rows, .columns = columns, .ld = rows + any(w, 0, 3) * any(w, 0, 3)};
    p.space = any(w, 0, 2) > 0 ? 0 : (int)any(w, 1, BLOCKS);
    if (span(&p) > w->space[p.space].count) p.space = 0;
    p.at = any(w, 0, w->space[p.space].count - span(&p));
    return p;
}

static bool overlap(const piece *p, const piece *q)
{
    return p->space == q->space && p->at < q->at + span(q) && q->at < p->at + span(p);
}

static float *address(model *w, const piece *p) { return w->space[p->space].address + p->at; }

static float *truth(model *w, const piece *p, int64_t i, int64_t j)
{
    return &w->space[p->space].truth[p->at + i + j * p->ld];
}

static bool kept_anywhere(const model *w, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++)
        if (w->owner[i] != 0) return true;
    return false;
}

/* Host memory that is not kept must always be current: looks around the elements that a call
 * touched. */
static void check_around(model *w, int64_t from, int64_t to)
{
    const space *const s = &w->space[0];
    from = from < 200 ? 0 : from - 200;
    to = to + 200 > s->count ? s->count : to + 200;
    for (int64_t i = from; i < to && !w->wrong; i++)
        if (w->owner[i] == 0)
            w->wrong = !CHECK(s->address[i] == s->truth[i], "element %jd is %g, should be %g",
                              (intmax_t)i, (double)s->address[i], (double)s->truth[i]);
}

/* The whole kept range around an element must be current now. */
static void check_range_at(model *w, int64_t at)
{
    const space *const s = &w->space[0];
    const int owner = w->owner[at];
    int64_t i = at;
    while (i > 0 && w->owner[i - 1] == owner) i--;
    for (; i < s->count && w->owner[i] == owner && !w->wrong; i++)
        w->wrong = !CHECK(s->address[i] == s->truth[i], "fetched element %jd is %g, should be %g",
                          (intmax_t)i, (double)s->address[i], (double)s->truth[i]);
}

static void expect(model *w, duo_status expected, duo_status got, const char *what)
{
    if (got != expected) w->wrong = !CHECK(got == expected, "%s: status %d", what, (int)got);
}

static void do_keep(model *w)
{
    space *const s = &w->space[0];
    const int64_t length = any(w, 1, w->longest), at = any(w, 0, s->count - length);
    const int inside = w->owner[at];
    bool uniform = true;
    for (int64_t i = at; i < at + length; i++) uniform = uniform && w->owner[i] == inside;
    const bool fresh = !kept_anywhere(w, at, at + length);
    const duo_status expected = uniform ? DUO_OK : DUO_ERR_RANGE;
    expect(w, expected, duo_keep(any_context(w), s->address + at, (size_t)length * sizeof(float)),
           "keep");
    if (fresh) {
        w->next_owner++;
        for (int64_t i = at; i < at + length; i++) w->owner[i] = w->next_owner;
    }
}

static void do_release(model *w)
{
    space *const s = &w->space[0];
    const int64_t at = any(w, 0, s->count - 1);
    const int owner = w->owner[at];
    expect(w, owner != 0 ? DUO_OK : DUO_ERR_RANGE, duo_release(any_context(w), s->address + at),
           "release");
    if (owner == 0) return;
    check_range_at(w, at);
    int64_t first = at, last = at;
    while (first > 0 && w->owner[first - 1] == owner) first--;
    while (last < s->count && w->owner[last] == owner) last++;
    for (int64_t i = first; i < last; i++) w->owner[i] = 0;
}

static void fetch_part(model *w, int64_t at, int64_t length)
{
    space *const s = &w->space[0];
    expect(w, DUO_OK, duo_fetch(any_context(w), s->address + at, (size_t)length * sizeof(float)),
           "fetch");
    for (int64_t i = at; i < at + length && !w->wrong; i++)
        if (i == at || w->owner[i] != w->owner[i - 1]) check_range_at(w, i);
}

/* The program writes to a part: fetch, write, say so. */
static void do_change(model *w)
{
    space *const s = &w->space[0];
    const int64_t length = any(w, 1, 300), at = any(w, 0, s->count - length);
    fetch_part(w, at, length);
    for (int64_t i = at; i < at + length; i++) s->address[i] = s->truth[i] = (float)any(w, -4, 4);
    expect(w, DUO_OK, duo_changed(any_context(w), s->address + at, (size_t)length * sizeof(float)),
           "changed");
}

static void do_fetch(model *w)
{
    const int64_t length = any(w, 1, 400);
    fetch_part(w, any(w, 0, w->space[0].count - length), length);
}

static void do_reduce(model *w)
{
    const int64_t n = any(w, 1, 400), stride = any(w, 0, 3) == 0 ? any(w, 2, 5) : 1;
    piece x = any_piece(w, 1, n), y = any_piece(w, 1, n);
    x.ld = stride;
    if (x.at + span(&x) > w->space[x.space].count) x.at = w->space[x.space].count - span(&x);
    y.ld = 1;
    if (x.at < 0) return;
    int64_t sum = 0, dot = 0, magnitude = 0, dot_magnitude = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t a = (int64_t)*truth(w, &x, 0, i), b = (int64_t)*truth(w, &y, 0, i);
        sum += a;
        magnitude += llabs(a);
        dot += a * b;
        dot_magnitude += llabs(a * b);
    }
    const int which = (int)any(w, 0, 2);
    if ((which == 2 ? dot_magnitude : magnitude) > 1 << 23) return;
    duo_context *const ctx = any_context(w);
    piece target = any_piece(w, 1, 1);
    const bool elsewhere = any(w, 0, 2) == 0; /* the result goes into the world */
    float value = test_poison();
    float *const result = elsewhere ? address(w, &target) : &value;
    const int64_t expected = which == 0 ? sum : which == 1 ? magnitude : dot;
    if (elsewhere && llabs(expected) > LARGEST_VALUE) return;
    duo_status status;
    if (which == 0)
        status = duo_ssum(ctx, n, address(w, &x), stride, result);
    else if (which == 1)
        status = duo_sasum(ctx, n, address(w, &x), stride, result);
    else
        status = duo_sdot(ctx, n, address(w, &x), stride, address(w, &y), 1, result);
    expect(w, DUO_OK, status, "reduction");
    if (elsewhere) {
        *truth(w, &target, 0, 0) = (float)expected;
        if (target.space == 0) check_around(w, target.at, target.at + 1);
    } else if (!w->wrong) {
        w->wrong = !CHECK(value == (float)expected, "%d: got %g, expected %jd", which,
                          (double)value, (intmax_t)expected);
    }
}

static void do_sgemm(model *w)
{
    int64_t m = any(w, 1, 14), n = any(w, 1, 14), k = any(w, 0, 5);
    piece a = any_piece(w, m, k > 0 ? k : 1), b = any_piece(w, k > 0 ? k : 1, n);
    const piece usual = w->factor[any(w, 0, FACTORS - 1)];
    const int as = (int)any(w, 0, 2);
    if (as == 1) {
        a = usual;
        m = a.rows;
        k = a.columns;
        b = any_piece(w, k, n);
    } else if (as == 2) {
        b = usual;
        k = b.rows;
        n = b.columns;
        a = any_piece(w, m, k);
    }
    const piece c = any_piece(w, m, n);
    if (overlap(&c, &a) || overlap(&c, &b)) return;
    float alpha = (float)any(w, -1, 1), beta = (float)any(w, -1, 1);
    float cells[14 * 14];
    for (int round = 0; round < 2; round++) {
        bool small = true;
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++) {
                float cell = 0.0f;
                for (int64_t p = 0; p < k; p++) cell += *truth(w, &a, i, p) * *truth(w, &b, p, j);
                cell = alpha * cell + beta * *truth(w, &c, i, j);
                small = small && fabsf(cell) <= LARGEST_VALUE;
                cells[i + j * m] = cell;
            }
        if (small) break;
        alpha = beta = 0.0f; /* the numbers have grown too large: clear C instead */
    }
    expect(w, DUO_OK,
           duo_sgemm(any_context(w), DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, m, n, k, alpha,
                     address(w, &a), a.ld, address(w, &b), b.ld, beta, address(w, &c), c.ld),
           "sgemm");
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) *truth(w, &c, i, j) = cells[i + j * m];
    if (c.space == 0) check_around(w, c.at, c.at + span(&c));
}

/* Prepares a factor, and sometimes takes that back. Every later change of it is told as usual. */
static void do_prepare(model *w)
{
    const piece p = w->factor[any(w, 0, FACTORS - 1)];
    const bool back = any(w, 0, 4) == 0;
    const int64_t length = back ? 1 : span(&p);
    bool whole = p.space > 0 || w->owner[p.at] != 0;
    for (int64_t i = p.at; p.space == 0 && i < p.at + length; i++)
        whole = whole && w->owner[i] == w->owner[p.at];
    expect(w, whole ? DUO_OK : DUO_ERR_RANGE,
           duo_prepare(any_context(w), address(w, &p), back ? 0 : (size_t)length * sizeof(float)),
           "prepare");
}

static void do_copy(model *w)
{
    const int64_t length = any(w, 1, 500);
    piece from = any_piece(w, length, 1), to = any_piece(w, length, 1);
    if (overlap(&from, &to)) return;
    expect(w, DUO_OK,
           duo_copy(any_context(w), address(w, &to), address(w, &from),
                    (size_t)length * sizeof(float)),
           "copy");
    memcpy(truth(w, &to, 0, 0), truth(w, &from, 0, 0), (size_t)length * sizeof(float));
    if (to.space == 0) check_around(w, to.at, to.at + length);
}

static void do_look(model *w)
{
    space *const s = &w->space[any(w, 1, BLOCKS)];
    float *const got = new_floats(s->count);
    expect(w, DUO_OK, duo_copy(any_context(w), got, s->address, (size_t)s->count * sizeof(float)),
           "copy");
    for (int64_t i = 0; i < s->count && !w->wrong; i++)
        w->wrong = !CHECK(got[i] == s->truth[i], "device element %jd is %g, should be %g",
                          (intmax_t)i, (double)got[i], (double)s->truth[i]);
    free(got);
}

static void do_policy(model *w)
{
    duo_context *const ctx = any_context(w);
    switch (any(w, 0, 7)) {
    case 0:
        expect(w, DUO_OK, duo_set_path(ctx, DUO_PATH_CPU), "path");
        break;
    case 1:
        expect(w, DUO_OK, duo_set_path(ctx, DUO_PATH_AUTO), "path");
        break;
    case 2:
        expect(w, DUO_OK, duo_trim(ctx), "trim");
        break;
    case 3:
        expect(w, DUO_OK, duo_synchronize(ctx), "synchronize");
        break;
    case 4: { /* another context in its place */
        const int i = (int)any(w, 0, CONTEXTS - 1);
        expect(w, DUO_OK, duo_destroy(w->context[i]), "destroy");
        w->context[i] = test_context();
        break;
    }
    default:
        expect(w, DUO_OK, duo_set_path(ctx, test_path()), "path");
    }
}

static void run_model(const char *label, int64_t count, int64_t longest, int keeps, int steps)
{
    static model w;
    w = (model){.rng = test_rng_for(label), .longest = longest};
    test_case("%s/start", label);
    for (int i = 0; i < CONTEXTS; i++) w.context[i] = test_context();
    for (int i = 0; i <= BLOCKS; i++) {
        space *const s = &w.space[i];
        *s = (space){.count = i == 0 ? count : BLOCK_FLOATS};
        s->truth = new_floats(s->count);
        fill(s->truth, s->count, i);
        void *memory = NULL;
        if (i > 0) CHECK_STATUS(DUO_OK, duo_malloc(w.context[0], BLOCK_FLOATS * 4, &memory));
        s->address = i == 0 ? new_floats(count) : memory;
        CHECK_STATUS(
            DUO_OK, duo_copy(w.context[0], s->address, s->truth, (size_t)s->count * sizeof(float)));
    }
    w.owner = calloc((size_t)count, sizeof *w.owner);
    for (int i = 0; i < FACTORS; i++) w.factor[i] = any_piece(&w, any(&w, 1, 14), any(&w, 1, 5));
    for (int i = 0; i < keeps; i++) do_keep(&w);
    for (int step = 0; step < steps && !w.wrong; step++) {
        if (step % 100 == 0) test_case("%s/step-%d..", label, step);
        if (test_on_sim() && step % 50 == 0) sim_set_delay(any(&w, 0, 3) == 0 ? 40 : 0);
        const int64_t what = any(&w, 0, 99);
        if (what < 6)
            do_keep(&w);
        else if (what < 12)
            do_release(&w);
        else if (what < 22)
            do_change(&w);
        else if (what < 30)
            do_fetch(&w);
        else if (what < 33)
            do_prepare(&w);
        else if (what < 55)
            do_reduce(&w);
        else if (what < 85)
            do_sgemm(&w);
        else if (what < 93)
            do_copy(&w);
        else if (what < 95)
            do_look(&w);
        else
            do_policy(&w);
        if (step % 500 == 499) check_around(&w, 0, count);
        if (w.wrong)
            printf("    %s: first wrong after step %d (%jd)\n", label, step, (intmax_t)what);
    }
    test_case("%s/end", label);
    for (int64_t i = 0; i < count; i++) { /* release all */
        if (w.owner[i] == 0) continue;
        const int owner = w.owner[i];
        CHECK_STATUS(DUO_OK, duo_release(w.context[0], w.space[0].address + i));
        for (; i < count && w.owner[i] == owner; i++) w.owner[i] = 0;
        i--;
    }
    CHECK(w.wrong || same_floats(w.space[0].address, w.space[0].truth, count), "wrong at the end");
    for (int i = 0; i <= BLOCKS; i++) {
        if (i > 0)
            CHECK_STATUS(DUO_OK, duo_free(w.context[0], w.space[i].address));
        else
            free(w.space[i].address);
        free(w.space[i].truth);
    }
    free(w.owner);
    if (test_on_sim()) sim_set_delay(0);
    for (int i = 0; i < CONTEXTS; i++) test_context_end(w.context[i]);
    if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

static void model_few(void) { run_model("model/few", 6000, 900, 8, 4000); }
static void model_many(void) { run_model("model/many", 300000, 90, 6000, 3000); }

static const test_entry tests[] = {
    {"model_few", model_few},
    {"model_many", model_many},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "residency_model", tests); }

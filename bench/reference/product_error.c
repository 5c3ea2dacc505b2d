/* product_error.c - see product_error.h */
#include "bench/reference/product_error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/reference/exact_product.h"

/* The most multiplications for one exact product, some tenths of a second; and its most entries. */
static const double kMostWork[2] = {0x1p29, 0x1p37}; /* CPU, GPU */
static const double kMostEntries = 0x1p24;
static const double kUnit = 0x1p-24;

static int64_t sample_of(const duo_call *call, double most_work)
{
    const double by_work = most_work / ((double)call->m * (double)call->k + 1.0);
    const double by_entries = kMostEntries / (double)call->m;
    const double columns = fmin(fmin(by_work, by_entries), (double)call->n);
    return columns < 1.0 ? 1 : (int64_t)columns;
}

/* Computes one column: by columns of op(A) if they are contiguous, else by rows. */
static void compute_column(const duo_call *call, int64_t j, double *product, double *magnitude)
{
    const duo_operand *const a = &call->operand[DUO_A], *const b = &call->operand[DUO_B];
    const float *const from = b->address + (call->transb ? j : j * b->ld);
    const int64_t step = call->transb ? b->ld : 1;
    for (int64_t i = 0; i < call->m && call->transa; i++) {
        double sum = 0.0, size = 0.0;
        for (int64_t l = 0; l < call->k; l++) {
            const double term = (double)a->address[l + i * a->ld] * (double)from[l * step];
            sum += term;
            size += fabs(term);
        }
        product[i] = sum;
        magnitude[i] = size;
    }
    if (call->transa) return;
    memset(product, 0, (size_t)call->m * sizeof *product);
    memset(magnitude, 0, (size_t)call->m * sizeof *magnitude);
    for (int64_t l = 0; l < call->k; l++) {
        const double factor = from[l * step];
        for (int64_t i = 0; i < call->m; i++) {
            const double term = (double)a->address[i + l * a->ld] * factor;
            product[i] += term;
            magnitude[i] += fabs(term);
        }
    }
}

bool duo_product_exact_open(duo_product_exact *exact, const duo_call *host, const duo_call *device,
                            void *stream)
{
    const bool gpu = device != NULL && stream != NULL;
    *exact = (duo_product_exact){.m = host->m, .n = host->n, .k = host->k};
    exact->columns = sample_of(host, kMostWork[gpu]);
    const size_t count = (size_t)exact->m * (size_t)exact->columns;
    exact->product = malloc(count * sizeof(double));
    exact->magnitude = malloc(count * sizeof(double));
    bool good = exact->product != NULL && exact->magnitude != NULL;
    if (good && gpu)
        good = duo_exact_product(device, exact->columns, exact->product, exact->magnitude, stream);
    else if (good) {
#pragma omp parallel for schedule(dynamic)
        for (int64_t j = 0; j < exact->columns; j++)
            compute_column(host, duo_product_column(j, exact->columns, exact->n),
                           exact->product + j * exact->m, exact->magnitude + j * exact->m);
    }
    if (!good) duo_product_exact_close(exact);
    return good;
}

void duo_product_exact_close(duo_product_exact *exact)
{
    free(exact->product);
    free(exact->magnitude);
    exact->product = exact->magnitude = NULL;
}

/* Sums over one column, and its largest values. */
typedef struct sums {
    double errors, products; /* of squares */
    double largest, share;
    int64_t unequal, wrong;
} sums;

static void judge(const duo_product_exact *exact, int64_t at, float got, sums *s)
{
    const double want = exact->product[at], size = exact->magnitude[at];
    const double k = (double)exact->k;
    const float nearest = (float)want;
    const double error = fabs((double)got - want);
    if (isnan(nearest) ? isnan(got) : got == nearest) {
        if (!isfinite(nearest)) return;
    } else {
        s->unequal++;
        if (!isfinite(nearest) || !isfinite(got)) {
            s->wrong++;
            return;
        }
    }
    s->errors += error * error;
    s->products += want * want;
    if (error <= 0.0) return;
    s->largest = fmax(s->largest, error / (size * kUnit));
    s->share = fmax(s->share, error / ((k + 3.0) * kUnit * size + (k + 2.0) * 0x1p-149));
}

static void add(sums *all, const sums *one)
{
    all->errors += one->errors;
    all->products += one->products;
    all->largest = fmax(all->largest, one->largest);
    all->share = fmax(all->share, one->share);
    all->unequal += one->unequal;
    all->wrong += one->wrong;
}

/* Fetches the sample's columns of C, one behind the other. */
static bool fetch(duo_context *context, const duo_product_exact *exact, const duo_operand *c,
                  float *sample)
{
    const bool whole = exact->columns == exact->n && c->ld == exact->m;
    const size_t bytes = (size_t)exact->m * sizeof *sample;
    bool good = true;
    if (whole) good = duo_copy(context, sample, c->address, bytes * (size_t)exact->n) == DUO_OK;
    for (int64_t j = 0; j < exact->columns && good && !whole; j++)
        good = duo_copy(context, sample + j * exact->m,
                        c->address + duo_product_column(j, exact->columns, exact->n) * c->ld,
                        bytes) == DUO_OK;
    return duo_synchronize(context) == DUO_OK && good;
}

bool duo_product_error(duo_context *context, const duo_product_exact *exact, const duo_operand *c,
                       duo_product_errors *errors)
{
    sums all = {0};
    float *const sample = malloc((size_t)exact->m * (size_t)exact->columns * sizeof *sample);
    const bool good = sample != NULL && fetch(context, exact, c, sample);
    if (good) {
#pragma omp parallel for
        for (int64_t j = 0; j < exact->columns; j++) {
            sums column = {0};
            for (int64_t at = j * exact->m; at < (j + 1) * exact->m; at++)
                judge(exact, at, sample[at], &column);
#pragma omp critical
            add(&all, &column);
        }
    }
    free(sample);
    *errors =
        (duo_product_errors){.frobenius = all.errors > 0.0 ? sqrt(all.errors / all.products) : 0.0,
                             .largest = all.largest,
                             .share = all.share,
                             .unequal = all.unequal,
                             .wrong = all.wrong};
    return good;
}

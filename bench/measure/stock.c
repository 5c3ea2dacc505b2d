/* stock.c - see stock.h */
#include "bench/measure/stock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const duo_place_names[DUO_PLACES] = {"pageable", "pinned", "resident"};
const char *const duo_place_titles[DUO_PLACES] = {"plain", "pinned", "on the GPU"};

enum { BOUNDARY_FLOATS = 64, BOUNDARY_BYTES = 4 * BOUNDARY_FLOATS };

static size_t rounded(int64_t floats)
{
    return ((size_t)floats + BOUNDARY_FLOATS - 1) / BOUNDARY_FLOATS * BOUNDARY_FLOATS;
}

/* Floats of a matrix, rounded up; if the size overflows, more than any machine has. */
static size_t rounded_matrix(int64_t rows, int64_t columns)
{
    const int64_t most = INT64_MAX / 64;
    int64_t floats;
    const bool fits = !__builtin_mul_overflow(rows, columns, &floats) && floats < most;
    return rounded(fits ? floats : most);
}

/* Floats of operand i of sgemm, including the gap behind the last column. */
static size_t matrix_floats(const duo_problem *problem, int i)
{
    return rounded_matrix(duo_problem_ld(problem, i), duo_problem_columns(problem, i));
}

size_t duo_problem_input_floats(const duo_problem *problem)
{
    const int64_t *const s = problem->shape;
    switch (problem->operation) {
    case DUO_SGEMM:
        return matrix_floats(problem, DUO_A) + matrix_floats(problem, DUO_B);
    case DUO_SDOT:
        return 2 * rounded(s[0]);
    default:
        return rounded(s[0]);
    }
}

size_t duo_problem_output_floats(const duo_problem *problem)
{
    return problem->operation == DUO_SGEMM ? matrix_floats(problem, DUO_C)
                                           : (size_t)BOUNDARY_FLOATS;
}

/* ---- Memory ---- */

static float *take(const duo_stock *stock, size_t floats)
{
    void *block = NULL;
    switch (stock->place) {
    case DUO_PLACE_PAGEABLE:
        return aligned_alloc(BOUNDARY_BYTES, 4 * rounded((int64_t)floats));
    case DUO_PLACE_PINNED:
        return duo_malloc_host(stock->context, 4 * floats, &block) == DUO_OK ? block : NULL;
    default:
        return duo_malloc(stock->context, 4 * floats, &block) == DUO_OK ? block : NULL;
    }
}

static void give(const duo_stock *stock, float *block)
{
    switch (stock->place) {
    case DUO_PLACE_PAGEABLE:
        free(block);
        break;
    case DUO_PLACE_PINNED:
        (void)duo_free_host(stock->context, block);
        break;
    default:
        (void)duo_free(stock->context, block);
    }
}

void duo_fill_random(float *x, size_t count, uint64_t seed)
{
    /* xorshift64*, Vigna, ACM TOMS 42 (2016) 30 */
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du;
    if (state == 0) state = 1;
    for (size_t i = 0; i < count; i++) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        const int32_t bits = (int32_t)(state * 0x2545F4914F6CDD1Du >> 40); /* 24 bits */
        x[i] = (float)(2 * bits + 1 - (1 << 24)) * 0x1p-24f;               /* odd, so never zero */
    }
}

bool duo_stock_open(duo_stock *stock, duo_context *context, duo_place place, size_t input_floats,
                    size_t output_floats, uint64_t seed, const duo_stock *source)
{
    *stock = (duo_stock){.place = place,
                         .context = context,
                         .input_floats = input_floats,
                         .output_floats = output_floats};
    stock->input = take(stock, input_floats);
    stock->output = take(stock, output_floats);
    bool good = stock->input != NULL && stock->output != NULL;
    if (good && source == NULL)
        duo_fill_random(stock->input, input_floats, seed);
    else if (good)
        good = duo_copy(context, stock->input, source->input, 4 * input_floats) == DUO_OK &&
               duo_synchronize(context) == DUO_OK;
    /* Host pages exist only after they are written. */
    if (good && place != DUO_PLACE_DEVICE) memset(stock->output, 0, 4 * output_floats);
    if (!good) duo_stock_close(stock);
    return good;
}

void duo_stock_close(duo_stock *stock)
{
    if (stock->input != NULL) give(stock, stock->input);
    if (stock->output != NULL) give(stock, stock->output);
    stock->input = stock->output = NULL;
    stock->input_floats = stock->output_floats = 0;
}

/* ---- Calls ---- */

int64_t duo_stock_slots(const duo_stock *stock, const duo_problem *problem)
{
    const size_t input = duo_problem_input_floats(problem);
    const size_t output = duo_problem_output_floats(problem);
    const size_t offset = stock->offset_floats;
    if (input + offset > stock->input_floats || output + offset > stock->output_floats) return 0;
    const size_t inputs = (stock->input_floats - offset) / input;
    const size_t outputs = (stock->output_floats - offset) / output;
    size_t slots = stock->rotate_bytes / (4 * (input + output)) + 1;
    if (slots > inputs) slots = inputs;
    if (problem->operation == DUO_SGEMM && slots > outputs) slots = outputs;
    return (int64_t)slots;
}

/* The address `floats` behind base. NULL: the stock has no memory, and serves for predictions. */
static float *at(float *base, size_t floats) { return base == NULL ? NULL : base + floats; }

static duo_operand operand(const duo_stock *stock, float *address, int64_t rows, int64_t columns,
                           bool written)
{
    static const duo_residence residence[DUO_PLACES] = {DUO_AT_PAGEABLE, DUO_AT_PINNED,
                                                        DUO_AT_DEVICE};
    return (duo_operand){.address = address,
                         .rows = rows,
                         .columns = columns,
                         .ld = rows,
                         .read = !written,
                         .written = written,
                         .residence = residence[stock->place],
                         .on_host = stock->place != DUO_PLACE_DEVICE,
                         .on_device = stock->place == DUO_PLACE_DEVICE};
}

/* Operand i of sgemm. */
static duo_operand matrix(const duo_stock *stock, float *address, const duo_problem *problem, int i)
{
    duo_operand o = operand(stock, address, duo_problem_rows(problem, i),
                            duo_problem_columns(problem, i), i == DUO_C);
    o.ld = duo_problem_ld(problem, i);
    o.read = i != DUO_C || problem->beta != 0.0f;
    return o;
}

duo_call duo_problem_call(const duo_problem *problem, const duo_stock *stock, int64_t slot)
{
    const int64_t m = problem->shape[0], n = problem->shape[1], k = problem->shape[2];
    const size_t offset = stock->offset_floats;
    float *const input =
        at(stock->input, offset + (size_t)slot * duo_problem_input_floats(problem));
    /* All results of reductions go to one place. */
    const size_t ahead = problem->operation == DUO_SGEMM ? (size_t)slot : 0;
    float *const output = at(stock->output, offset + ahead * duo_problem_output_floats(problem));
    duo_call call = {.operation = problem->operation, .alpha = 1.0f, .threads = 1};
    if (problem->operation == DUO_SGEMM) {
        call.m = m;
        call.n = n;
        call.k = k;
        call.transa = problem->transa;
        call.transb = problem->transb;
        call.beta = problem->beta;
        call.operand[DUO_A] = matrix(stock, input, problem, DUO_A);
        call.operand[DUO_B] =
            matrix(stock, at(input, matrix_floats(problem, DUO_A)), problem, DUO_B);
        call.operand[DUO_C] = matrix(stock, output, problem, DUO_C);
        return call;
    }
    call.m = 1;
    call.n = m;
    call.operand[DUO_X] = operand(stock, input, 1, m, false);
    if (problem->operation == DUO_SDOT)
        call.operand[DUO_Y] = operand(stock, at(input, rounded(m)), 1, m, false);
    call.operand[DUO_RESULT] = operand(stock, output, 1, 1, true);
    return call;
}

double duo_available_bytes(void)
{
    double available = 1e300;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        long long kilobytes;
        if (sscanf(line, "MemAvailable: %lld", &kilobytes) == 1)
            available = 1024.0 * (double)kilobytes;
    }
    if (file != NULL) fclose(file);
    double limit = 1e300, used = 0.0; /* of a container */
    if ((file = fopen("/sys/fs/cgroup/memory.max", "r")) != NULL) {
        if (fscanf(file, "%lf", &limit) != 1) limit = 1e300;
        fclose(file);
    }
    if ((file = fopen("/sys/fs/cgroup/memory.current", "r")) != NULL) {
        if (fscanf(file, "%lf", &used) != 1) used = 0.0;
        fclose(file);
    }
    return limit - used < available ? limit - used : available;
}

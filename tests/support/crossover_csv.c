/* crossover_csv.c - see crossover_csv.h */
#include "support/crossover_csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/tool/arguments.h"
#include "support/harness.h"

/* The family of a product, by the place of n in its shape. */
static const char *family_of(const duo_problem *problem)
{
    const int64_t *const s = problem->shape;
    if (problem->operation != DUO_SGEMM) return "n";
    if (s[0] == s[1] && s[1] == s[2]) return "n x n x n";
    return s[2] == 16 ? "n x n x 16" : s[1] == 16 ? "n x 16 x n" : "16 x n x n";
}

/* The case of a problem: the last one, or a new one. */
static duo_case *case_of(duo_crossover *x, const duo_problem *problem)
{
    duo_case *const last = &x->item[x->cases > 0 ? x->cases - 1 : 0];
    if (x->cases > 0 && memcmp(&last->problem, problem, sizeof *problem) == 0) return last;
    duo_case *const c = &x->item[x->cases++];
    c->problem = *problem;
    c->family = family_of(problem);
    c->n = problem->shape[0] > problem->shape[1] ? problem->shape[0] : problem->shape[1];
    x->wanted[problem->operation] = true;
    return c;
}

static const duo_algorithm *algorithm_named(duo_operation operation, const char *name)
{
    const duo_algorithm_table table = duo_algorithm_tables[operation];
    for (int i = 0; i < table.count; i++)
        if (strcmp(table.algorithm[i].name, name) == 0) return &table.algorithm[i];
    return NULL;
}

static int series_of(const char *residence, const duo_algorithm *algorithm, int threads)
{
    for (int place = 0; place < DUO_PLACES; place++)
        if (strcmp(residence, duo_place_names[place]) == 0) return DUO_SERIES_GPU + place;
    return (threads > 1 ? DUO_SERIES_ALL : DUO_SERIES_ONE) + (int)algorithm->id;
}

/* Takes a line of figures; false: the line has none. */
static bool take_figure(duo_crossover *x, const char *line)
{
    char operation[16], residence[16], algorithm[32], predicted[16];
    int64_t m, n, k;
    duo_figure figure = {0};
    if (sscanf(line,
               "%15[a-z],%" SCNd64 ",%" SCNd64 ",%" SCNd64
               ",%15[a-z],%*[a-z],%31[a-z0-9_],%d,%lf,%lf,%*f,%*f,%15[a-z]",
               operation, &m, &n, &k, residence, algorithm, &figure.threads, &figure.median_seconds,
               &figure.minimum_seconds, predicted) != 10)
        return false;
    duo_problem problem;
    memset(&problem, 0, sizeof problem); /* its padding too: problems are compared whole */
    problem.operation = duo_tool_operation(operation);
    const bool matrix = problem.operation == DUO_SGEMM;
    memcpy(problem.shape, matrix ? (int64_t[3]){m, n, k} : (int64_t[3]){n, 1, 1},
           sizeof problem.shape);
    const duo_algorithm *const by = algorithm_named(problem.operation, algorithm);
    if (by == NULL) return true; /* figures of an older version: that algorithm has gone */
    figure.algorithm = by->name;
    figure.predicted = strcmp(predicted, "predicted") == 0;
    case_of(x, &problem)->figure[series_of(residence, by, figure.threads)] = figure;
    return true;
}

/* "# threads: 16" */
static void take_head(duo_crossover *x, const char *line)
{
    if (sscanf(line, "# gpu: %95[^\n]", x->gpu_name) == 1) x->gpu = true;
    (void)(sscanf(line, "# threads: %d", &x->threads) == 1 ||
           sscanf(line, "# cpu: %95[^\n]", x->cpu) == 1 ||
           sscanf(line, "# driver: CUDA %31s", x->driver) == 1 ||
           sscanf(line, "# blas: %383[^\n]", x->cpu_blas));
}

duo_crossover *test_read_crossover(const char *path)
{
    duo_crossover *const x = calloc(1, sizeof *x);
    FILE *const file = fopen(path, "r");
    char line[512];
    bool good = x != NULL && file != NULL;
    bool head = true;
    while (good && fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#')
            take_head(x, line);
        else if (head) /* the names of the columns */
            head = false;
        else
            good = x->cases < DUO_CASES && take_figure(x, line);
    }
    if (file != NULL) fclose(file);
    if (CHECK(good && x->cases > 0, "%s cannot be read", path)) return x;
    free(x);
    return NULL;
}

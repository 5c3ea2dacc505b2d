/*
 * psgemm.c - C := A B, distributed over the ranks of an MPI program by ScaLAPACK. Its local
 * products are calls of sgemm_: the drop-in's, if it is preloaded. See docs/guide/distributed.md.
 *
 *     mpicc -O2 psgemm.c -o psgemm -lscalapack-openmpi -lm
 *     mpirun -np 4 -x LD_PRELOAD=$PREFIX/lib/libduoblas-blas.so ./psgemm 4096 [PANEL]
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

void Cblacs_pinfo(int *rank, int *ranks);
void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void Cblacs_gridinfo(int context, int *rows, int *columns, int *row, int *column);
void Cblacs_gridexit(int context);
void Cblacs_exit(int keep_mpi);
int numroc_(const int *n, const int *block, const int *place, const int *first, const int *places);
void descinit_(int *descriptor, const int *m, const int *n, const int *mb, const int *nb,
               const int *first_row, const int *first_column, const int *context, const int *lld,
               int *info);
void psgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
             const float *alpha, const float *a, const int *ia, const int *ja, const int *desca,
             const float *b, const int *ib, const int *jb, const int *descb, const float *beta,
             float *c, const int *ic, const int *jc, const int *descc);

enum { BLOCK = 256 };    /* of the block-cyclic distribution */
static int panel = 2048; /* k of a local product */

/* PBLAS ask this how wide a panel they send around and multiply at a time. ScaLAPACK's own says 32,
 * and so thin a product does not pay on a GPU. */
int pilaenv_(const int *context, const char *type)
{
    (void)context;
    (void)type;
    return panel;
}

/* Elements by their global place, so that every rank can make its own and check any. */
static float element(int matrix, int i, int j)
{
    const unsigned x =
        ((unsigned)i * 7919u + (unsigned)j * 104729u + (unsigned)matrix * 1299709u) * 2654435761u;
    return (float)(x >> 8) * 0x1p-23f - 1.0f;
}

/* The global index of a local one: blocks are dealt to `places` in turn. */
static int global(int local, int place, int places)
{
    return (local / BLOCK * places + place) * BLOCK + local % BLOCK;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1024, one = 1, zero = 0, block = BLOCK;
    const float alpha = 1.0f, beta = 0.0f;
    int rank, ranks, context, grid[2] = {0, 0}, row, column, info, descriptor[9];

    if (argc > 2 && atoi(argv[2]) > 0) panel = atoi(argv[2]);

    MPI_Init(&argc, &argv);
    Cblacs_pinfo(&rank, &ranks);
    MPI_Dims_create(ranks, 2, grid);
    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, "Row", grid[0], grid[1]);
    Cblacs_gridinfo(context, &grid[0], &grid[1], &row, &column);

    /* This rank's part of each matrix: column-major, lld rows apart. */
    const int rows = numroc_(&n, &block, &row, &zero, &grid[0]);
    const int columns = numroc_(&n, &block, &column, &zero, &grid[1]);
    const int lld = rows > 1 ? rows : 1;
    descinit_(descriptor, &n, &n, &block, &block, &zero, &zero, &context, &lld, &info);
    const size_t elements = (size_t)lld * (size_t)(columns > 1 ? columns : 1);
    float *const a = malloc(elements * sizeof *a), *const b = malloc(elements * sizeof *b),
                 *const c = malloc(elements * sizeof *c);
    if (info != 0 || a == NULL || b == NULL || c == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) {
            const int gi = global(i, row, grid[0]), gj = global(j, column, grid[1]);
            a[i + (size_t)j * (size_t)lld] = element(0, gi, gj);
            b[i + (size_t)j * (size_t)lld] = element(1, gi, gj);
        }

    double seconds = 0.0;
    for (int run = 0; run < 2; run++) { /* the first one opens the GPU */
        MPI_Barrier(MPI_COMM_WORLD);
        seconds = -MPI_Wtime();
        psgemm_("N", "N", &n, &n, &n, &alpha, a, &one, &one, descriptor, b, &one, &one, descriptor,
                &beta, c, &one, &one, descriptor);
        MPI_Barrier(MPI_COMM_WORLD);
        seconds += MPI_Wtime();
    }

    /* Some elements of this rank's part against float64, in units of 2^-24 |A||B|. */
    double worst = 0.0, worst_of_all;
    int wrong = 0, wrong_of_all;
    for (int sample = 0; sample < 200 && rows > 0 && columns > 0; sample++) {
        const int i = (int)((unsigned)sample * 7919u % (unsigned)rows);
        const int j = (int)((unsigned)sample * 104729u % (unsigned)columns);
        const int gi = global(i, row, grid[0]), gj = global(j, column, grid[1]);
        double sum = 0.0, size = 0.0;
        for (int l = 0; l < n; l++) {
            const double product = (double)element(0, gi, l) * (double)element(1, l, gj);
            sum += product;
            size += fabs(product);
        }
        const double error = fabs((double)c[i + (size_t)j * (size_t)lld] - sum) / size * 0x1p24;
        wrong += !(error <= n + 3); /* NaN is wrong */
        worst = fmax(worst, error);
    }
    MPI_Allreduce(&worst, &worst_of_all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&wrong, &wrong_of_all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const int right = wrong_of_all == 0;
    if (rank == 0)
        printf("n = %d on %d x %d ranks: %.3f s, %.1f GFLOP/s, largest error %.2f u: %s\n", n,
               grid[0], grid[1], seconds, 2e-9 * n * n * n / seconds, worst_of_all,
               right ? "right" : "WRONG");
    free(a);
    free(b);
    free(c);
    Cblacs_gridexit(context);
    Cblacs_exit(1);
    MPI_Finalize();
    return right ? 0 : 1;
}

/*
 * sgemm_cpu_costs.c - the calls that the CPU's sgemm algorithms accept, and their costs here.
 *
 * The cost of a product is the cost of the cube of equal work on the measured curve, plus the cost
 * of packing and moving more than that cube. Tiles are shared among threads as the algorithm shares
 * them. The error of this at other shapes is measured (correction.h). A float64 algorithm without a
 * curve takes a multiple of a float32 algorithm's time. Transfers are added by select.c.
 */
#include <math.h>

#include "choice/costs.h"
#include "cpu/blas_library.h"
#include "cpu/kernels.h"
#include "cpu/sgemm_tiles.h"

/* The efficiency of t threads: 1 for one thread, and the measured value for the profile's number.
 * With that number there may be two to a core, or too little memory bandwidth; not with fewer. */
static double efficiency(const duo_profile *p, double t)
{
    const double measured = p->threads;
    if (t >= measured) return p->sgemm_efficiency;
    return 1.0 - (1.0 - p->sgemm_efficiency) * (t - 1.0) / (measured - 1.0);
}

/* fmin and fmax take longer: they look for NaNs. */
static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }

/* Tiles on a side of this length. 1e-12: if the side is a cube root, it may be a rounding error
 * longer than whole tiles. */
static double tiles_on(double side, int64_t tile)
{
    return (double)((int64_t)(side * (1.0 - 1e-12)) / tile + 1);
}

/*
 * How a CPU algorithm shares a product: tiles of C, and each packs its own parts of A and B. The
 * curve was measured with cubes on one thread, so it contains the packing of a cube.
 */
typedef struct sharing {
    double work;                   /* multiplications, also in a tile's empty rows */
    double cube;                   /* edge of the cube of equal work */
    double down, across;           /* tiles of C */
    double cube_down, cube_across; /* tiles of the cube's C */
    double pieces;                 /* pieces for the team: tiles times parts of k */
    /* Cost of packing an element of A or B, and of updating one of C: in units of a summed
     * float. */
    double pack, touch;
} sharing;

/* Seconds of one thread to move `moved` floats of a product with `all` floats in its operands: at
 * the rate of a sum of `all` floats, since they are in the same level of the caches. */
static double move_seconds(const duo_conditions *conditions, double all, double moved)
{
    const duo_curve *const sum = &conditions->profile->curve[DUO_ssum_cpu_lanes];
    return sum->count > 0 ? duo_curve_seconds(sum, all, 1) / all * moved : 0.0;
}

/* Seconds of packing and moving on one thread, beyond those of the cube. */
static double extra_moves(const duo_call *call, const duo_conditions *conditions, const sharing *s)
{
    const double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    const double face = s->cube * s->cube;
    const double here =
        move_seconds(conditions, m * k + k * n + m * n,
                     s->pack * (m * k * s->across + k * n * s->down) + s->touch * m * n);
    const double cube = move_seconds(conditions, 3.0 * face,
                                     (s->pack * (s->cube_down + s->cube_across) + s->touch) * face);
    return larger(0.0, here - cube);
}

/* How much faster t threads move data than one: at most the ratio of all threads' memory bandwidth
 * to one thread's (from the last point of ssum's curve). */
static double move_speed_up(const duo_profile *p, double t)
{
    const duo_curve *const sum = &p->curve[DUO_ssum_cpu_lanes];
    if (sum->count == 0) return 1.0;
    const double one = 4.0 * sum->size[sum->count - 1] / sum->seconds[sum->count - 1];
    return larger(1.0, smaller(t, p->cpu_bandwidth / one));
}

/* Seconds on t threads; each has at least one piece. Pieces are done in rounds, and in the last
 * round threads may be idle. */
static double parallel_seconds(const duo_profile *p, const sharing *s, double multiply,
                               double moves, double t)
{
    const double rounds = ceil(s->pieces / t);
    return p->fork_seconds + p->fork_seconds_per_thread * t +
           multiply / larger(1.0, s->pieces / rounds * efficiency(p, t)) +
           moves / move_speed_up(p, t);
}

/* How many of the threads have a piece. */
static double useful_threads(const duo_conditions *conditions, const sharing *s)
{
    return smaller(conditions->threads, s->pieces);
}

/* An algorithm's work for a call, and the seconds that one thread multiplies. */
typedef struct job {
    sharing s;
    double multiply;
} job;

static double uncorrected(const job *j, const duo_call *call, const duo_conditions *conditions)
{
    const double moves = extra_moves(call, conditions, &j->s);
    const double t = useful_threads(conditions, &j->s);
    if (t < 2.0) return j->multiply + moves;
    return parallel_seconds(conditions->profile, &j->s, j->multiply, moves, t);
}

/*
 * How much longer a BLAS takes for sizes that are no multiples of 16, on one thread. The curve has
 * cubes with multiples of 16, the correction cubes without; from a thousand on there is no
 * difference.
 */
static double odd_size_times(const duo_conditions *conditions, int64_t edge)
{
    const double from = 250.0, to = 1000.0;
    if ((double)edge >= to) return 1.0;
    const duo_correction *const one =
        &conditions->profile->correction[DUO_CORRECTED_OPENBLAS][DUO_CORRECTED_ONE_THREAD];
    const double times = larger(1.0, duo_correction_at(one, 0, edge, edge, edge));
    return 1.0 + (times - 1.0) * smaller(1.0, (to - (double)edge) / (to - from));
}

/* The correction; if m and n are multiples of 16, divided by the extra cost of odd sizes. */
static double factor(const duo_call *call, const duo_conditions *conditions,
                     duo_corrected algorithm, int threads)
{
    const double measured =
        duo_correction_at(&conditions->profile->correction[algorithm][threads],
                          2 * call->transa + call->transb, call->m, call->n, call->k);
    if (algorithm != DUO_CORRECTED_OPENBLAS || call->m % DUO_WHOLE_VECTORS != 0 ||
        call->n % DUO_WHOLE_VECTORS != 0)
        return measured;
    return measured / odd_size_times(conditions, call->m < call->n ? call->m : call->n);
}

/* Seconds on one thread, or `parallel` on t threads, if that is faster. */
static double faster(double serial, double parallel, double t, int *threads)
{
    *threads = parallel < serial ? (int)t : 1;
    return parallel < serial ? parallel : serial;
}

/* An estimate: seconds to begin a column of a C with gaps. */
static const double kScaledColumn = 4e-9;

/* Seconds to scale C (cpu/kernels.h): to read and write it, or to clear it. */
static double scale_seconds(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    const double floats = (double)call->m * (double)call->n;
    const bool gaps = call->operand[DUO_C].ld > call->m;
    const double one =
        move_seconds(conditions, floats, call->beta != 0.0f ? 2.0 * floats : floats) +
        (gaps ? kScaledColumn * (double)call->n : 0.0);
    const sharing s = {.pieces = (double)duo_sgemm_scale_pieces(call->m, call->n)};
    const double t = useful_threads(conditions, &s);
    return t < 2.0
               ? faster(one, one, 1.0, threads)
               : faster(one, parallel_seconds(conditions->profile, &s, 0.0, one, t), t, threads);
}

/* Seconds of an algorithm: one thread does all of its job, or all threads that have pieces. */
static double cpu_seconds(job (*job_of)(const duo_call *, const duo_conditions *),
                          const duo_call *call, const duo_conditions *conditions,
                          duo_corrected algorithm, int *threads)
{
    if (call->k == 0) return scale_seconds(call, conditions, threads);
    const job j = job_of(call, conditions);
    const double moves = extra_moves(call, conditions, &j.s);
    const double serial =
        factor(call, conditions, algorithm, DUO_CORRECTED_ONE_THREAD) * (j.multiply + moves);
    const double t = useful_threads(conditions, &j.s);
    if (t < 2.0) return faster(serial, serial, 1.0, threads);
    return faster(serial,
                  factor(call, conditions, algorithm, DUO_CORRECTED_ALL_THREADS) *
                      parallel_seconds(conditions->profile, &j.s, j.multiply, moves, t),
                  t, threads);
}

/* Until it was looked for in vain, an inner BLAS is presumed. */
static bool has_blas(const duo_call *call, const duo_conditions *conditions)
{
    (void)conditions;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (call->operand[i].ld > DUO_BLAS_LARGEST_LD) return false;
    return call->program != NULL || !duo_blas_library_looked() || duo_blas_library_seen() != NULL;
}

static bool always(const duo_call *call, const duo_conditions *conditions)
{
    (void)call;
    (void)conditions;
    return true;
}

/* Multiplications. A C of fewer than 16 elements takes as long as one of 16: each sum waits for its
 * own additions. */
static double work_of(const duo_call *call)
{
    const double least = 16.0;
    return larger((double)call->m * (double)call->n, least) * (double)call->k;
}

/* Tiles on each side of a cube's C, about as duo_sgemm_tiles cuts it. */
static double tiles_of_cube(double edge, double work)
{
    const double most = 7.0; /* on a side of a square of all pieces */
    _Static_assert(6 * 6 < DUO_SGEMM_PIECES && DUO_SGEMM_PIECES <= 7 * 7, "7 is their root");
    const double wanted =
        work < DUO_SGEMM_ONE_TILE ? 1.0 : smaller(most, ceil(sqrt(work / DUO_SGEMM_PIECE_WORK)));
    return larger(smaller(wanted, tiles_on(edge, DUO_SGEMM_SMALLEST_EDGE)),
                  tiles_on(edge, DUO_SGEMM_LARGEST_EDGE));
}

static job openblas_job(const duo_call *call, const duo_conditions *conditions)
{
    const duo_blas_library *const library = duo_blas_library_seen();
    const bool its_own = library != NULL && library->threads == DUO_BLAS_ITS_OWN;
    const duo_tiles t = its_own ? duo_sgemm_one_tile(call->m, call->n, call->k)
                                : duo_sgemm_tiles(call->m, call->n, call->k);
    const double work = work_of(call), cube = cbrt(work), side = tiles_of_cube(cube, work);
    const sharing s = {
        .work = work,
        .cube = cube,
        .down = (double)t.down,
        .across = (double)t.across,
        .cube_down = side,
        .cube_across = side,
        /* A library's own threads are unknown: as many pieces as threads. */
        .pieces = its_own ? (double)conditions->threads
                          : (double)t.down * (double)t.across * (double)t.parts,
        /* From fifty shapes on one thread of a Zen 4. C is read and written; most of A and B is
         * only read. */
        .pack = 1.5,
        .touch = 2.0};
    return (job){s,
                 duo_curve_seconds(&conditions->profile->curve[DUO_sgemm_cpu_openblas], work, 3)};
}

/* As ffma.c shares a product: operands are packed about once, however C is shared out. `pack` is
 * an estimate. */
static sharing ffma_sharing(const duo_call *call, const duo_conditions *conditions, double pack)
{
    const double work = work_of(call), pieces = floor(work / DUO_FFMA_PIECE_WORK) + 1.0;
    return (sharing){.work = work,
                     .cube = cbrt(work),
                     .down = 1.0,
                     .across = 1.0,
                     .cube_down = 1.0,
                     .cube_across = 1.0,
                     .pieces = smaller(pieces, (double)conditions->threads),
                     .pack = pack,
                     .touch = 2.0};
}

static job ffma_job(const duo_call *call, const duo_conditions *conditions)
{
    const sharing s = ffma_sharing(call, conditions, 1.0);
    return (job){s, duo_curve_seconds(&conditions->profile->curve[DUO_sgemm_cpu_ffma], s.work, 3)};
}

/* Without a curve, relative to sgemm_cpu_ffma: a vector holds half as many float64, and operands
 * are converted. Packed operands are twice as large. */
static const double kCpuFloat64Times = 2.2, kFloat64Pack = 2.0;

static job float64_job(const duo_call *call, const duo_conditions *conditions)
{
    const duo_curve *const own = &conditions->profile->curve[DUO_sgemm_cpu_float64];
    const duo_curve *const float32 = &conditions->profile->curve[DUO_sgemm_cpu_ffma];
    const sharing s = ffma_sharing(call, conditions, kFloat64Pack);
    return (job){s, own->count > 0 ? duo_curve_seconds(own, s.work, 3)
                                   : kCpuFloat64Times * duo_curve_seconds(float32, s.work, 3)};
}

/* ---- Costs ---- */

/* An estimate: fused multiply-adds in software take as many times as long. */
static const double kInSoftware = 50.0;

double duo_sgemm_cpu_ffma_cost(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    const double seconds = cpu_seconds(ffma_job, call, conditions, DUO_CORRECTED_FFMA, threads);
    return duo_ffma_is_slow() ? kInSoftware * seconds : seconds;
}

double duo_sgemm_cpu_openblas_cost(const duo_call *call, const duo_conditions *conditions,
                                   int *threads)
{
    return cpu_seconds(openblas_job, call, conditions, DUO_CORRECTED_OPENBLAS, threads);
}

double duo_sgemm_cpu_float64_cost(const duo_call *call, const duo_conditions *conditions,
                                  int *threads)
{
    return cpu_seconds(float64_job, call, conditions, DUO_CORRECTED_FLOAT64, threads);
}

double duo_sgemm_cpu_uncorrected(duo_corrected algorithm, const duo_call *call,
                                 const duo_conditions *conditions)
{
    const job j = algorithm == DUO_CORRECTED_OPENBLAS ? openblas_job(call, conditions)
                  : algorithm == DUO_CORRECTED_FFMA   ? ffma_job(call, conditions)
                                                      : float64_job(call, conditions);
    return uncorrected(&j, call, conditions);
}

/* ---- The calls that each accepts ---- */

/* An OpenBLAS that nobody has asked for must win by this to be opened: it takes 36 MB of memory and
 * 30 ms. */
static const double kUnopened = 1.1;

bool duo_sgemm_cpu_openblas_accepts(const duo_call *call, const duo_conditions *conditions)
{
    int threads;
    if (!has_blas(call, conditions)) return false;
    if (call->program != NULL || duo_blas_library_looked() || duo_blas_library_asked()) return true;
    return kUnopened * duo_sgemm_cpu_openblas_cost(call, conditions, &threads) <
           duo_sgemm_cpu_ffma_cost(call, conditions, &threads);
}

bool duo_sgemm_cpu_ffma_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return always(call, conditions);
}

bool duo_sgemm_cpu_float64_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return always(call, conditions);
}

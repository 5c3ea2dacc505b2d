/*
 * sgemm_cpu_costs.c - the calls that the CPU's sgemm algorithms accept, and their costs here.
 *
 * The cost of a product is the cost of the cube of equal work on the measured curve, plus the cost
 * of packing and moving more than that cube. The error of this at other shapes is measured
 * (correction.h). A float64 algorithm without a curve takes a multiple of a float32 algorithm's
 * time. Transfers are added by select.c.
 */
#include <limits.h>
#include <math.h>

#include "choice/costs.h"
#include "cpu/blas_library.h"
#include "cpu/kernels.h"

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

/*
 * How a CPU algorithm does a product. Operands are packed about once, however C is shared out. The
 * curve was measured with cubes on one thread, so it contains the packing of a cube.
 */
typedef struct sharing {
    double cube;   /* edge of the cube of equal work */
    double pieces; /* for the threads */
    /* Cost of packing an element of A or B, and of updating one of C: in units of a summed
     * float. */
    double pack, touch;
    double waits; /* the share of the moves for which threads wait: see kWaitingSpeedUp */
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
    const double here = move_seconds(conditions, m * k + k * n + m * n,
                                     s->pack * (m * k + k * n) + s->touch * m * n);
    const double cube = move_seconds(conditions, 3.0 * face, (2.0 * s->pack + s->touch) * face);
    return larger(0.0, here - cube);
}

/* Threads that pack long operands wait for memory. All together are at most this much faster than
 * one. From products of 4 to 130 million floats on 16 threads of a Xeon. */
static const double kWaitingSpeedUp = 6.0;

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
           moves * (s->waits / smaller(kWaitingSpeedUp, move_speed_up(p, t)) +
                    (1.0 - s->waits) / move_speed_up(p, t));
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
static double cpu_seconds(job (*make)(const duo_call *, const duo_conditions *),
                          const duo_call *call, const duo_conditions *conditions,
                          duo_corrected algorithm, int *threads)
{
    if (call->k == 0) return scale_seconds(call, conditions, threads);
    const job j = make(call, conditions);
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

static job job_of(const duo_call *call, const duo_conditions *conditions, duo_algorithm_id id,
                  double pieces, double pack)
{
    const double work = work_of(call);
    const sharing s = {.cube = cbrt(work),
                       .pieces = smaller(pieces, (double)conditions->threads),
                       .pack = pack,
                       .touch = 2.0}; /* C is read and written; most of A and B is only read */
    return (job){s, duo_curve_seconds(&conditions->profile->curve[id], work, 3)};
}

/* OpenBLAS shares out a product of more multiplications (its interface/gemm.c, with its default of
 * GEMM_MULTITHREAD_THRESHOLD). */
static const double kOpenblasShares = 1 << 18;

/* The library that a call would use; NULL: none, or not looked for yet. */
static const duo_blas_library *library_of(const duo_call *call)
{
    return call->program != NULL ? call->program : duo_blas_library_seen();
}

/* The threads that it has, as far as is known. */
static int threads_of_library(const duo_call *call, const duo_conditions *conditions)
{
    const duo_blas_library *const library = library_of(call);
    const int own = library != NULL ? duo_blas_library_threads(library) : INT_MAX;
    return own < conditions->threads ? own : conditions->threads;
}

static job openblas_job(const duo_call *call, const duo_conditions *conditions)
{
    const int threads = threads_of_library(call, conditions);
    const double pieces = work_of(call) > kOpenblasShares ? (double)threads : 1.0;
    /* pack: from fifty shapes on one thread of a Zen 4 */
    return job_of(call, conditions, DUO_sgemm_cpu_openblas, pieces, 1.5);
}

/* How much longer our own kernels multiply if C has few rows or columns: a step of k loads much for
 * little work. From 29 products on one thread of a Xeon, 23 on 16. */
static double thin_times(double side) { return (larger(side, 2.0) + 3.0) / larger(side, 2.0); }

/* A job of our own kernels. */
static job own_job(const duo_call *call, const duo_conditions *conditions, duo_algorithm_id id,
                   double pack)
{
    job j = job_of(call, conditions, id, duo_ffma_pieces(work_of(call)), pack);
    const double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    j.multiply *= larger(1.0, thin_times(smaller(m, n)) / thin_times(j.s.cube));
    const double packed = pack * (m * k + k * n);
    j.s.waits = smaller(m, n) <= DUO_FEW_LINES ? 0.0 : packed / (packed + j.s.touch * m * n);
    return j;
}

static job ffma_job(const duo_call *call, const duo_conditions *conditions)
{
    /* pack: an estimate, as OpenBLAS packs more */
    return own_job(call, conditions, DUO_sgemm_cpu_ffma, 1.0);
}

/* Without a curve, relative to sgemm_cpu_ffma: a vector holds half as many float64, and operands
 * are converted. Packed operands are twice as large. */
static const double kCpuFloat64Times = 2.2, kFloat64Pack = 2.0;

static job float64_job(const duo_call *call, const duo_conditions *conditions)
{
    const bool known = conditions->profile->curve[DUO_sgemm_cpu_float64].count > 0;
    job j =
        own_job(call, conditions, known ? DUO_sgemm_cpu_float64 : DUO_sgemm_cpu_ffma, kFloat64Pack);
    if (!known) j.multiply *= kCpuFloat64Times;
    return j;
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
    const double seconds =
        cpu_seconds(openblas_job, call, conditions, DUO_CORRECTED_OPENBLAS, threads);
    /* It needs them all, even if it computes with one. */
    if (call->k > 0) *threads = threads_of_library(call, conditions);
    return seconds;
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

/* An inner BLAS that nobody has asked for must win by this: to open it takes 36 MB of memory and 10
 * ms. */
static const double kUnasked = 1.1;

/* Until it was looked for, an inner BLAS is presumed, and that it may use all threads. */
bool duo_sgemm_cpu_openblas_accepts(const duo_call *call, const duo_conditions *conditions)
{
    int threads;
    const duo_blas_library *const library = library_of(call);
    if (!duo_blas_library_takes(call)) return false;
    if (library == NULL && duo_blas_library_looked()) return false;
    if (library != NULL && duo_blas_library_threads(library) > conditions->threads) return false;
    if (call->program != NULL || duo_blas_library_asked() || duo_ffma_is_slow()) return true;
    return duo_blas_library_is(conditions->profile->blas) &&
           kUnasked * duo_sgemm_cpu_openblas_cost(call, conditions, &threads) <
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

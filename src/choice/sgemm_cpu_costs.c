/*
 * sgemm_cpu_costs.c - what the CPU's sgemm algorithms accept, and what they cost here.
 *
 * Cost is the measured curve at the edge of the cube of equal work. What a shape packs and moves
 * beyond the cube is added, and tiles are shared out as the algorithm does it. One of another math
 * without a curve takes a multiple of a float32 algorithm's time. Transfers are select.c's
 * business.
 */
#include <math.h>

#include "choice/costs.h"
#include "cpu/blas_library.h"
#include "cpu/sgemm_tiles.h"

/* Of t threads, from 1 for one to what was measured with all of the profile's: these may have been
 * two to a core, or short of memory, as fewer are not. */
static double efficiency(const duo_profile *p, double t)
{
    const double measured = p->threads;
    if (t >= measured) return p->sgemm_efficiency;
    return 1.0 - (1.0 - p->sgemm_efficiency) * (t - 1.0) / (measured - 1.0);
}

/* These are numbers: the functions of C, which look for NaNs, take longer. */
static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }

/* How many tiles a side of this length has; 1 + 1e-15 tiles, as roots may come out, are one. */
static double tiles_on(double side, int64_t tile)
{
    return (double)((int64_t)(side * (1.0 - 1e-12)) / tile + 1);
}

/*
 * A product as a CPU algorithm shares it out: tiles of C, whose parts of A and B every tile packs
 * for itself. The curve, of cubes on one thread, has the same in it: what a cube of equal work
 * packs and moves.
 */
typedef struct sharing {
    double work;         /* multiplications, those of a tile's empty rows too */
    double cube;         /* edge of the cube of as much work */
    double down, across; /* tiles of C */
    double cube_down, cube_across;
    double pieces;      /* for the team: tiles, times parts of k */
    double pack, touch; /* an element of A and B, and of C: as many that are summed take as long */
} sharing;

/* Seconds of one thread to move so many floats of a product whose operands are `all` floats: it
 * reads from where these fit in, as a sum does. */
static double move_seconds(const duo_conditions *conditions, double all, double moved)
{
    const duo_curve *const sum = &conditions->profile->curve[DUO_ssum_cpu_lanes];
    return sum->count > 0 ? duo_curve_seconds(sum, all, 1) / all * moved : 0.0;
}

/* What one thread takes to pack and to move beyond what the cube does. */
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

/* How much faster t threads move data than one: never more than on data in memory, where they share
 * its bandwidth. */
static double move_speed_up(const duo_profile *p, double t)
{
    const duo_curve *const sum = &p->curve[DUO_ssum_cpu_lanes];
    if (sum->count == 0) return 1.0;
    const double one = 4.0 * sum->size[sum->count - 1] / sum->seconds[sum->count - 1];
    return larger(1.0, smaller(t, p->cpu_bandwidth / one));
}

/*
 * On one thread, or on all that there are pieces for, if that is faster. Pieces are done in rounds,
 * of which the last one may leave threads idle.
 */
static double cpu_seconds(const duo_call *call, const duo_conditions *conditions, const sharing *s,
                          double multiply, int *threads)
{
    const duo_profile *const p = conditions->profile;
    const double moves = extra_moves(call, conditions, s), serial = multiply + moves;
    *threads = 1;
    if (conditions->threads == 1 || s->pieces < 2.0) return serial;
    const double t = smaller(conditions->threads, s->pieces), rounds = ceil(s->pieces / t);
    const double parallel = p->fork_seconds + p->fork_seconds_per_thread * t +
                            multiply / larger(1.0, s->pieces / rounds * efficiency(p, t)) +
                            moves / move_speed_up(p, t);
    if (!(parallel < serial)) return serial;
    *threads = (int)t;
    return parallel;
}

static bool has_blas(const duo_call *call, const duo_conditions *conditions)
{
    (void)conditions;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (call->operand[i].ld > DUO_BLAS_LARGEST_LD) return false;
    return call->program != NULL || duo_blas_library_get() != NULL;
}

static bool always(const duo_call *call, const duo_conditions *conditions)
{
    (void)call;
    (void)conditions;
    return true;
}

/* Multiplications; fewer elements of C than this are summed up no faster, for each waits for
 * itself. */
static double work_of(const duo_call *call)
{
    const double least = 16.0;
    return larger((double)call->m * (double)call->n, least) * larger((double)call->k, 1.0);
}

/* Tiles on each side of a cube, about as duo_sgemm_tiles has them: 48 in all, of 65536
 * multiplications at least, with edges from 32 to 512. */
static double tiles_of_cube(double edge, double work)
{
    const double wanted =
        work < DUO_SGEMM_ONE_TILE ? 1.0 : smaller(7.0, ceil(sqrt(work / 65536.0)));
    return larger(smaller(wanted, tiles_on(edge, 32)), tiles_on(edge, 512));
}

static sharing openblas_sharing(const duo_call *call, const duo_conditions *conditions)
{
    const duo_blas_library *const library = duo_blas_library_get();
    const bool its_own = library != NULL && library->threads == DUO_BLAS_ITS_OWN;
    const duo_tiles t = its_own ? duo_sgemm_one_tile(call->m, call->n, call->k)
                                : duo_sgemm_tiles(call->m, call->n, call->k);
    const double work = work_of(call), cube = cbrt(work), side = tiles_of_cube(cube, work);
    return (sharing){
        .work = work,
        .cube = cube,
        .down = (double)t.down,
        .across = (double)t.across,
        .cube_down = side,
        .cube_across = side,
        /* It has threads of its own, of which nothing is known: as many as it likes. */
        .pieces = its_own ? (double)conditions->threads
                          : (double)t.down * (double)t.across * (double)t.parts,
        /* From fifty shapes on a Zen 4: C is read and written; most of A and B is read alone. */
        .pack = 1.5,
        .touch = 2.0};
}

double duo_sgemm_cpu_openblas_cost(const duo_call *call, const duo_conditions *conditions,
                                   int *threads)
{
    const sharing s = openblas_sharing(call, conditions);
    const duo_curve *const curve = &conditions->profile->curve[DUO_sgemm_cpu_openblas];
    return cpu_seconds(call, conditions, &s, duo_curve_seconds(curve, s.work, 3), threads);
}

/* Work of the plain algorithm as the cube of equal work has it: its tiles' rows are always as
 * many. */
static sharing plain_sharing(const duo_call *call)
{
    const double m = (double)call->m, n = (double)call->n, k = larger((double)call->k, 1.0);
    const double cube = cbrt(m * n * k);
    const double down = tiles_on(m, DUO_PLAIN_ROWS), across = tiles_on(n, DUO_PLAIN_COLUMNS);
    const double cube_down = tiles_on(cube, DUO_PLAIN_ROWS);
    return (sharing){.work = down * n * k / (cube_down / cube),
                     .cube = cube,
                     .down = down,
                     .across = across,
                     .cube_down = cube_down,
                     .cube_across = tiles_on(cube, DUO_PLAIN_COLUMNS),
                     .pieces = down * across,
                     .pack = 8.0, /* in plain C, as the products are */
                     .touch = 8.0};
}

double duo_sgemm_cpu_plain_cost(const duo_call *call, const duo_conditions *conditions,
                                int *threads)
{
    const sharing s = plain_sharing(call);
    const duo_curve *const curve = &conditions->profile->curve[DUO_sgemm_cpu_plain];
    return cpu_seconds(call, conditions, &s, duo_curve_seconds(curve, s.work, 3), threads);
}

/* dgemm has half as many elements in a vector, and copies of the operands come before it. */
static const double kCpuFloat64Times = 2.2;

/* The tiles of sgemm_cpu_openblas, cut again where they are large; k stays whole. */
double duo_sgemm_cpu_float64_cost(const duo_call *call, const duo_conditions *conditions,
                                  int *threads)
{
    const duo_blas_library *const library = duo_blas_library_get();
    const bool dgemm = library != NULL && library->dgemm != NULL;
    const duo_algorithm_id own = DUO_sgemm_cpu_float64;
    const duo_algorithm_id float32 = dgemm ? DUO_sgemm_cpu_openblas : DUO_sgemm_cpu_plain;
    const duo_tiles t = duo_sgemm_tiles(call->m, call->n, call->k);
    const int64_t rows = t.rows < DUO_FLOAT64_EDGE ? t.rows : DUO_FLOAT64_EDGE;
    const int64_t columns = t.columns < DUO_FLOAT64_EDGE ? t.columns : DUO_FLOAT64_EDGE;
    const double work = work_of(call), cube = cbrt(work);
    const double side = larger(tiles_of_cube(cube, work), tiles_on(cube, DUO_FLOAT64_EDGE));
    sharing s = {.work = work,
                 .cube = cube,
                 .down = tiles_on((double)call->m, rows),
                 .across = tiles_on((double)call->n, columns),
                 .cube_down = side,
                 .cube_across = side,
                 .pack = 6.0, /* widened, then packed */
                 .touch = 16.0};
    s.pieces = s.down * s.across;
    const duo_curve *const curve = conditions->profile->curve;
    const double multiply = curve[own].count > 0
                                ? duo_curve_seconds(&curve[own], work, 3)
                                : kCpuFloat64Times * duo_curve_seconds(&curve[float32], work, 3);
    return cpu_seconds(call, conditions, &s, multiply, threads);
}

/* ---- What each accepts ---- */

#define ACCEPTS(name, condition)                                                                   \
    bool duo_##name##_accepts(const duo_call *call, const duo_conditions *conditions)              \
    {                                                                                              \
        return condition(call, conditions);                                                        \
    }
ACCEPTS(sgemm_cpu_openblas, has_blas)
ACCEPTS(sgemm_cpu_plain, always)
ACCEPTS(sgemm_cpu_float64, always)

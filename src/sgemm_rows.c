/*
 * sgemm_rows.c - the rows of sgemm: what each accepts, and what it costs here.
 *
 * Cost is the measured curve at the edge of the cube of equal work. On the GPU every dimension is rounded
 * up to the row's tile first: a tile that is half empty takes as long as a full one. On the CPU what a
 * shape packs and moves beyond the cube is added, and tiles are shared out as the row does it. A row of
 * another math without a curve takes a multiple of a float32 row's time. Transfers are select.c's
 * business.
 */
#include <math.h>

#include "cpu/blas_library.h"
#include "cpu/sgemm_tiles.h"
#include "row.h"

/* A size of 0 counts as 1: what has nothing to multiply is predicted too. */
static double round_up(int64_t size, double tile)
{
    return ceil((double)(size > 1 ? size : 1) / tile) * tile;
}

static double cube_seconds(const duo_call *call, const duo_site *site, duo_row_id id, double tile_m,
                           double tile_n, double tile_k)
{
    const double work =
        round_up(call->m, tile_m) * round_up(call->n, tile_n) * round_up(call->k, tile_k);
    return duo_curve_seconds(&site->profile->curve[id], work, 3);
}

/* By the row's own curve, or `times` as long as the float32 row where there is none. */
static double float64_seconds(const duo_call *call, const duo_site *site, duo_row_id id,
                              duo_row_id float32, double times, double tile_m, double tile_n,
                              double tile_k)
{
    if (site->profile->curve[id].count > 0)
        return cube_seconds(call, site, id, tile_m, tile_n, tile_k);
    return times * cube_seconds(call, site, float32, tile_m, tile_n, tile_k);
}

/* Of t threads, from 1 for one to what was measured with all of the profile's: these may have been
 * two to a core, or short of memory, as fewer are not. */
static double efficiency(const duo_profile *p, double t)
{
    const double measured = p->threads;
    if (t >= measured) return p->sgemm_efficiency;
    return 1.0 - (1.0 - p->sgemm_efficiency) * (t - 1.0) / (measured - 1.0);
}

/* ---- CPU ---- */

/* These are numbers: the functions of C, which look for NaNs, take longer. */
static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }

/* How many tiles a side of this length has; 1 + 1e-15 tiles, as roots may come out, are one. */
static double tiles_on(double side, int64_t tile)
{
    return (double)((int64_t)(side * (1.0 - 1e-12)) / tile + 1);
}

/*
 * A product as a CPU row shares it out: tiles of C, whose parts of A and B every tile packs for itself.
 * The curve, of cubes on one thread, has the same in it: what a cube of equal work packs and moves.
 */
typedef struct sharing {
    double work;         /* multiplications, those of a tile's empty rows too */
    double cube;         /* edge of the cube of as much work */
    double down, across; /* tiles of C */
    double cube_down, cube_across;
    double pieces;      /* for the team: tiles, times parts of k */
    double pack, touch; /* an element of A and B, and of C: as many that are summed take as long */
} sharing;

/* Seconds of one thread to move so many floats of a product whose operands are `all` floats: it reads
 * from where these fit in, as a sum does. */
static double move_seconds(const duo_site *site, double all, double moved)
{
    const duo_curve *const sum = &site->profile->curve[DUO_ROW_ssum_cpu_lanes];
    return sum->count > 0 ? duo_curve_seconds(sum, all, 1) / all * moved : 0.0;
}

/* What one thread takes to pack and to move beyond what the cube does. */
static double extra_moves(const duo_call *call, const duo_site *site, const sharing *s)
{
    const double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    const double face = s->cube * s->cube;
    const double here =
        move_seconds(site, m * k + k * n + m * n,
                     s->pack * (m * k * s->across + k * n * s->down) + s->touch * m * n);
    const double cube = move_seconds(site, 3.0 * face,
                                     (s->pack * (s->cube_down + s->cube_across) + s->touch) * face);
    return larger(0.0, here - cube);
}

/* How much faster t threads move data than one: never more than on data in memory, where they share its
 * bandwidth. */
static double move_speed_up(const duo_profile *p, double t)
{
    const duo_curve *const sum = &p->curve[DUO_ROW_ssum_cpu_lanes];
    if (sum->count == 0) return 1.0;
    const double one = 4.0 * sum->size[sum->count - 1] / sum->seconds[sum->count - 1];
    return larger(1.0, smaller(t, p->cpu_bandwidth / one));
}

/*
 * On one thread, or on all that there are pieces for, if that is faster. Pieces are done in rounds, of
 * which the last one may leave threads idle.
 */
static double cpu_seconds(const duo_call *call, const duo_site *site, const sharing *s,
                          double multiply, int *threads)
{
    const duo_profile *const p = site->profile;
    const double moves = extra_moves(call, site, s), serial = multiply + moves;
    *threads = 1;
    if (site->threads == 1 || s->pieces < 2.0) return serial;
    const double t = smaller(site->threads, s->pieces), rounds = ceil(s->pieces / t);
    const double parallel = p->fork_seconds + p->fork_seconds_per_thread * t +
                            multiply / larger(1.0, s->pieces / rounds * efficiency(p, t)) +
                            moves / move_speed_up(p, t);
    if (!(parallel < serial)) return serial;
    *threads = (int)t;
    return parallel;
}

static bool has_blas(const duo_call *call, const duo_site *site)
{
    (void)site;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (call->operand[i].ld > DUO_BLAS_LARGEST_LD) return false;
    return call->program != NULL || duo_blas_library_get() != NULL;
}

static bool always(const duo_call *call, const duo_site *site)
{
    (void)call;
    (void)site;
    return true;
}

/* Multiplications; fewer elements of C than this are summed up no faster, for each waits for itself. */
static double work_of(const duo_call *call)
{
    const double least = 16.0;
    return larger((double)call->m * (double)call->n, least) * larger((double)call->k, 1.0);
}

/* Tiles on each side of a cube, about as duo_sgemm_tiles has them: 48 in all, of 65536 multiplications
 * at least, with edges from 32 to 512. */
static double tiles_of_cube(double edge, double work)
{
    const double wanted =
        work < DUO_SGEMM_ONE_TILE ? 1.0 : smaller(7.0, ceil(sqrt(work / 65536.0)));
    return larger(smaller(wanted, tiles_on(edge, 32)), tiles_on(edge, 512));
}

static sharing openblas_sharing(const duo_call *call, const duo_site *site)
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
        .pieces =
            its_own ? (double)site->threads : (double)t.down * (double)t.across * (double)t.parts,
        /* From fifty shapes on a Zen 4: C is read and written; most of A and B is read alone. */
        .pack = 1.5,
        .touch = 2.0};
}

static double openblas_cost(const duo_call *call, const duo_site *site, int *threads)
{
    const sharing s = openblas_sharing(call, site);
    const duo_curve *const curve = &site->profile->curve[DUO_ROW_sgemm_cpu_openblas];
    return cpu_seconds(call, site, &s, duo_curve_seconds(curve, s.work, 3), threads);
}

/* Work of the plain row as the cube of equal work has it: its tiles' rows are always as many. */
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

static double plain_cost(const duo_call *call, const duo_site *site, int *threads)
{
    const sharing s = plain_sharing(call);
    const duo_curve *const curve = &site->profile->curve[DUO_ROW_sgemm_cpu_plain];
    return cpu_seconds(call, site, &s, duo_curve_seconds(curve, s.work, 3), threads);
}

/* dgemm has half as many elements in a vector, and copies of the operands come before it. */
static const double kCpuFloat64Times = 2.2;

/* The tiles of sgemm_cpu_openblas, cut again where they are large; k stays whole. */
static double cpu_float64_cost(const duo_call *call, const duo_site *site, int *threads)
{
    const duo_blas_library *const library = duo_blas_library_get();
    const bool dgemm = library != NULL && library->dgemm != NULL;
    const duo_row_id own = DUO_ROW_sgemm_cpu_float64;
    const duo_row_id float32 = dgemm ? DUO_ROW_sgemm_cpu_openblas : DUO_ROW_sgemm_cpu_plain;
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
    const duo_curve *const curve = site->profile->curve;
    const double multiply = curve[own].count > 0
                                ? duo_curve_seconds(&curve[own], work, 3)
                                : kCpuFloat64Times * duo_curve_seconds(&curve[float32], work, 3);
    return cpu_seconds(call, site, &s, multiply, threads);
}

/* ---- GPU ---- */

static bool fits_device(const duo_call *call, const duo_site *site)
{
    double bytes = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if ((o->read || o->written) && !o->on_device) bytes += duo_operand_bytes(o);
    }
    return site->gpu && bytes <= site->device_memory_bytes;
}

/* Seconds to read so many bytes of device memory: as a sum does. */
static double memory_seconds(const duo_site *site, double bytes)
{
    return duo_curve_seconds(&site->profile->curve[DUO_ROW_ssum_gpu_shuffle], bytes / 4.0, 1);
}

/*
 * What a row's curve, which is of cubes, does not show of a product of the same work (m, n, k: in
 * whole tiles): memory traffic beyond the cube's, for operands that move per_element bytes each.
 */
static double extra_traffic(const duo_site *site, double per_element, double m, double n, double k)
{
    const double edge = cbrt(m * n * k);
    const double extra = memory_seconds(site, per_element * (m * k + k * n) + 4.0 * m * n) -
                         memory_seconds(site, (2.0 * per_element + 4.0) * edge * edge);
    return extra > 0.0 ? extra : 0.0;
}

static double naive_cost(const duo_call *call, const duo_site *site, int *threads)
{
    *threads = 0;
    return cube_seconds(call, site, DUO_ROW_sgemm_gpu_naive, 32, 8, 1) +
           extra_traffic(site, 4.0, (double)call->m, (double)call->n, (double)call->k);
}

/* How many times as many multiprocessors the cube's tiles of C keep busy. */
static double idle_times(double m, double n, double k, double tile)
{
    const double multiprocessors = 128.0; /* of large GPUs: 72 to 148 */
    const double edge = cbrt(m * n * k) / tile;
    return fmin(edge * edge, multiprocessors) / fmin(m * n / (tile * tile), multiprocessors);
}

/*
 * The curve of a row whose blocks have a tile of C each, however long k is: a C of fewer tiles than
 * the cube's leaves more multiprocessors idle, one of more tiles fewer. That concerns the work, but
 * not the launch, which is all that the smallest cube takes. Where tiles are shared out, few do no
 * harm (most_idle: 1), but many need no sharing.
 */
static double tiles_seconds(const duo_call *call, const duo_site *site, duo_row_id id,
                            double tile_k, double most_idle)
{
    const double tile = 64.0;
    const duo_curve *const curve = &site->profile->curve[id];
    const double m = round_up(call->m, tile), n = round_up(call->n, tile);
    const double k = round_up(call->k, tile_k);
    const double launch = curve->count > 0 ? curve->seconds[0] : 0.0;
    const double cube = duo_curve_seconds(curve, m * n * k, 3);
    return launch + (cube - launch) * fmin(idle_times(m, n, k, tile), most_idle);
}

static double tiled_cost(const duo_call *call, const duo_site *site, int *threads)
{
    const double m = round_up(call->m, 64), n = round_up(call->n, 64), k = round_up(call->k, 16);
    *threads = 0;
    return tiles_seconds(call, site, DUO_ROW_sgemm_gpu_tiled, 16.0, (double)INFINITY) +
           extra_traffic(site, 4.0, m, n, k);
}

static double ffma_cost(const duo_call *call, const duo_site *site, int *threads)
{
    const double m = round_up(call->m, 64), n = round_up(call->n, 64), k = round_up(call->k, 16);
    *threads = 0;
    return tiles_seconds(call, site, DUO_ROW_sgemm_gpu_ffma, 16.0, 1.0) +
           extra_traffic(site, 4.0, m, n, k);
}

/* Tensor cores pay from here on; below, a product takes as long as its operands' way from memory. */
static const int64_t kLeastTensorK = 64;

static bool has_wgmma(const duo_call *call, const duo_site *site)
{
    const bool hopper = site->capability == 0 || site->capability == 90;
    return hopper && call->k >= kLeastTensorK && call->alpha != 0.0f && fits_device(call, site);
}

/* Bytes that an element of an operand moves that is split: read, its planes written and read. */
static double split_bytes(double planes) { return 4.0 + 2.0 * 2.0 * planes; }

/* Of so many seconds, what a call takes whose prepared operands are split already: not less than half
 * of them, for what is saved is an estimate. */
static double without_splitting(const duo_call *call, const duo_site *site, double planes,
                                double seconds)
{
    double elements = 0.0;
    for (int i = DUO_A; i <= DUO_B; i++)
        if (call->operand[i].prepared) elements += duo_operand_bytes(&call->operand[i]) / 4.0;
    const double written_and_read = 4.0 + 2.0 * planes;
    const double saved =
        memory_seconds(site, written_and_read * elements) - memory_seconds(site, 0.0);
    return fmax(seconds - saved, 0.5 * seconds);
}

/*
 * Tiles are 64 x 128, and 64 of k; at most 16 blocks share one. A tile's beginning and end take as
 * long as so many more steps of k, and of equal work a flat product has more tiles than the cube.
 */
static double wgmma_cost(const duo_call *call, const duo_site *site, duo_row_id id, double planes,
                         int *threads)
{
    const double multiprocessors = 132.0, most_slices = 16.0; /* H100, H200 */
    const double ends = 64.0; /* from 4096 x 4096 x 64 and 8192 x 8192 x 128 on an H200 */
    const double m = round_up(call->m, 64), n = round_up(call->n, 128), k = round_up(call->k, 64);
    const double tiles = m / 64 * (n / 128), edge = cbrt(m * n * k);
    const double same = m * n * k * (1.0 + ends / k) / (1.0 + ends / edge);
    *threads = 0;
    const double seconds = duo_curve_seconds(&site->profile->curve[id], same, 3) *
                               fmax(1.0, multiprocessors / (tiles * most_slices)) +
                           extra_traffic(site, split_bytes(planes), m, n, k);
    return without_splitting(call, site, planes, seconds);
}

static double bf16x6_cost(const duo_call *call, const duo_site *site, int *threads)
{
    return wgmma_cost(call, site, DUO_ROW_sgemm_gpu_bf16x6, 3.0, threads);
}

static double fp16x3_cost(const duo_call *call, const duo_site *site, int *threads)
{
    return wgmma_cost(call, site, DUO_ROW_sgemm_gpu_fp16x3, 2.0, threads);
}

/* Over the time of sgemm_gpu_fp16x3, where there is no curve. */
static const double kFp16x1Times = 0.5;

static double fp16x1_cost(const duo_call *call, const duo_site *site, int *threads)
{
    const duo_row_id own = DUO_ROW_sgemm_gpu_fp16x1, like = DUO_ROW_sgemm_gpu_fp16x3;
    const bool measured = site->profile->curve[own].count > 0;
    const double seconds = wgmma_cost(call, site, measured ? own : like, 1.0, threads);
    return measured ? seconds : kFp16x1Times * seconds;
}

/* Turing has the first tensor cores that this row knows. */
static bool has_mma(const duo_call *call, const duo_site *site)
{
    const bool turing = site->capability == 0 || site->capability >= 75;
    return turing && call->k >= kLeastTensorK && call->alpha != 0.0f && fits_device(call, site);
}

/*
 * Where tensor cores add fp16 products only 2 to 4 times as fast as there are fp32 FMAs, three products
 * for one hardly pay, and a curve may have been borrowed from a device with 15 times as many: there it
 * is no cheaper than sgemm_gpu_ffma.
 */
static double mma_cost(const duo_call *call, const duo_site *site, int *threads)
{
    const double m = round_up(call->m, 64), n = round_up(call->n, 64), k = round_up(call->k, 64);
    const int c = site->capability;
    const bool many_products = c == 0 || c == 75 || c == 80 || c == 90 || c == 100;
    const double seconds =
        tiles_seconds(call, site, DUO_ROW_sgemm_gpu_mma, 64.0, (double)INFINITY) +
        extra_traffic(site, split_bytes(2.0), m, n, k);
    *threads = 0;
    return many_products ? seconds : fmax(seconds, ffma_cost(call, site, threads));
}

/*
 * Time over that of sgemm_gpu_tiled: with FP64 tensor cores (H200: 0.8 to 1.0), and without, where
 * there is one FP64 unit for 64 of FP32. There a curve may have been borrowed from a device with.
 */
static const double kTensorFloat64Times = 1.0, kFmaFloat64Times = 50.0;

static double f64_cost(const duo_call *call, const duo_site *site, int *threads)
{
    const int c = site->capability;
    const bool tensor = c == 0 || c == 80 || c == 90 || c == 100; /* 0: not looked at yet */
    const double seconds =
        float64_seconds(call, site, DUO_ROW_sgemm_gpu_f64, DUO_ROW_sgemm_gpu_tiled,
                        kTensorFloat64Times, 64, 64, 16);
    *threads = 0;
    if (tensor) return seconds;
    return fmax(seconds,
                kFmaFloat64Times * cube_seconds(call, site, DUO_ROW_sgemm_gpu_tiled, 64, 64, 16));
}

static const int64_t kWidest = 48; /* tile of sgemm_gpu_skinny */

/* Thin, or so small, both C and the work, that larger tiles take longer to begin and to end than to
 * multiply. */
static bool is_skinny(const duo_call *call, const duo_site *site)
{
    const double edge = 320.0; /* of such cubes on an H200 */
    const double c = (double)call->m * (double)call->n;
    const bool small = c <= edge * edge && c * (double)call->k <= edge * edge * edge;
    return fits_device(call, site) && (call->m <= kWidest || call->n <= kWidest || small);
}

/*
 * Multiplications of a product that takes the widest tile, 128 x kWidest with slabs of 32 k. As many
 * blocks share k as there are multiprocessors for, and to begin and to end takes each as long as 160 more
 * k: so of nine shapes measured on an H200 at commit 91a391a seven get the faster of this row and
 * sgemm_gpu_ffma, two lose 2 and 7 %.
 */
static double wide_work(double rows, double k)
{
    const double multiprocessors = 128.0, ends = 160.0; /* as in idle_times; of a block */
    const double blocks = fmax(1.0, fmin(multiprocessors / (rows / 128.0), k / 32.0));
    return rows * (double)kWidest * (k + ends * blocks);
}

/*
 * Seconds to multiply; a thin tile is a multiple of 8 wide, but above 32 it is the widest. The row's own
 * curve ends where it does not accept larger cubes. Work beyond it, or all where there is none, is done at
 * the rate that tiled has at its largest size.
 */
static double skinny_multiply(const duo_call *call, const duo_profile *p)
{
    const int64_t thin = call->m < call->n ? call->m : call->n;
    const int64_t rows = call->m < call->n ? call->n : call->m;
    const double work = thin > 32 && thin <= kWidest
                            ? wide_work(round_up(rows, 128), round_up(call->k, 32))
                            : round_up(rows, 1) * round_up(thin, 8) * round_up(call->k, 1);
    const duo_curve *const own = &p->curve[DUO_ROW_sgemm_gpu_skinny];
    const duo_curve *const tiled = &p->curve[DUO_ROW_sgemm_gpu_tiled];
    if (tiled->count == 0) return duo_curve_seconds(own, work, 3);
    const double edge = tiled->size[tiled->count - 1];
    const double rate = edge * edge * edge / tiled->seconds[tiled->count - 1];
    if (own->count == 0) return work / rate;
    const double last = own->size[own->count - 1], own_work = fmin(work, last * last * last);
    return duo_curve_seconds(own, own_work, 3) + (work - own_work) / rate;
}

/* To multiply and to read the operands, which overlap, but not fully; ssum reads as fast. */
static double skinny_cost(const duo_call *call, const duo_site *site, int *threads)
{
    const double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    const double launch = memory_seconds(site, 0.0); /* it is in the other as well */
    const double read = memory_seconds(site, 4.0 * (m * k + k * n + m * n)) - launch;
    *threads = 0;
    return hypot(read, skinny_multiply(call, site->profile));
}

const duo_row duo_sgemm_rows[DUO_SGEMM_ROWS] = {
    {DUO_ROW_sgemm_gpu_naive, "sgemm_gpu_naive", DUO_SIDE_GPU, DUO_SERVES_FLOAT32, fits_device,
     naive_cost, NULL},
    {DUO_ROW_sgemm_gpu_tiled, "sgemm_gpu_tiled", DUO_SIDE_GPU, DUO_SERVES_FLOAT32, fits_device,
     tiled_cost, NULL},
    {DUO_ROW_sgemm_gpu_ffma, "sgemm_gpu_ffma", DUO_SIDE_GPU, DUO_SERVES_FLOAT32, fits_device,
     ffma_cost, NULL},
    {DUO_ROW_sgemm_gpu_bf16x6, "sgemm_gpu_bf16x6", DUO_SIDE_GPU, DUO_SERVES_TENSOR, has_wgmma,
     bf16x6_cost, NULL},
    {DUO_ROW_sgemm_gpu_fp16x3, "sgemm_gpu_fp16x3", DUO_SIDE_GPU, DUO_SERVES_TENSOR, has_wgmma,
     fp16x3_cost, NULL},
    {DUO_ROW_sgemm_gpu_fp16x1, "sgemm_gpu_fp16x1", DUO_SIDE_GPU, DUO_SERVES_TF32, has_wgmma,
     fp16x1_cost, NULL},
    {DUO_ROW_sgemm_gpu_skinny, "sgemm_gpu_skinny", DUO_SIDE_GPU, DUO_SERVES_FLOAT32, is_skinny,
     skinny_cost, NULL},
    {DUO_ROW_sgemm_gpu_mma, "sgemm_gpu_mma", DUO_SIDE_GPU, DUO_SERVES_TENSOR, has_mma, mma_cost,
     NULL},
    {DUO_ROW_sgemm_cpu_openblas, "sgemm_cpu_openblas", DUO_SIDE_CPU, DUO_SERVES_FLOAT32, has_blas,
     openblas_cost, duo_sgemm_cpu_openblas},
    {DUO_ROW_sgemm_cpu_plain, "sgemm_cpu_plain", DUO_SIDE_CPU, DUO_SERVES_FLOAT32, always,
     plain_cost, duo_sgemm_cpu_plain},
    {DUO_ROW_sgemm_gpu_f64, "sgemm_gpu_f64", DUO_SIDE_GPU, DUO_SERVES_FLOAT64, fits_device,
     f64_cost, NULL},
    {DUO_ROW_sgemm_cpu_float64, "sgemm_cpu_float64", DUO_SIDE_CPU, DUO_SERVES_FLOAT64, always,
     cpu_float64_cost, duo_sgemm_cpu_float64},
};

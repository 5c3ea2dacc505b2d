/*
 * sgemm_gpu_costs.c - what the GPU's sgemm algorithms accept, and what they cost here.
 *
 * The cost of a product is that of the cube of equal work on the measured curve. Every size is
 * rounded up to the algorithm's tile first: a tile that is half empty takes as long as a full one.
 * An algorithm of another math without a curve takes a multiple of a float32 algorithm's time.
 * select.c adds transfers. Sizes of tiles are those of the kernels in src/gpu.
 */
#include "choice/sgemm_gpu_costs.h"

static double cube_seconds(const duo_call *call, const duo_conditions *conditions,
                           duo_algorithm_id id, double tile_m, double tile_n, double tile_k)
{
    const double work = duo_whole_tiles(call->m, tile_m) * duo_whole_tiles(call->n, tile_n) *
                        duo_whole_tiles(call->k, tile_k);
    return duo_curve_seconds(&conditions->profile->curve[id], work, 3);
}

/* By the algorithm's own curve; where that is missing, `times` the seconds of `float32`. */
static double float64_seconds(const duo_call *call, const duo_conditions *conditions,
                              duo_algorithm_id id, duo_algorithm_id float32, double times,
                              double tile_m, double tile_n, double tile_k)
{
    if (conditions->profile->curve[id].count > 0)
        return cube_seconds(call, conditions, id, tile_m, tile_n, tile_k);
    return times * cube_seconds(call, conditions, float32, tile_m, tile_n, tile_k);
}

/*
 * Seconds for memory traffic that a product of m x n x k has beyond the cube of equal work: the
 * curve, of cubes with beta = 0, does not show it. An element of A or B moves per_element bytes,
 * one of C is written, and read where beta is not 0. Sizes are in whole tiles.
 */
static double extra_traffic(const duo_call *call, const duo_conditions *conditions,
                            double per_element, double m, double n, double k)
{
    const double edge = cbrt(m * n * k), of_c = call->beta != 0.0f ? 8.0 : 4.0;
    const double extra =
        duo_device_memory_seconds(conditions, per_element * (m * k + k * n) + of_c * m * n) -
        duo_device_memory_seconds(conditions, (2.0 * per_element + 4.0) * edge * edge);
    return extra > 0.0 ? extra : 0.0;
}

/* How many times as many blocks, of `at_once` at most, compute the cube's C as one of m x n, where
 * a block computes `tile` elements. */
static double idle_times(double at_once, double m, double n, double k, double tile)
{
    const double edge = cbrt(m * n * k);
    return fmin(edge * edge / tile, at_once) / fmin(m * n / tile, at_once);
}

/* The launch is all that the smallest cube takes. */
static double launch_of(const duo_curve *curve)
{
    return curve->count > 0 ? curve->seconds[0] : 0.0;
}

/*
 * Each element of C is one thread's, which waits for every two elements that it multiplies. Of a
 * transposed A neighbouring threads read from different lines, which takes four times as long where
 * the multiprocessors are full (H200). All blocks but the first ones wait for others to end,
 * however little there is to multiply: 280 x 2578 x 2 has 2.75 rounds of them (H100).
 */
double duo_sgemm_gpu_naive_cost(const duo_call *call, const duo_conditions *conditions,
                                int *threads)
{
    const double m = duo_whole_tiles(call->m, 32), n = duo_whole_tiles(call->n, 8),
                 k = duo_whole_tiles(call->k, 1);
    const double tile = 32.0 * 8.0, resident = 8.0; /* blocks per multiprocessor */
    const duo_curve *const curve = &conditions->profile->curve[DUO_sgemm_gpu_naive];
    const double launch = launch_of(curve);
    const double at_once = resident * duo_multiprocessors(conditions);
    const double rounds = m * n / tile / at_once, round_seconds = 0.6e-6;
    const double lines = call->transa ? 1.0 + 3.0 * fmin(1.0, rounds) : 1.0;
    *threads = 0;
    return launch + fmax(rounds - 1.0, 0.0) * round_seconds +
           (duo_curve_seconds(curve, m * n * k, 3) - launch) * lines *
               idle_times(at_once, m, n, k, tile) +
           extra_traffic(call, conditions, 4.0, (double)call->m, (double)call->n, (double)call->k);
}

/* The tiles of C of sgemm_gpu_tiled, sgemm_gpu_ffma and sgemm_gpu_mma. */
static const double kTile = 64.0;

/* Seconds of a block that has its multiprocessor alone, without the launch: as in the largest cube
 * whose tiles have one each. */
static double alone_seconds(const duo_conditions *conditions, duo_algorithm_id id, double k)
{
    const duo_curve *const curve = &conditions->profile->curve[id];
    const double edge = kTile * sqrt(duo_multiprocessors(conditions));
    const double launch = launch_of(curve);
    return (duo_curve_seconds(curve, edge * edge * edge, 3) - launch) / edge * k;
}

/*
 * Seconds of an algorithm whose blocks compute a tile of C each, over all of k. A C of fewer tiles
 * than the cube's leaves more multiprocessors idle, a C of more tiles leaves fewer; and no block is
 * faster than one that is alone, of whose time this share is multiplying. The launch is not
 * affected.
 */
static double tiles_seconds(const duo_call *call, const duo_conditions *conditions,
                            duo_algorithm_id id, double tile_k, double multiplying)
{
    const duo_curve *const curve = &conditions->profile->curve[id];
    const double m = duo_whole_tiles(call->m, kTile), n = duo_whole_tiles(call->n, kTile);
    const double k = duo_whole_tiles(call->k, tile_k);
    const double launch = launch_of(curve);
    const double idle = idle_times(duo_multiprocessors(conditions), m, n, k, kTile * kTile);
    return launch + fmax((duo_curve_seconds(curve, m * n * k, 3) - launch) * idle,
                         multiplying * alone_seconds(conditions, id, k));
}

double duo_sgemm_gpu_tiled_cost(const duo_call *call, const duo_conditions *conditions,
                                int *threads)
{
    const double m = duo_whole_tiles(call->m, 64), n = duo_whole_tiles(call->n, 64),
                 k = duo_whole_tiles(call->k, 16);
    *threads = 0;
    return tiles_seconds(call, conditions, DUO_sgemm_gpu_tiled, 16.0, 1.0) +
           extra_traffic(call, conditions, 4.0, m, n, k);
}

/*
 * Blocks share a tile where tiles are few, which therefore do no harm; with many they need not. To
 * begin and to end a tile takes as long as `ends` more steps of k (ffma/plan.cuh), and a flat
 * product has more tiles than the cube of equal work, and waits for each multiprocessor's first:
 * seven of them, k up to 55, took 3 to 8 us longer than without both (H100). Of a deep one A and B
 * are read while it multiplies; C of a flat one is written when that is done.
 */
double duo_sgemm_gpu_ffma_cost(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    const double m = duo_whole_tiles(call->m, 64), n = duo_whole_tiles(call->n, 64),
                 k = duo_whole_tiles(call->k, 16);
    const double ends = 19.0, first_seconds = 1.5e-6, edge = cbrt(m * n * k);
    const double work = m * n * k * fmax((1.0 + ends / k) / (1.0 + ends / edge), 1.0);
    const double tiles = m / kTile * (n / kTile);
    const double first = first_seconds * fmin(tiles / duo_multiprocessors(conditions), 1.0) *
                         fmax(1.0 - k / edge, 0.0);
    const duo_curve *const curve = &conditions->profile->curve[DUO_sgemm_gpu_ffma];
    const double launch = launch_of(curve);
    const double idle = idle_times(duo_multiprocessors(conditions), m, n, k, kTile * kTile);
    const double multiplied = (duo_curve_seconds(curve, work, 3) - launch) * fmin(idle, 1.0);
    const double moved = extra_traffic(call, conditions, 4.0, m, n, k);
    *threads = 0;
    return launch + first + (k > edge ? hypot(multiplied, moved) : multiplied + moved);
}

/* The error bound of products on tensor cores holds from k = 64 on (docs/numerics.md): do not lower
 * this for speed. */
static const int64_t kLeastTensorK = 64;

static bool has_wgmma(const duo_call *call, const duo_conditions *conditions)
{
    const bool hopper = conditions->capability == 0 || conditions->capability == 90;
    return hopper && call->k >= kLeastTensorK && call->alpha != 0.0f &&
           duo_sgemm_fits_device(call, conditions);
}

/* Bytes that an element of A or B moves where operands are split: it is read, and its planes of 2
 * bytes each are written and read. */
static double split_bytes(double planes) { return 4.0 + 2.0 * 2.0 * planes; }

/* What is left of `seconds` where prepared operands are split already: at least half, for what is
 * saved is an estimate. */
static double without_splitting(const duo_call *call, const duo_conditions *conditions,
                                double planes, double seconds)
{
    double elements = 0.0;
    for (int i = DUO_A; i <= DUO_B; i++)
        if (call->operand[i].prepared) elements += duo_operand_bytes(&call->operand[i]) / 4.0;
    const double read_and_written = 4.0 + 2.0 * planes; /* bytes of an element, in splitting */
    const double saved = duo_device_memory_seconds(conditions, read_and_written * elements) -
                         duo_device_memory_seconds(conditions, 0.0);
    return fmax(seconds - saved, 0.5 * seconds);
}

/*
 * Tiles are 64 x 128 and 64 of k, and at most 16 blocks share a tile. To begin and to end a tile
 * takes as long as `ends` more steps of k, and a flat product has more tiles than the cube of equal
 * work.
 */
static double wgmma_cost(const duo_call *call, const duo_conditions *conditions,
                         duo_algorithm_id id, double planes, int *threads)
{
    const double multiprocessors = duo_multiprocessors(conditions);
    const double most_slices = 16.0; /* blocks that share one tile along k (split-K) */
    const double ends = 64.0; /* steps of k; from 4096 x 4096 x 64 and 8192 x 8192 x 128, H200 */
    const double m = duo_whole_tiles(call->m, 64), n = duo_whole_tiles(call->n, 128),
                 k = duo_whole_tiles(call->k, 64);
    const double tiles = m / 64 * (n / 128), edge = cbrt(m * n * k);
    const double same = m * n * k * (1.0 + ends / k) / (1.0 + ends / edge);
    *threads = 0;
    const duo_curve *const curve = &conditions->profile->curve[id];
    const double launch = launch_of(curve);
    const double idle = fmax(1.0, multiprocessors / (tiles * most_slices));
    const double seconds = launch + (duo_curve_seconds(curve, same, 3) - launch) * idle +
                           extra_traffic(call, conditions, split_bytes(planes), m, n, k);
    return without_splitting(call, conditions, planes, seconds);
}

double duo_sgemm_gpu_bf16x6_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    return wgmma_cost(call, conditions, DUO_sgemm_gpu_bf16x6, 3.0, threads);
}

double duo_sgemm_gpu_fp16x3_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    return wgmma_cost(call, conditions, DUO_sgemm_gpu_fp16x3, 2.0, threads);
}

/* Over the time of sgemm_gpu_fp16x3, where there is no curve: an estimate, for it does one product
 * instead of three, but splits its operands all the same. */
static const double kFp16x1Times = 0.5;

double duo_sgemm_gpu_fp16x1_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    const duo_algorithm_id own = DUO_sgemm_gpu_fp16x1, like = DUO_sgemm_gpu_fp16x3;
    const bool measured = conditions->profile->curve[own].count > 0;
    const double seconds = wgmma_cost(call, conditions, measured ? own : like, 1.0, threads);
    return measured ? seconds : kFp16x1Times * seconds;
}

/* From Turing (7.5) on: Volta's tensor cores have other instructions. */
static bool has_mma(const duo_call *call, const duo_conditions *conditions)
{
    const bool turing = conditions->capability == 0 || conditions->capability >= 75;
    return turing && call->k >= kLeastTensorK && call->alpha != 0.0f &&
           duo_sgemm_fits_device(call, conditions);
}

/*
 * On devices whose tensor cores do only 2 to 4 times as many fp16 products as there are fp32 FMAs,
 * three products for one hardly pay. The curve may be borrowed from a device that does 15 times as
 * many, so on those devices the algorithm counts as no cheaper than sgemm_gpu_ffma.
 */
double duo_sgemm_gpu_mma_cost(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    const double m = duo_whole_tiles(call->m, 64), n = duo_whole_tiles(call->n, 64),
                 k = duo_whole_tiles(call->k, 64);
    const int c = conditions->capability;
    /* Capabilities with many tensor cores; 0: not looked at yet. */
    const bool many_products = c == 0 || c == 75 || c == 80 || c == 90 || c == 100;
    const double multiplying = 0.75; /* of a block's time; else the cube splits A and B (H200) */
    const double seconds = tiles_seconds(call, conditions, DUO_sgemm_gpu_mma, 64.0, multiplying) +
                           extra_traffic(call, conditions, split_bytes(2.0), m, n, k);
    *threads = 0;
    return many_products ? seconds
                         : fmax(seconds, duo_sgemm_gpu_ffma_cost(call, conditions, threads));
}

/*
 * Times over those of sgemm_gpu_tiled. With FP64 tensor cores: 0.8 to 1.0 on an H200. Without them
 * there is one FP64 unit for 64 of FP32; the curve may be borrowed from a device that has them, so
 * the estimate for such a device is a lower bound of its cost.
 */
static const double kTensorFloat64Times = 1.0, kFmaFloat64Times = 50.0;

double duo_sgemm_gpu_f64_cost(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    const int c = conditions->capability;
    const bool tensor = c == 0 || c == 80 || c == 90 || c == 100; /* 0: not looked at yet */
    const double seconds =
        float64_seconds(call, conditions, DUO_sgemm_gpu_f64, DUO_sgemm_gpu_tiled,
                        kTensorFloat64Times, 64, 64, 16) +
        extra_traffic(call, conditions, 4.0, (double)call->m, (double)call->n, (double)call->k);
    *threads = 0;
    if (tensor) return seconds;
    return fmax(seconds,
                kFmaFloat64Times * cube_seconds(call, conditions, DUO_sgemm_gpu_tiled, 64, 64, 16));
}

/* ---- What each accepts ---- */

DUO_ACCEPTS(sgemm_gpu_naive, duo_sgemm_fits_device)
DUO_ACCEPTS(sgemm_gpu_tiled, duo_sgemm_fits_device)
DUO_ACCEPTS(sgemm_gpu_ffma, duo_sgemm_fits_device)
DUO_ACCEPTS(sgemm_gpu_bf16x6, has_wgmma)
DUO_ACCEPTS(sgemm_gpu_fp16x3, has_wgmma)
DUO_ACCEPTS(sgemm_gpu_fp16x1, has_wgmma)
DUO_ACCEPTS(sgemm_gpu_mma, has_mma)
DUO_ACCEPTS(sgemm_gpu_f64, duo_sgemm_fits_device)

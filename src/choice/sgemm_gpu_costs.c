/*
 * sgemm_gpu_costs.c - the calls that the GPU's sgemm algorithms accept, and their costs here.
 *
 * The cost of a product is the cost of a cube on the measured curve: mostly the cube of equal work,
 * for sgemm_gpu_naive the cube with the same size of C. Every size is rounded up to the algorithm's
 * tile first: a half empty tile takes as long as a full one. An algorithm of another math without a
 * curve takes a multiple of a float32 algorithm's time. select.c adds transfers. The kernels in
 * src/gpu have the sizes of tiles used here.
 */
#include "choice/sgemm_gpu_costs.h"

#include "product_order.h"

static double cube_seconds(const duo_call *call, const duo_conditions *conditions,
                           duo_algorithm_id id, double tile_m, double tile_n, double tile_k)
{
    const double work = duo_whole_tiles(call->m, tile_m) * duo_whole_tiles(call->n, tile_n) *
                        duo_whole_tiles(call->k, tile_k);
    return duo_curve_seconds(&conditions->profile->curve[id], work, 3);
}

/* By the algorithm's own curve; if it is missing, `times` the seconds of `float32`. */
static double float64_seconds(const duo_call *call, const duo_conditions *conditions,
                              duo_algorithm_id id, duo_algorithm_id float32, double times,
                              double tile_m, double tile_n, double tile_k)
{
    if (conditions->profile->curve[id].count > 0)
        return cube_seconds(call, conditions, id, tile_m, tile_n, tile_k);
    return times * cube_seconds(call, conditions, float32, tile_m, tile_n, tile_k);
}

/* The memory traffic of a product that reads A and B once, in tiles or not. */
static double traffic_of(const duo_call *call, const duo_conditions *conditions, double m, double n,
                         double k)
{
    return duo_extra_traffic(call, conditions, 4.0, m, n, k, cbrt(m * n * k));
}

static double traffic_of_elements(const duo_call *call, const duo_conditions *conditions)
{
    return traffic_of(call, conditions, (double)call->m, (double)call->n, (double)call->k);
}

/* The ratio of blocks that compute the cube's C to blocks that compute an m x n C: at most
 * `at_once` each, and a block computes `tile` elements. */
static double idle_times(double at_once, double m, double n, double k, double tile)
{
    const double edge = cbrt(m * n * k);
    return fmin(edge * edge / tile, at_once) / fmin(m * n / tile, at_once);
}

/*
 * One thread per element of C, bound by the latency of its loads. So a step of k takes as long as
 * in the cube with the same C; for a small C, as in the cube of 96 (H100). In a transposed A
 * neighbouring threads read different lines: this takes four times as long if the multiprocessors
 * are full (H200) and k is long enough that lines are evicted meanwhile. All blocks but the first
 * ones wait for others to end, even if they multiply little: 280 x 2578 x 2 has 2.75 rounds of
 * blocks (H100).
 */
double duo_sgemm_gpu_naive_cost(const duo_call *call, const duo_conditions *conditions,
                                int *threads)
{
    const double m = duo_whole_tiles(call->m, 32), n = duo_whole_tiles(call->n, 8),
                 k = duo_whole_tiles(call->k, 1);
    const double least_edge = 96.0, round_seconds = 0.6e-6;
    const double at_once = 32.0 * 8.0 * 8.0 * duo_multiprocessors(conditions); /* elements of C */
    const duo_curve *const curve = &conditions->profile->curve[DUO_sgemm_gpu_naive];
    const double launch = duo_launch_seconds(curve), rounds = m * n / at_once;
    const double edge = fmax(sqrt(m * n), least_edge), busy = fmin(1.0, rounds);
    const double evicted = busy * fmin(1.0, (double)call->m / 32.0) * fmin(1.0, k / 64.0);
    const double lines = call->transa ? 1.0 + 3.0 * evicted : 1.0;
    const double own =
        launch + fmax(rounds - 1.0, 0.0) * round_seconds +
        (duo_curve_seconds(curve, edge * edge * edge, 3) - launch) / edge * k * lines +
        traffic_of_elements(call, conditions);
    *threads = 0;
    /* Its curve ends before the tiled one's, because it does not win beyond. */
    return duo_curve_ends_before(curve, &conditions->profile->curve[DUO_sgemm_gpu_tiled], m * n * k,
                                 3)
               ? fmax(own, duo_sgemm_gpu_tiled_cost(call, conditions, threads))
               : own;
}

/* The tiles of C of sgemm_gpu_tiled, sgemm_gpu_ffma and sgemm_gpu_mma. */
static const double kTile = 64.0;

/* Seconds of a block that is alone on its multiprocessor, without the launch: from the largest cube
 * with one tile per multiprocessor. */
static double alone_seconds(const duo_conditions *conditions, duo_algorithm_id id, double k)
{
    const duo_curve *const curve = &conditions->profile->curve[id];
    const double edge = kTile * sqrt(duo_multiprocessors(conditions));
    const double launch = duo_launch_seconds(curve);
    return (duo_curve_seconds(curve, edge * edge * edge, 3) - launch) / edge * k;
}

/*
 * Seconds of an algorithm with a block for each tile of C, over all of k. A C with fewer tiles than
 * the cube's leaves more multiprocessors idle, a C with more tiles fewer. No block is faster than a
 * block that is alone; `multiplying` is the share of its time for multiplying. The launch is not
 * affected.
 */
static double tiles_seconds(const duo_call *call, const duo_conditions *conditions,
                            duo_algorithm_id id, double tile_k, double multiplying)
{
    const duo_curve *const curve = &conditions->profile->curve[id];
    const double m = duo_whole_tiles(call->m, kTile), n = duo_whole_tiles(call->n, kTile);
    const double k = duo_whole_tiles(call->k, tile_k);
    const double launch = duo_launch_seconds(curve);
    const double idle = idle_times(duo_multiprocessors(conditions), m, n, k, kTile * kTile);
    return launch + fmax((duo_curve_seconds(curve, m * n * k, 3) - launch) * idle,
                         multiplying * alone_seconds(conditions, id, k));
}

/* C of a flat product moves at a third of the memory's rate, at 0.4 if it is read, because a thread
 * has four by four elements of it (twelve flat products on H100s). */
double duo_sgemm_gpu_tiled_cost(const duo_call *call, const duo_conditions *conditions,
                                int *threads)
{
    const double m = duo_whole_tiles(call->m, 64), n = duo_whole_tiles(call->n, 64),
                 k = duo_whole_tiles(call->k, 16);
    const double edge = cbrt(m * n * k), slower = call->beta != 0.0f ? 12.0 : 8.0; /* bytes more */
    const double beyond_cube = fmax((double)call->m * (double)call->n - edge * edge, 0.0);
    *threads = 0;
    return tiles_seconds(call, conditions, DUO_sgemm_gpu_tiled, 16.0, 1.0) +
           traffic_of(call, conditions, m, n, k) +
           duo_device_moving_seconds(conditions, slower * beyond_cube);
}

/* Seconds of sgemm_gpu_ffma for one tile: its steps of k wait for each other. Only whole segments
 * are shared, and then a second kernel adds them. */
static double one_tile_seconds(double k)
{
    const double alone = 1.8e-6, step = 16e-9, adding = 3.0e-6; /* H200 */
    return alone + step * fmin(k, DUO_SEGMENT) + (k > DUO_SEGMENT ? adding : 0.0);
}

/*
 * Few tiles do no harm: blocks share them by segments of k. Where the product is like a cube, they
 * share unevenly: a second wave of segments takes as long as the first, however few it has.
 *
 * Beginning and ending a tile takes as long as `ends` more steps of k (ffma/plan.cuh). Half a tile
 * takes two thirds of its time. A flat product has more tiles than the cube of equal work, and
 * waits for each multiprocessor's first tile: seven flat products, k up to 55, took 3 to 8 us
 * longer than predicted without these two (H100). A deep product reads A and B while it multiplies;
 * a flat one writes C after that. If A is not copied 16 bytes at a time, as in most cubes, small
 * products take 0.9 us longer (182 of them, H200). A second kernel adds the sums of segments. They
 * take time if there are many (H200, k from 17 000 to 1 000 000).
 */
double duo_sgemm_gpu_ffma_cost(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    const bool half_tiles = call->m <= 32 && call->transb; /* 32 x 64, and B is not turned */
    const double m = half_tiles ? 42.0 : duo_whole_tiles(call->m, 64);
    const double n = duo_whole_tiles(call->n, 64), k = duo_whole_tiles(call->k, 16);
    const double ends = 19.0, first_seconds = 1.5e-6, edge = cbrt(m * n * k);
    const double work = m * n * k * fmax((1.0 + ends / k) / (1.0 + ends / edge), 1.0);
    const double tiles = m / kTile * (n / kTile);
    const double first = first_seconds * fmin(tiles / duo_multiprocessors(conditions), 1.0) *
                         fmax(1.0 - k / edge, 0.0);
    const duo_curve *const curve = &conditions->profile->curve[DUO_sgemm_gpu_ffma];
    *threads = 0;
    if (curve->count == 0) return (double)INFINITY;
    const double launch = duo_launch_seconds(curve);
    const double idle = idle_times(duo_multiprocessors(conditions), m, n, k, kTile * kTile);
    const bool wide_copies = !call->transa && call->m % 4 == 0 && call->operand[DUO_A].ld % 4 == 0;
    const double copied = wide_copies ? 0.0 : 0.9e-6;
    const double deep = fmin(fmax(k / edge - 1.0, 0.0), 1.0); /* 0: k <= edge; 1: k >= 2 * edge */
    const double segments = ceil((double)call->k / DUO_SEGMENT), hidden = 150.0;
    const double waves = ceil((double)call->m / kTile) * ceil((double)call->n / kTile) * segments /
                         duo_multiprocessors(conditions);
    const bool like_a_cube = k >= 0.5 * edge && k <= 2.0 * edge;
    const double uneven = like_a_cube && waves > 0.7 ? ceil(waves) / waves : 1.0;
    const double multiplied =
        (duo_curve_seconds(curve, work, 3) - launch) * fmin(idle, 1.0) * uneven;
    const double moved = traffic_of(call, conditions, m, n, k);
    const double added = 0.1e-6 * fmax(segments - hidden, 0.0);
    const double seconds = launch + first + copied + (1.0 - deep) * (multiplied + moved) +
                           deep * hypot(multiplied, moved) + added;
    return fmax(seconds, copied + one_tile_seconds((double)call->k));
}

/* Is it Hopper? There sgemm_gpu_mma has the kernels of batches. */
static bool has_batched_mma(const duo_conditions *conditions)
{
    return conditions->capability == DUO_BATCHED_WGMMA_CAPABILITY;
}

/*
 * Seconds of these kernels for one product: by their plan. The cube of equal work was measured. If
 * it takes longer than its plan says, the product does, too, by the same time. The plan does not
 * know that the other rows of a tile are for nothing if C has one row; with up to eight it is a
 * fifth short (65 products on H200s). No product takes less than to read A and B.
 */
static double batched_mma_seconds(const duo_call *call, const duo_conditions *conditions)
{
    const double work = (double)call->m * (double)call->n * (double)call->k;
    const int64_t edge = (int64_t)fmax(cbrt(work) + 0.5, DUO_BATCHED_TENSOR_LEAST_K);
    const duo_call cube = duo_call_sgemm(false, false, edge, edge, edge, 1.0f, 0.0f);
    const duo_batched_device device = duo_batched_device_of(conditions);
    const duo_curve *const curve = &conditions->profile->curve[DUO_sgemm_gpu_mma];
    const double longer =
        duo_curve_seconds(curve, work, 3) - 1e-6 * duo_batched_alone(&cube, &device);
    const double small_in_doubt = 1.05; /* of a product alone (tile_batches.cuh) */
    const int64_t rows = call->m < call->n ? call->m : call->n;
    const double of_few = rows == 1 ? 1.5 : rows <= DUO_BATCHED_STRIP ? 1.2 : 1.0;
    const double seconds =
        small_in_doubt * of_few * 1e-6 * duo_batched_alone(call, &device) + fmax(longer, 0.0);
    return fmax(seconds, duo_device_memory_seconds(conditions,
                                                   duo_operand_bytes(&call->operand[DUO_A]) +
                                                       duo_operand_bytes(&call->operand[DUO_B])));
}

/* From Turing (7.5) on: Volta's tensor cores have other instructions. */
static bool has_mma(const duo_call *call, const duo_conditions *conditions)
{
    const bool turing = conditions->capability == 0 || conditions->capability >= 75;
    const int64_t least_k =
        has_batched_mma(conditions) ? DUO_BATCHED_WARPS_LEAST_K : DUO_LEAST_TENSOR_K;
    return turing && call->k >= least_k && call->alpha != 0.0f &&
           duo_sgemm_fits_device(call, conditions);
}

/*
 * If a device's tensor cores do only 2 to 4 fp16 products per fp32 FMA, three products for one
 * hardly pay. The curve may be borrowed from a device that does 15, so there the algorithm counts
 * as no cheaper than sgemm_gpu_ffma.
 */
double duo_sgemm_gpu_mma_cost(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    const double m = duo_whole_tiles(call->m, 64), n = duo_whole_tiles(call->n, 64),
                 k = duo_whole_tiles(call->k, 64);
    const int c = conditions->capability;
    *threads = 0;
    if (has_batched_mma(conditions)) return batched_mma_seconds(call, conditions);
    /* Capabilities with many tensor cores; 0: not looked at yet. */
    const bool many_products = c == 0 || c == 75 || c == 80 || c == 100;
    const double multiplying = 0.75; /* of a block's time; the rest splits A and B (H200) */
    const double seconds =
        tiles_seconds(call, conditions, DUO_sgemm_gpu_mma, 64.0, multiplying) +
        duo_extra_traffic(call, conditions, duo_split_bytes(2.0), m, n, k, cbrt(m * n * k));
    return many_products ? seconds
                         : fmax(seconds, duo_sgemm_gpu_ffma_cost(call, conditions, threads));
}

/*
 * Times relative to sgemm_gpu_tiled. With FP64 tensor cores: 0.8 to 1.0 on an H200. Without them
 * there is one FP64 unit for 64 of FP32. The curve may be borrowed from a device with FP64 tensor
 * cores, so for a device without them the estimate is a lower bound of its cost.
 */
static const double kTensorFloat64Times = 1.0, kFmaFloat64Times = 50.0;

double duo_sgemm_gpu_f64_cost(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    const int c = conditions->capability;
    const bool tensor = c == 0 || c == 80 || c == 90 || c == 100; /* 0: not looked at yet */
    const double seconds = float64_seconds(call, conditions, DUO_sgemm_gpu_f64, DUO_sgemm_gpu_tiled,
                                           kTensorFloat64Times, 64, 64, 16) +
                           traffic_of_elements(call, conditions);
    *threads = 0;
    if (tensor) return seconds;
    return fmax(seconds,
                kFmaFloat64Times * cube_seconds(call, conditions, DUO_sgemm_gpu_tiled, 64, 64, 16));
}

/* ---- The calls that each accepts ---- */

bool duo_sgemm_gpu_naive_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return duo_sgemm_fits_device(call, conditions);
}

bool duo_sgemm_gpu_tiled_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return duo_sgemm_fits_device(call, conditions) && duo_one_chain_will_do(call, conditions);
}

bool duo_sgemm_gpu_ffma_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return duo_sgemm_fits_device(call, conditions) && duo_one_chain_will_do(call, conditions);
}

bool duo_sgemm_gpu_mma_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return has_mma(call, conditions);
}

bool duo_sgemm_gpu_f64_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return duo_sgemm_fits_device(call, conditions);
}

/*
 * sgemm_gpu_costs.c - what the GPU's sgemm algorithms accept, and what they cost here.
 *
 * The cost of a product is that of the cube of equal work on the measured curve. Every size is
 * rounded up to the algorithm's tile first: a tile that is half empty takes as long as a full one.
 * An algorithm of another math without a curve takes a multiple of a float32 algorithm's time.
 * select.c adds transfers. Sizes of tiles are those of the kernels in src/gpu.
 */
#include <math.h>

#include "choice/costs.h"

/* The size in whole tiles. A size of 0 counts as 1: a call with k = 0 is predicted, too. */
static double round_up(int64_t size, double tile)
{
    return ceil((double)(size > 1 ? size : 1) / tile) * tile;
}

static double cube_seconds(const duo_call *call, const duo_conditions *conditions,
                           duo_algorithm_id id, double tile_m, double tile_n, double tile_k)
{
    const double work =
        round_up(call->m, tile_m) * round_up(call->n, tile_n) * round_up(call->k, tile_k);
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

/* Kept arrays have to fit; operands in host memory are streamed, which takes little memory. */
static bool fits_device(const duo_call *call, const duo_conditions *conditions)
{
    const double least = 0x1p21; /* bytes for a plan of the smallest blocks, of 2048 of k */
    double bytes = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (!duo_operand_touched(o) || o->on_device) continue;
        bytes += duo_operand_hosted(o) ? fmin(duo_operand_bytes(o), least) : duo_operand_bytes(o);
    }
    return conditions->gpu && bytes <= conditions->device_memory_bytes;
}

/* Seconds to read so many bytes of device memory: what ssum takes for them. */
static double memory_seconds(const duo_conditions *conditions, double bytes)
{
    return duo_curve_seconds(&conditions->profile->curve[DUO_ssum_gpu_shuffle], bytes / 4.0, 1);
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
    const double extra = memory_seconds(conditions, per_element * (m * k + k * n) + of_c * m * n) -
                         memory_seconds(conditions, (2.0 * per_element + 4.0) * edge * edge);
    return extra > 0.0 ? extra : 0.0;
}

/* Multiprocessors of the device. Until a device was looked at those of an H100, 132: its curves are
 * used till then. */
static double multiprocessors_of(const duo_conditions *conditions)
{
    return conditions->multiprocessors > 0 ? conditions->multiprocessors : 132.0;
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
    const double m = round_up(call->m, 32), n = round_up(call->n, 8), k = round_up(call->k, 1);
    const double tile = 32.0 * 8.0, resident = 8.0; /* blocks per multiprocessor */
    const duo_curve *const curve = &conditions->profile->curve[DUO_sgemm_gpu_naive];
    const double launch = launch_of(curve);
    const double at_once = resident * multiprocessors_of(conditions);
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
    const double edge = kTile * sqrt(multiprocessors_of(conditions));
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
    const double m = round_up(call->m, kTile), n = round_up(call->n, kTile);
    const double k = round_up(call->k, tile_k);
    const double launch = launch_of(curve);
    const double idle = idle_times(multiprocessors_of(conditions), m, n, k, kTile * kTile);
    return launch + fmax((duo_curve_seconds(curve, m * n * k, 3) - launch) * idle,
                         multiplying * alone_seconds(conditions, id, k));
}

double duo_sgemm_gpu_tiled_cost(const duo_call *call, const duo_conditions *conditions,
                                int *threads)
{
    const double m = round_up(call->m, 64), n = round_up(call->n, 64), k = round_up(call->k, 16);
    *threads = 0;
    return tiles_seconds(call, conditions, DUO_sgemm_gpu_tiled, 16.0, 1.0) +
           extra_traffic(call, conditions, 4.0, m, n, k);
}

/*
 * Blocks share a tile where tiles are few, which therefore do no harm; with many they need not. To
 * begin and to end a tile takes as long as `ends` more steps of k (ffma/plan.cuh), and a flat
 * product has more tiles than the cube of equal work, and waits for each multiprocessor's first:
 * seven of them, k up to 55, took 3 to 8 us longer than without both (H100).
 */
double duo_sgemm_gpu_ffma_cost(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    const double m = round_up(call->m, 64), n = round_up(call->n, 64), k = round_up(call->k, 16);
    const double ends = 19.0, first_seconds = 1.5e-6, edge = cbrt(m * n * k);
    const double work = m * n * k * fmax((1.0 + ends / k) / (1.0 + ends / edge), 1.0);
    const double tiles = m / kTile * (n / kTile);
    const double first = first_seconds * fmin(tiles / multiprocessors_of(conditions), 1.0) *
                         fmax(1.0 - k / edge, 0.0);
    const duo_curve *const curve = &conditions->profile->curve[DUO_sgemm_gpu_ffma];
    const double launch = launch_of(curve);
    const double idle = idle_times(multiprocessors_of(conditions), m, n, k, kTile * kTile);
    *threads = 0;
    return launch + first + (duo_curve_seconds(curve, work, 3) - launch) * fmin(idle, 1.0) +
           extra_traffic(call, conditions, 4.0, m, n, k);
}

/* The error bound of products on tensor cores holds from k = 64 on (docs/numerics.md): do not lower
 * this for speed. */
static const int64_t kLeastTensorK = 64;

static bool has_wgmma(const duo_call *call, const duo_conditions *conditions)
{
    const bool hopper = conditions->capability == 0 || conditions->capability == 90;
    return hopper && call->k >= kLeastTensorK && call->alpha != 0.0f &&
           fits_device(call, conditions);
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
    const double saved =
        memory_seconds(conditions, read_and_written * elements) - memory_seconds(conditions, 0.0);
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
    const double multiprocessors = multiprocessors_of(conditions);
    const double most_slices = 16.0; /* blocks that share one tile along k (split-K) */
    const double ends = 64.0; /* steps of k; from 4096 x 4096 x 64 and 8192 x 8192 x 128, H200 */
    const double m = round_up(call->m, 64), n = round_up(call->n, 128), k = round_up(call->k, 64);
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
           fits_device(call, conditions);
}

/*
 * On devices whose tensor cores do only 2 to 4 times as many fp16 products as there are fp32 FMAs,
 * three products for one hardly pay. The curve may be borrowed from a device that does 15 times as
 * many, so on those devices the algorithm counts as no cheaper than sgemm_gpu_ffma.
 */
double duo_sgemm_gpu_mma_cost(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    const double m = round_up(call->m, 64), n = round_up(call->n, 64), k = round_up(call->k, 64);
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

static const int64_t kWidest = 48; /* columns of the widest tile of sgemm_gpu_skinny */

/* Is the product thin? Or are both C and the work so small that larger tiles take longer to begin
 * and to end than to multiply? */
static bool is_skinny(const duo_call *call, const duo_conditions *conditions)
{
    const double edge = 320.0; /* of the largest such cube on an H200 */
    const double c = (double)call->m * (double)call->n;
    const bool small = c <= edge * edge && c * (double)call->k <= edge * edge * edge;
    return fits_device(call, conditions) && (call->m <= kWidest || call->n <= kWidest || small);
}

/* Multiplications per second of the largest cube. */
static double largest_rate(const duo_curve *curve)
{
    const double edge = curve->size[curve->count - 1];
    return edge * edge * edge / curve->seconds[curve->count - 1];
}

/* Multiplications of a product that takes the widest tile, 128 x kWidest with slabs of 32 k. Each
 * takes as long as 160 more steps of k to begin and to end (H200). */
static double wide_work(double rows, double k)
{
    const double ends = 160.0; /* steps of k */
    return rows * (double)kWidest * (k + ends);
}

/*
 * Seconds to multiply. A tile is a multiple of 8 wide up to 32; above 32 it is the widest. The
 * algorithm's own curve ends where larger cubes are not accepted. Work beyond that end, or all work
 * without a curve, is done at the rate that sgemm_gpu_tiled has at its largest size.
 */
static double skinny_multiply(const duo_call *call, const duo_conditions *conditions)
{
    const duo_profile *const p = conditions->profile;
    const int64_t thin = call->m < call->n ? call->m : call->n;
    const int64_t rows = call->m < call->n ? call->n : call->m;
    const double work = thin > 32 && thin <= kWidest
                            ? wide_work(round_up(rows, 128), round_up(call->k, 32))
                            : round_up(rows, 1) * round_up(thin, 8) * round_up(call->k, 1);
    const duo_curve *const own = &p->curve[DUO_sgemm_gpu_skinny];
    const duo_curve *const tiled = &p->curve[DUO_sgemm_gpu_tiled];
    if (tiled->count == 0) return duo_curve_seconds(own, work, 3);
    const double rate = largest_rate(tiled);
    if (own->count == 0) return work / rate;
    const double last = own->size[own->count - 1], own_work = fmin(work, last * last * last);
    return duo_curve_seconds(own, own_work, 3) + (work - own_work) / rate;
}

/* Do blocks share a long k, since tiles of 128 rows are fewer than multiprocessors? */
static bool shares_k(const duo_call *call, const duo_conditions *conditions)
{
    const int64_t longest = 1024; /* k that a block still takes alone */
    const double rows = (double)(call->m < call->n ? call->n : call->m);
    return call->k > longest && rows / 128.0 < multiprocessors_of(conditions);
}

/* Multiplying and reading the operands overlap, but not fully: hence hypot. A second kernel adds
 * what blocks that share k have. */
double duo_sgemm_gpu_skinny_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    const double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    const double of_c = call->beta != 0.0f ? 8.0 : 4.0;
    const double launch = memory_seconds(conditions, 0.0); /* it is in both, and counts once */
    const double read = memory_seconds(conditions, 4.0 * (m * k + k * n) + of_c * m * n) - launch;
    *threads = 0;
    return hypot(read, skinny_multiply(call, conditions)) +
           (shares_k(call, conditions) ? launch : 0.0);
}

static const int64_t kMostRank = 64; /* k of sgemm_gpu_rank_k: two of its longest slabs */

static bool is_rank_k(const duo_call *call, const duo_conditions *conditions)
{
    return fits_device(call, conditions) && call->k <= kMostRank;
}

/* The cube of this k takes as long as one tile does: the launch, and each slab of A and B. Beyond
 * it C takes the time; with k of 32 and more multiplying does, too, at the rate that
 * sgemm_gpu_tiled has at its largest size. 8 k are multiplied, or not, together. */
double duo_sgemm_gpu_rank_k_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    const double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    const double of_c = call->beta != 0.0f ? 8.0 : 4.0, steps = k <= 4 ? 4 : 8;
    const duo_curve *const own = &conditions->profile->curve[DUO_sgemm_gpu_rank_k];
    const duo_curve *const tiled = &conditions->profile->curve[DUO_sgemm_gpu_tiled];
    const double none = memory_seconds(conditions, 0.0);
    const double moved = memory_seconds(conditions, of_c * m * n + 4.0 * (m * k + k * n)) - none;
    const double work = round_up(call->m, 128) * round_up(call->n, 64) * round_up(call->k, steps);
    const double multiplied = tiled->count > 0 ? work / largest_rate(tiled) : 0.0;
    *threads = 0;
    return (own->count > 0 ? duo_curve_seconds(own, k * k * k, 3) : none) +
           hypot(moved, multiplied);
}

/* The thin side of C for sgemm_gpu_gemv, and the least of the other one: rows of a warp. */
static const int64_t kMostThin = 8, kLeastLong = 32;

static bool is_gemv(const duo_call *call, const duo_conditions *conditions)
{
    const int64_t thin = call->m < call->n ? call->m : call->n;
    const int64_t rows = call->m < call->n ? call->n : call->m;
    return fits_device(call, conditions) && thin <= kMostThin && rows >= kLeastLong &&
           !duo_streams(call); /* panels may have fewer rows */
}

/* As long as reading takes. Where neighbours of the longer operand are neighbours in k, a warp
 * takes 128 steps as long as fewer, and more than three columns take longer: 8 to 21 % than
 * sgemm_gpu_skinny (H200). */
double duo_sgemm_gpu_gemv_cost(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    const double m = (double)call->m, n = (double)call->n;
    const bool along_k = call->m < call->n ? !call->transb : call->transa;
    const double k = along_k ? round_up(call->k, 128.0) : (double)call->k;
    const double of_c = call->beta != 0.0f ? 8.0 : 4.0;
    const double slower = along_k && fmin(m, n) > 3.0 ? 1.15 : 1.0;
    *threads = 0;
    return slower * memory_seconds(conditions, 4.0 * (m * k + k * n) + of_c * m * n);
}

/* ---- What each accepts ---- */

#define ACCEPTS(name, condition)                                                                   \
    bool duo_##name##_accepts(const duo_call *call, const duo_conditions *conditions)              \
    {                                                                                              \
        return condition(call, conditions);                                                        \
    }
ACCEPTS(sgemm_gpu_naive, fits_device)
ACCEPTS(sgemm_gpu_tiled, fits_device)
ACCEPTS(sgemm_gpu_ffma, fits_device)
ACCEPTS(sgemm_gpu_bf16x6, has_wgmma)
ACCEPTS(sgemm_gpu_fp16x3, has_wgmma)
ACCEPTS(sgemm_gpu_fp16x1, has_wgmma)
ACCEPTS(sgemm_gpu_skinny, is_skinny)
ACCEPTS(sgemm_gpu_rank_k, is_rank_k)
ACCEPTS(sgemm_gpu_gemv, is_gemv)
ACCEPTS(sgemm_gpu_mma, has_mma)
ACCEPTS(sgemm_gpu_f64, fits_device)

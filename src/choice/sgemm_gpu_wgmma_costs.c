/*
 * sgemm_gpu_wgmma_costs.c - calls that the algorithms on Hopper's tensor cores accept; their costs.
 *
 * The kernels choose their tile by clocks (gpu/split/wgmma/tile_clocks.h). These compare a product
 * with the measured cubes nearest in work, so whole waves of tiles and slices of k count.
 */
#include "choice/sgemm_gpu_costs.h"
#include "gpu/split/schemes.h"
#include "gpu/split/wgmma/tile_clocks.h"

/* A line of gpu/split/schemes.h. */
typedef struct scheme {
    duo_algorithm_id id;
    int planes, products, stage_k, cluster;
} scheme;
#define SCHEME(name, planes, products, stage_k, cluster)                                           \
    static const scheme name = {DUO_sgemm_gpu_##name, planes, products, stage_k, cluster};
DUO_SCHEME_LIST(SCHEME)
#undef SCHEME

static bool has_wgmma(const duo_call *call, const duo_conditions *conditions)
{
    const bool hopper = conditions->capability == 0 || conditions->capability == 90;
    return hopper && call->k >= DUO_LEAST_TENSOR_K && call->alpha != 0.0f &&
           duo_sgemm_fits_device(call, conditions);
}

/* The cheapest tiles: their clocks, and the rows of C that a multiprocessor stores in all of its
 * tiles. */
typedef struct tiles {
    double clocks, stored_rows;
} tiles;

/* The number of slices of k with the least clocks: `clocks_of_k` are shared, but each slice costs
 * more. At most as many as multiprocessors per tile, and as k has tiles. */
static int slices_of(const duo_tile_clocks *tile, double count, double k, double clocks_of_k,
                     double multiprocessors)
{
    const double at_once = multiprocessors / count, k_tiles = duo_whole(k / (double)DUO_TILE_K);
    if (tile->most_slices < 2 || at_once < 2.0 || k_tiles < 2.0) return 1;
    double most = sqrt(clocks_of_k / tile->per_slice) + 0.5;
    if (most > at_once) most = at_once;
    if (most > k_tiles) most = k_tiles;
    return most > tile->most_slices ? tile->most_slices : most > 1.0 ? (int)most : 1;
}

static tiles cheapest(const scheme *s, double m, double n, double k, double multiprocessors)
{
    const double columns = duo_whole(n / (double)DUO_TILE_COLUMNS),
                 steps = duo_whole(k / s->stage_k);
    const int products = s->products * s->stage_k / DUO_TILE_STEP;
    tiles best = {(double)INFINITY, 0.0};
    for (int size = 0; size < DUO_TILE_SIZES; size++) {
        const duo_tile_clocks *const tile = &duo_tiles_of_c[size];
        const double across =
            size == DUO_TILE_LARGE ? duo_whole(columns / s->cluster) * s->cluster : columns;
        const double count = duo_whole(m / tile->rows) * across;
        const int most =
            slices_of(tile, count, k, steps * products * tile->per_product, multiprocessors);
        for (int slices = 1; slices <= most; slices += most > 1 ? most - 1 : 1) {
            const double clocks =
                duo_clocks_of_tiles(tile, count, slices, steps, products, multiprocessors);
            if (clocks < best.clocks)
                best = (tiles){clocks, duo_tile_waves(count, slices, multiprocessors) *
                                           (m < tile->rows ? m : tile->rows)};
        }
    }
    return best;
}

/* Does the cube at a point of the curve tell how long a clock is? Not a small cube, not one that is
 * nearly all launch, and not one with columns that do not begin on 16 bytes, which take longer to
 * store. */
static bool tells_clock(const duo_curve *curve, int point)
{
    const double least = 256.0, least_share = 0.1, whole = curve->seconds[point];
    return curve->size[point] >= least && (int64_t)curve->size[point] % 4 == 0 &&
           whole - duo_launch_seconds(curve) > least_share * whole;
}

/* Seconds of a clock from the cube at a point of the curve: too many at a point that does not tell,
 * because the launch is included. */
static double clock_at(const scheme *s, const duo_curve *curve, int point, double multiprocessors)
{
    const double edge = curve->size[point];
    const double launch = tells_clock(curve, point) ? duo_launch_seconds(curve) : 0.0;
    return (curve->seconds[point] - launch) / cheapest(s, edge, edge, edge, multiprocessors).clocks;
}

/* The same for a cube of any edge, from the points around it that tell; if none does, from the
 * last. */
static double clock_seconds(const scheme *s, const duo_curve *curve, double edge,
                            double multiprocessors)
{
    int below = -1, above = -1;
    for (int i = 0; i < curve->count && above < 0; i++) {
        if (!tells_clock(curve, i)) continue;
        if (curve->size[i] < edge)
            below = i;
        else
            above = i;
    }
    if (below < 0 && above < 0) above = curve->count - 1;
    if (below < 0 || above < 0)
        return clock_at(s, curve, below < 0 ? above : below, multiprocessors);
    const double part = (edge - curve->size[below]) / (curve->size[above] - curve->size[below]);
    return clock_at(s, curve, below, multiprocessors) * (1.0 - part) +
           clock_at(s, curve, above, multiprocessors) * part;
}

/* The rest of `seconds` if prepared operands are split already: at least half, because the saving
 * is an estimate. */
static double without_splitting(const duo_call *call, const duo_conditions *conditions, int planes,
                                double seconds)
{
    double elements = 0.0;
    for (int i = DUO_A; i <= DUO_B; i++)
        if (call->operand[i].prepared) elements += duo_operand_bytes(&call->operand[i]) / 4.0;
    const double read_and_written = 4.0 + 2.0 * planes; /* bytes of an element, to split it */
    const double saved = duo_device_moving_seconds(conditions, read_and_written * elements);
    return fmax(seconds - saved, 0.5 * seconds);
}

/* Extra seconds over storing C in aligned groups of 16 bytes: for reading C, and for rows of tiles
 * if columns do not begin on 16 bytes. From 173 products by fp16x3 and 75 by bf16x6 on H100s, and
 * seven that do not read C. */
static double store_seconds(const duo_call *call, double rows)
{
    const double reads = 1.3e-6, row = 0.8e-6 / 64.0, row_read = 3.2e-6 / 64.0;
    const bool unaligned = call->operand[DUO_C].ld % 4 != 0;
    if (call->beta != 0.0f) return reads + (unaligned ? row_read * rows : 0.0);
    return unaligned ? row * rows : 0.0;
}

static double wgmma_cost(const duo_call *call, const duo_conditions *conditions, const scheme *s,
                         int *threads)
{
    const double multiprocessors = duo_multiprocessors(conditions);
    const duo_curve *const curve = &conditions->profile->curve[s->id];
    const double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    const double edge = cbrt(duo_whole_tiles(call->m, DUO_SMALL_ROWS) *
                             duo_whole_tiles(call->n, DUO_TILE_COLUMNS) * k);
    *threads = 0;
    if (curve->count == 0) return (double)INFINITY;
    const tiles t = cheapest(s, m, n, k, multiprocessors);
    const double seconds =
        duo_launch_seconds(curve) + t.clocks * clock_seconds(s, curve, edge, multiprocessors) +
        duo_extra_traffic(call, conditions, duo_split_bytes(s->planes), m, n, k, edge) +
        store_seconds(call, t.stored_rows);
    return without_splitting(call, conditions, s->planes, seconds);
}

double duo_sgemm_gpu_bf16x6_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    return wgmma_cost(call, conditions, &bf16x6, threads);
}

double duo_sgemm_gpu_fp16x3_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    return wgmma_cost(call, conditions, &fp16x3, threads);
}

/* Relative to sgemm_gpu_fp16x3, if there is no curve: an estimate. It does one product instead of
 * three, but also splits its operands. */
static const double kTimesOfFp16x3 = 0.5;

double duo_sgemm_gpu_fp16x1_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    if (conditions->profile->curve[fp16x1.id].count > 0)
        return wgmma_cost(call, conditions, &fp16x1, threads);
    return kTimesOfFp16x3 * wgmma_cost(call, conditions, &fp16x3, threads);
}

bool duo_sgemm_counts_waves(duo_algorithm_id id)
{
    return id == bf16x6.id || id == fp16x3.id || id == fp16x1.id || id == DUO_sgemm_gpu_skinny;
}

bool duo_sgemm_gpu_bf16x6_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return has_wgmma(call, conditions);
}

bool duo_sgemm_gpu_fp16x3_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return has_wgmma(call, conditions);
}

bool duo_sgemm_gpu_fp16x1_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return has_wgmma(call, conditions);
}

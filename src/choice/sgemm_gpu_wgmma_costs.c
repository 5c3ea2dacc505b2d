/*
 * sgemm_gpu_wgmma_costs.c - what the algorithms on Hopper's tensor cores accept, and their costs.
 *
 * The clocks by which the kernels choose their tile (gpu/split/wgmma/tile_clocks.h) tell how a
 * product compares with the measured cubes nearest in work. So whole waves of tiles count, and
 * slices of k.
 */
#include "choice/sgemm_gpu_costs.h"
#include "gpu/split/wgmma/tile_clocks.h"

/* What the kernels of src/gpu/split have of it: schemes.h, scheme.cuh, tile_choice.cuh. */
typedef struct scheme {
    duo_algorithm_id id;
    double planes;
    int products, stage; /* of planes; k of a stage */
    double cluster;      /* large tiles side by side */
} scheme;
static const scheme kBf16x6 = {DUO_sgemm_gpu_bf16x6, 3.0, 6, 32, 2.0};
static const scheme kFp16x3 = {DUO_sgemm_gpu_fp16x3, 2.0, 3, 32, 1.0};
static const scheme kFp16x1 = {DUO_sgemm_gpu_fp16x1, 1.0, 1, 64, 1.0};

static bool has_wgmma(const duo_call *call, const duo_conditions *conditions)
{
    const bool hopper = conditions->capability == 0 || conditions->capability == 90;
    return hopper && call->k >= DUO_LEAST_TENSOR_K && call->alpha != 0.0f &&
           duo_sgemm_fits_device(call, conditions);
}

/* The cheapest tiles: their clocks, and how many rows of C a multiprocessor stores, one tile after
 * the other. */
typedef struct tiles {
    double clocks, stored_rows;
} tiles;

/* With k cut into so many slices that more would not pay; there may be work for fewer. */
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
    const double columns = duo_whole(n / (double)DUO_TILE_COLUMNS), steps = duo_whole(k / s->stage);
    const int products = s->products * s->stage / DUO_TILE_STEP;
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
                best = (tiles){clocks, duo_tile_waves(count, slices, multiprocessors) * tile->rows};
        }
    }
    return best;
}

/* Seconds of a clock, as the cube at a point of the curve has them. */
static double clock_at(const scheme *s, const duo_curve *curve, int point, double multiprocessors)
{
    const double edge = curve->size[point];
    return (curve->seconds[point] - duo_launch_seconds(curve)) /
           cheapest(s, edge, edge, edge, multiprocessors).clocks;
}

/* The same for a cube of any edge, from the points around it. Of smaller cubes than these it cannot
 * be told. */
static double clock_seconds(const scheme *s, const duo_curve *curve, double edge,
                            double multiprocessors)
{
    const double least = 256.0;
    const int last = curve->count - 1;
    int above = 0;
    while (above < last && (curve->size[above] < edge || curve->size[above] < least)) above++;
    const double high = clock_at(s, curve, above, multiprocessors);
    const int below = above - 1;
    if (below < 0 || curve->size[below] < least || curve->size[above] <= edge) return high;
    const double part = (edge - curve->size[below]) / (curve->size[above] - curve->size[below]);
    return clock_at(s, curve, below, multiprocessors) * (1.0 - part) + high * part;
}

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

/* From 173 products by fp16x3 and 75 by bf16x6 on H100s. Columns of C that do not begin on 16 bytes
 * are stored an element at a time. */
static const double kReadsC = 1.3e-6, kUnalignedRow = 3.2e-6 / 64.0;

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
    const bool unaligned = call->operand[DUO_C].ld % 4 != 0;
    const double seconds =
        duo_launch_seconds(curve) + t.clocks * clock_seconds(s, curve, edge, multiprocessors) +
        duo_extra_traffic(call, conditions, duo_split_bytes(s->planes), m, n, k, edge) +
        (unaligned ? t.stored_rows * kUnalignedRow : 0.0) + (call->beta != 0.0f ? kReadsC : 0.0);
    return without_splitting(call, conditions, s->planes, seconds);
}

double duo_sgemm_gpu_bf16x6_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    return wgmma_cost(call, conditions, &kBf16x6, threads);
}

double duo_sgemm_gpu_fp16x3_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    return wgmma_cost(call, conditions, &kFp16x3, threads);
}

/* Over the time of sgemm_gpu_fp16x3, where there is no curve: an estimate, for it does one product
 * instead of three, but splits its operands all the same. */
static const double kFp16x1Times = 0.5;

double duo_sgemm_gpu_fp16x1_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    if (conditions->profile->curve[kFp16x1.id].count > 0)
        return wgmma_cost(call, conditions, &kFp16x1, threads);
    return kFp16x1Times * wgmma_cost(call, conditions, &kFp16x3, threads);
}

DUO_ACCEPTS(sgemm_gpu_bf16x6, has_wgmma)
DUO_ACCEPTS(sgemm_gpu_fp16x3, has_wgmma)
DUO_ACCEPTS(sgemm_gpu_fp16x1, has_wgmma)

/*
 * ladder.h - `duoblas bench OPERATION`: every implementation at a problem, from the simplest to the
 * best, and what was measured of each.
 */
#ifndef DUO_LADDER_H
#define DUO_LADDER_H

#include "bench/experiments/setup.h"
#include "choice/algorithm.h"

/* A reduction: 2 algorithms of each side, the API, cuBLAS, CUB, 7 bare reads on the GPU; OpenBLAS,
 * 4 loops, 4 bare reads on the CPU. A product: its algorithms, the API, 4 layouts of cuBLAS,
 * OpenBLAS. One more is tried and found missing. */
enum { DUO_MEASUREMENTS = 32 };
_Static_assert(DUO_MEASUREMENTS >= DUO_SGEMM_ALGORITHMS + 7, "every algorithm of sgemm has room");

typedef struct duo_measurement {
    duo_implementation implementation;
    duo_problem problem; /* the ladder's; a peer may have other transposes */
    duo_benchmark benchmark;
    double error;      /* largest |error| / sum of |terms|, in 2^-24; negative: not known */
    double frobenius;  /* of a product, beside it */
    double times_peer; /* the time of its side's peer / its own; 0: there is no peer */
    double read_share; /* its rate / that of its side's fastest bare read; 0: there is none */
    double peak_share; /* of what the device's units can give; 0: not known */
    bool hidden;       /* a bare read, or a layout of cuBLAS, and not the fastest */
} duo_measurement;

typedef struct duo_ladder {
    duo_problem problem;
    int count;
    duo_measurement measurement[DUO_MEASUREMENTS];
} duo_ladder;

/* ---- ladder_list.c: the implementations ---- */

void duo_ladder_list(const duo_bench *bench, duo_ladder *ladder);

/* ---- ladder_print.c: as a table or as CSV ---- */

void duo_ladder_head(const duo_bench *bench);
void duo_ladder_print(const duo_bench *bench, const duo_ladder *ladder, bool first);
void duo_ladder_foot(const duo_bench *bench, bool matrix);

/* ---- ladder_plot.c: rates against sizes ---- */

bool duo_ladder_plot(const duo_bench *bench, const duo_ladder *ladder, int ladders);

/* ---- peak.c ---- */

/*
 * FLOP/s of a product by this algorithm of the GPU. On tensor cores: what the sheet says of their
 * type, over the products of that type that make one of float32's. On FP32 lanes, and where there
 * is no algorithm of ours (NULL): in each cycle of the device's highest clock a fused multiply-add
 * on every lane. 0: not known here.
 */
double duo_peak_flops(const duo_algorithm *algorithm, const duo_device_info *device);

#endif

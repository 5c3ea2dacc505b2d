/*
 * ladder.h - `duoblas bench OPERATION`: every implementation of a problem, from the simplest to the
 * best, with its figures.
 */
#ifndef DUO_LADDER_H
#define DUO_LADDER_H

#include "bench/experiments/setup.h"
#include "choice/algorithm.h"

/* A reduction: 2 algorithms of each side, the API, cuBLAS, 3 of CUB, 7 bare reads on the GPU;
 * OpenBLAS, 4 loops, 4 bare reads on the CPU. A product: its algorithms, the API, 4 layouts of
 * cuBLAS, OpenBLAS. The last place is for one that is tried and found missing. */
enum { DUO_MEASUREMENTS = 32 };
_Static_assert(DUO_MEASUREMENTS >= DUO_SGEMM_ALGORITHMS + 7, "every algorithm of sgemm has room");

typedef struct duo_measurement {
    duo_implementation implementation;
    duo_problem problem; /* the ladder's; a peer may have other transposes */
    duo_benchmark benchmark;
    double error;      /* largest |error| / sum of |terms|, in 2^-24; negative: not known */
    double frobenius;  /* products: the error as a norm */
    double times_peer; /* its side's peer's time / its own; 0: no peer */
    double read_share; /* its rate / its side's fastest bare read's rate; 0: none */
    double peak_share; /* share of duo_peak_flops; 0: not known */
    bool hidden;       /* a bare read or a layout of cuBLAS that is not the fastest */
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
 * The peak FLOP/s of a product by this GPU algorithm. On tensor cores: the data sheet's rate for
 * their type, divided by the products of that type that make one float32 product. On FP32 lanes,
 * and for no algorithm of ours (NULL): a fused multiply-add on every lane in each cycle of the
 * highest clock. 0: not known.
 */
double duo_peak_flops(const duo_algorithm *algorithm, const duo_device_info *device);

#endif

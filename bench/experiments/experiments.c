/* experiments.c - the experiments of `duoblas bench` for users, and their options. */
#include "bench/experiments/experiments.h"

/* ---- Experiments ---- */

enum {
    SGEMM = 1 << 0,
    REDUCTION = 1 << 1,
    SHAPES = 1 << 2,
    BATCHED = 1 << 3,
    HOST = 1 << 4,
    GRAPHS = 1 << 5,
    ACCURACY = 1 << 6,
    ACCURACY_SGEMM = 1 << 7,
    OVERHEAD = 1 << 8,
    BITS = 1 << 9,
    PEERS = 1 << 10,
    PEERS_SSUM = 1 << 11
};

static const char *refuse_shapes(const duo_bench *b)
{
    return b->random > 0 && b->sizes + b->shapes + (b->layout >= 0) > 0
               ? "--random draws its own shapes: without -n, -s and --transpose"
               : NULL;
}

#define REDUCTION_DOC                                                                              \
    "Times every algorithm of the reduction beside OpenBLAS, cuBLAS, CUB, OpenMP's simd loop and " \
    "a bare read of the operands, with their errors. GPU algorithms work on data on the GPU, "     \
    "in a busy queue.\v"                                                                           \
    "Examples:\n"

static const duo_experiment experiments[] = {
    {.name = "sgemm",
     .what = "every algorithm of sgemm, beside OpenBLAS and cuBLAS",
     .bit = SGEMM,
     .run = duo_bench_ladder,
     .doc = "Times every algorithm of sgemm beside OpenBLAS and cuBLAS, with their errors. GPU "
            "algorithms work on data on the GPU, in a busy queue.\v"
            "Examples:\n"
            "  $ duoblas bench sgemm -n 1000,4092\n"
            "  $ duoblas bench sgemm -s 4096x4096x64"},
    {.name = "sasum",
     .what = "every algorithm of sasum, beside OpenBLAS, cuBLAS and CUB",
     .bit = REDUCTION,
     .run = duo_bench_ladder,
     .doc = REDUCTION_DOC "  $ duoblas bench sasum -n 2^10..2^28"},
    {.name = "ssum",
     .what = "the same of ssum, beside OpenBLAS and CUB",
     .bit = REDUCTION,
     .run = duo_bench_ladder,
     .doc = REDUCTION_DOC "  $ duoblas bench ssum -n 2^10..2^28 --plot ssum.svg"},
    {.name = "sdot",
     .what = "the same of sdot, beside OpenBLAS, cuBLAS and CUB",
     .bit = REDUCTION,
     .run = duo_bench_ladder,
     .doc = REDUCTION_DOC "  $ duoblas bench sdot -n 2^20 --wait  # as the host sees it"},
    {.name = "shapes",
     .what = "what dispatch chooses for many shapes of sgemm",
     .bit = SHAPES,
     .run = duo_bench_shapes,
     .refuse = refuse_shapes,
     .doc = "Times the algorithm that dispatch chooses for 60 shapes in all layouts, beside "
            "cuBLAS; on the CPU beside OpenBLAS.\v"
            "Examples:\n"
            "  $ duoblas bench shapes --side cpu --transpose nn\n"
            "  $ duoblas bench shapes --random 400 --seed 7"},
    {.name = "batched",
     .what = "batches of small products, beside cuBLAS's and OpenBLAS's",
     .bit = BATCHED,
     .run = duo_bench_batched,
     .doc = "Times batches of fifteen squares in each of our ways, beside cuBLAS's batches; on the "
            "CPU beside OpenBLAS's, and its calls.\v"
            "Example:\n"
            "  $ duoblas bench batched --random 200 --seed 3\n"
            "  $ duoblas bench batched --memory pinned"},
    {.name = "host",
     .what = "products of host arrays, beside copies + cuBLAS and cuBLASXt",
     .bit = HOST,
     .run = duo_bench_host,
     .doc = "Times products of host arrays beside the bound that follows from the machine's "
            "rates, copies + cuBLAS, and cuBLASXt.\v"
            "Example:\n"
            "  $ duoblas bench host -n 2^9..2^15 --memory pinned --devices 2"},
    {.name = "graphs",
     .what = "graphs beside their calls; contexts side by side",
     .bit = GRAPHS,
     .run = duo_bench_graphs,
     .doc = "Times queues and graphs: overlap (products in eight contexts beside one), chain and "
            "fork-join (a graph beside its calls and its parts, and a CUDA graph), launch (what "
            "one costs the host).\v"
            "Example:\n"
            "  $ duoblas bench graphs --only chain,launch"},
    {.name = "accuracy",
     .what = "errors of the reductions on random vectors",
     .bit = ACCURACY,
     .run = duo_bench_accuracy,
     .doc = "Shows errors of the reductions on random vectors, beside OpenBLAS's and cuBLAS's on "
            "the same vectors."},
    {.name = "accuracy sgemm",
     .what = "errors of sgemm on matrices of all kinds",
     .bit = ACCURACY_SGEMM,
     .run = duo_bench_accuracy_sgemm,
     .doc = "Shows errors of every algorithm of sgemm on matrices of all kinds, beside OpenBLAS's "
            "and cuBLAS's."},
    {.name = "peers",
     .what = "products beside other libraries that this machine has",
     .bit = PEERS,
     .run = duo_bench_peers,
     .doc = "Times duo_sgemm in each math beside cuBLAS (also in TF32), and beside other "
            "libraries that the loader finds: GEMMul8 and cuMpSGEMM on the GPU, OpenBLAS, BLIS, "
            "MKL and libxsmm on the CPU. Shows the errors of all on three kinds of data.\v"
            "Examples:\n"
            "  $ duoblas bench peers -n 4096\n"
            "  $ duoblas bench peers --library ./libgemmul8.so,GEMMUL8_NUM_MOD_S=7"},
    {.name = "peers ssum",
     .what = "sums beside CUB in its three determinisms",
     .bit = PEERS_SSUM,
     .run = duo_bench_peers,
     .doc = "Times duo_ssum beside CUB's sum: with the same bits in every run, in none, and on "
            "every GPU (the last two if CUB is 3.2 or newer); on the CPU beside OpenBLAS. Shows "
            "the errors of all on three kinds of data."},
    {.name = "overhead",
     .what = "what dispatch adds to a tiny call",
     .bit = OVERHEAD,
     .run = duo_bench_overhead,
     .doc = "Times tiny calls of this library beside the CBLAS of the CPU's own library, in "
            "nanoseconds."},
    {.name = "bits",
     .what = "a hash of 1000 results, to compare with another machine's",
     .bit = BITS,
     .run = duo_bench_bits,
     .doc = "Shows a hash of the bits of 1000 products and sums in DUO_MATH_IEEE, of every side "
            "that this machine has, and whether it is the one that all of DuoBLAS 1.x gives. The "
            "exit status is 1 if it is not.\v"
            "Examples:\n"
            "  $ duoblas bench bits\n"
            "  $ duoblas bench bits --seed 7  # other products, to compare machines"},
    {.name = NULL},
};

/* ---- Options ---- */

enum {
    LADDER = SGEMM | REDUCTION,
    PRODUCTS = SGEMM | SHAPES | ACCURACY_SGEMM,
    TIMED = LADDER | SHAPES,
    BOTH_PEERS = PEERS | PEERS_SSUM,
    ALL = TIMED | BATCHED | HOST | GRAPHS | ACCURACY | ACCURACY_SGEMM | BOTH_PEERS
};

static const duo_option options[] = {
    {"size", 'n', DUO_SIZES_VALUE, PRODUCTS | HOST | PEERS, DUO_SIZES,
     "Edges of cubes: whole numbers (1000, 2^10, 1e3) and ranges of powers of two"},
    {"size", 'n', DUO_SIZES_VALUE, REDUCTION | ACCURACY | PEERS_SSUM, DUO_SIZES,
     "Lengths: whole numbers (1000, 2^20, 1e6) and ranges of powers of two"},
    {"shape", 's', "MxNxK", PRODUCTS | PEERS, DUO_SHAPE, "One shape; may be given again"},
    {"transpose", 0, "nn|nt|tn|tt", SGEMM | ACCURACY_SGEMM, DUO_CHOICE(layout),
     "A and B, t for transposed"},
    {"transpose", 0, "nn|nt|tn|tt", SHAPES, DUO_CHOICE(layout),
     "Only this layout of A and B, t for transposed"},
    {"random", 0, "N", SHAPES, DUO_NUMBER(random, 1, 100000),
     "N products, drawn by --seed, with gaps between columns and a beta; names the worst ten"},
    {"random", 0, "N", BATCHED, DUO_NUMBER(random, 1, 100000),
     "N batches, drawn by --seed, with gaps between columns and a beta"},
    {"side", 0, "cpu|gpu", TIMED | ACCURACY_SGEMM | GRAPHS | BATCHED | BITS | BOTH_PEERS,
     DUO_CHOICE(side), "Only this side"},
    {"math", 0, "accurate|ieee|tf32|float64", TIMED | ACCURACY_SGEMM, DUO_CHOICE(math),
     "Only algorithms that serve this math"},
    {"prepared", 0, "a|b[,...]", SGEMM, DUO_CHOICES(prepared),
     "GPU algorithms find these split already, as after duo_prepare"},
    {"algorithms", 0, NULL, SHAPES, DUO_FLAG(algorithms),
     "Every algorithm, to see what the choice loses"},
    {"reads", 0, NULL, SGEMM, DUO_FLAG(reads), "Every layout of cuBLAS, not only the fastest"},
    {"reads", 0, NULL, REDUCTION, DUO_FLAG(reads), "Every way of reading, not only the fastest"},
    {"wait", 0, NULL, TIMED, DUO_FLAG(wait),
     "The host waits for each call on the GPU, and for its result"},
    {"cold", 0, NULL, TIMED, DUO_FLAG(cold),
     "Every call on other data, so that none comes from a cache"},
    {"offset", 0, "FLOATS", TIMED, DUO_NUMBER(offset_floats, 0, DUO_OFFSETS - 1),
     "From a boundary of 256 bytes to every operand (0 to 63)"},
    {"memory", 0, "pageable|pinned", HOST, DUO_CHOICE(memory),
     "Only operands in this kind of host memory; pageable: plain"},
    {"memory", 0, "pageable|pinned", BATCHED, DUO_CHOICE(memory),
     "Operands in this kind of host memory (pageable: plain), on the GPU, beside the link's time"},
    {"devices", 0, "N", HOST, DUO_NUMBER(devices, 1, DUO_MOST_DEVICES),
     "Rates, cuBLASXt, the bound and duo_sgemm on the first N devices (default 1)"},
    {"library", 0, "FILE[,NAME=VALUE...]", PEERS, DUO_NAMED,
     "This library, too, with these variables in its environment. It has a function "
     "cublasSgemm_v2 that stands in for cuBLAS's, or a sgemm_ for the CPU. May be given again"},
    {"only", 0, "overlap|chain|fork-join|launch[,...]", GRAPHS, DUO_CHOICES(parts),
     "Only these parts"},
    {"rounds", 0, "N", HOST, DUO_NUMBER(rounds, 1, 64),
     "Samples of each (default 9; quick: 5, or 3 from 16384 on), fewer of what is slow"},
    {"rounds", 0, "N", GRAPHS, DUO_NUMBER(rounds, 1, 64), "Samples of each (default 15)"},
    {"max-seconds", 0, "SECONDS", HOST, DUO_NUMBER(max_seconds, 1, 86400),
     "About how long it may take (default 120); slow peers get fewer rounds, or none"},
    {"max-seconds", 0, "SECONDS", GRAPHS, DUO_NUMBER(max_seconds, 1, 86400),
     "About how long it may take (default 60)"},
    {"plot", 0, DUO_PICTURE_VALUE, SGEMM, DUO_PICTURE,
     "Draw GFLOP/s against size, by gnuplot; .gp: its commands"},
    {"plot", 0, DUO_PICTURE_VALUE, REDUCTION, DUO_PICTURE,
     "Draw GB/s against size, by gnuplot; .gp: its commands"},
    {"threads", 0, "N", ALL | BITS, DUO_NUMBER(threads, 1, 1 << 16), "CPU threads"},
    {"seed", 0, "N", ALL | BITS, DUO_SEED, "Seed of the random data (default 1)"},
    {"quick", 'q', NULL, ALL, DUO_FLAG(quick), "Fewer and shorter rounds"},
    {"csv", 0, NULL, ALL, DUO_FLAG(csv), "Comma-separated values instead of a table"},
    {.name = NULL},
};

const duo_experiments duo_user_experiments = {experiments, options};

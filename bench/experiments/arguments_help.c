/* arguments_help.c - see arguments_help.h */
#include "bench/experiments/arguments_help.h"

const char duo_bench_words[] =
    "OPERATION\nintroduction\naccuracy [sgemm]\nshapes\nmixed\nadapt\nhost\nlarge\n"
    "timeline STEPS.csv\ngraphs\nbatched\n--overhead";

const char duo_bench_doc[] =
    "Times every algorithm of an operation beside the peers that this machine has (OpenBLAS, "
    "cuBLAS), "
    "with their errors; reductions also beside OpenMP's simd loop, CUB and a bare read of the "
    "operands. GPU algorithms work on resident data, in a busy queue."
    "\vSizes are whole numbers, as in 1000, 2^20 or 1e6, and ranges of powers of two. Of a "
    "reduction, lengths; of sgemm, edges of cubes.\n\n"
    "Experiments:\n"
    "  introduction     the introductory experiment\n"
    "  accuracy         errors of the reductions on random vectors\n"
    "  accuracy sgemm   errors of the products on matrices of all kinds\n"
    "  shapes           60 shapes in all layouts: what dispatch chooses, and\n"
    "                   cuBLAS; on the CPU OpenBLAS\n"
    "  mixed            sgemm, sasum and sdot by turns on the CPU, call by call\n"
    "  adapt            random calls with and without learning\n"
    "  host             products of host arrays: rates of the machine, the bound\n"
    "                   that follows from them, copies + cuBLAS, cuBLASXt\n"
    "  large            one product, checked: for DUOBLAS_DEVICE_MEMORY, and arrays\n"
    "                   beyond the device's memory\n"
    "  timeline         draws lines of device,lane,step,begin_ms,end_ms; lanes are\n"
    "                   up, multiply, down, peer and host\n"
    "  graphs           queues and graphs: overlap (products in eight contexts\n"
    "                   beside one), chain and fork-join (a graph beside its calls\n"
    "                   and its parts, and a CUDA graph), stall (first calls beside\n"
    "                   a long queue), launch (what one costs the host)\n"
    "  batched          batches of small products, in each of our ways, and\n"
    "                   cuBLAS's; on the CPU OpenBLAS's, and its calls\n\n"
    "Examples:\n"
    "  $ duoblas bench sgemm -n 1000,4092\n"
    "  $ duoblas bench sgemm -s 4096x4096x64\n"
    "  $ duoblas bench ssum -n 2^10..2^28\n"
    "  $ duoblas bench sdot -n 2^20 --wait  # as the host sees it\n"
    "  $ duoblas bench shapes --side cpu --transpose nn\n"
    "  $ duoblas bench shapes --random 400 --seed 7\n"
    "  $ duoblas bench mixed --busy 8  # beside 8 busy processes\n"
    "  $ duoblas bench adapt --profile h100\n"
    "  $ duoblas bench host -n 2^9..2^15 --memory pinned --devices 2\n"
    "  $ duoblas bench host -n 16384 --timeline STEPS.csv --plot STEPS.svg\n"
    "  $ duoblas bench large -s 60000x60000x2000\n"
    "  $ duoblas bench timeline STEPS.csv --plot FILE.svg\n"
    "  $ duoblas bench graphs --only overlap --plot LANES.svg\n"
    "  $ duoblas bench batched  # many small products: one launch, or the team\n"
    "  $ duoblas bench batched --random 200 --seed 3\n"
    "  $ duoblas bench --overhead  # what dispatch adds to a tiny call";

const struct argp_option duo_bench_options[] = {
    {"size", 'n', "N|2^E|2^E..2^F[,...]", 0, "Lengths, or edges of cubes", 0},
    {"shape", 's', "MxNxK", 0, "One shape of sgemm; may be given again", 0},
    {"csv", DUO_OPTION_CSV, NULL, 0, "Comma-separated values instead of a table", 0},
    {"quick", 'q', NULL, 0, "Fewer and shorter rounds", 0},
    {"cold", DUO_OPTION_COLD, NULL, 0, "Every call on other data, so that none comes from a cache",
     0},
    {"wait", DUO_OPTION_WAIT, NULL, 0,
     "The host waits for each call on the GPU, and for its result", 0},
    {"side", DUO_OPTION_SIDE, "cpu|gpu", 0, "This side alone", 0},
    {"reads", DUO_OPTION_READS, NULL, 0,
     "Every way of reading, every layout of cuBLAS, not the fastest alone", 0},
    {"algorithms", DUO_OPTION_ALGORITHMS, NULL, 0,
     "shapes: every algorithm, to see what the choice loses", 0},
    {"prepared", DUO_OPTION_PREPARED, "a|b|a,b", 0,
     "sgemm: on the GPU algorithms that split these have done it before, as after duo_prepare", 0},
    {"math", DUO_OPTION_MATH, "accurate|ieee|tf32|float64", 0,
     "Algorithms that serve this math alone", 0},
    {"transpose", DUO_OPTION_TRANSPOSE, "nn|nt|tn|tt", 0,
     "A and B of sgemm, t for transposed; shapes: this layout alone", 0},
    {"offset", DUO_OPTION_OFFSET, "FLOATS", 0,
     "Every operand begins so far behind a boundary of 256 bytes (0 to 63)", 0},
    {"busy", DUO_OPTION_BUSY, "N", 0,
     "mixed: then again beside so many busy processes; as many as processors: one for each; adapt: "
     "beside so many",
     0},
    {"profile", DUO_OPTION_PROFILE, "h100|h200|generic", 0,
     "adapt: this built-in profile (default: the one in use)", 0},
    {"beside", DUO_OPTION_BESIDE, "LIBRARY", 0,
     "mixed: this BLAS does a product before each call, as a program does that has its own", 0},
    {"memory", DUO_OPTION_MEMORY, "pinned|pageable", 0,
     "host: operands in this kind of memory alone; large: in this one (default pageable)", 0},
    {"devices", DUO_OPTION_DEVICES, "N", 0,
     "host: rates, cuBLASXt, the bound and duo_sgemm on the first N devices (default 1)", 0},
    {"rounds", DUO_OPTION_ROUNDS, "N", 0,
     "host: samples of each (default 9; quick: 5, or 3 from 16384 on), fewer of what is slow; "
     "large: calls (default 2); graphs: samples (default 15), and up to 3 processes of stall",
     0},
    {"max-seconds", DUO_OPTION_MAX_SECONDS, "SECONDS", 0,
     "host: about how long it may take (default 120); slow peers get fewer rounds, or none; "
     "graphs: the same (default 60)",
     0},
    {"only", DUO_OPTION_ONLY, "overlap|chain|fork-join|stall|launch[,...]", 0,
     "graphs: these parts alone", 0},
    {"stall-child", DUO_OPTION_STALL_CHILD, "warm|cold", OPTION_HIDDEN, NULL, 0},
    {"timeline", DUO_OPTION_TIMELINE, "FILE", 0,
     "host: write when the steps of duo_sgemm's last product ran, as CSV; --plot draws them", 0},
    {"plot", DUO_OPTION_PLOT, "FILE.svg|FILE.png|FILE.gp", 0,
     "Draw GB/s (sgemm: GFLOP/s) against size, a timeline, or overlap of graphs, by gnuplot; .gp: "
     "its commands",
     0},
    {"threads", DUO_OPTION_THREADS, "N", 0, "CPU threads", 0},
    {"seed", DUO_OPTION_SEED, "N", 0, "Seed of the random data (default 1)", 0},
    {"random", DUO_OPTION_RANDOM, "N", 0,
     "shapes, batched: N products, or batches of them, drawn by --seed, with gaps between columns "
     "and a beta; shapes names the worst ten",
     0},
    {"overhead", DUO_OPTION_OVERHEAD, NULL, 0, "Nanoseconds of tiny reductions, beside OpenBLAS",
     0},
    {0},
};

/* studies.c - experiments of `duoblas bench` that answered one question, and their options. */
#include "bench/studies/studies.h"

enum {
    INTRODUCTION = 1 << 0,
    MIXED = 1 << 1,
    ADAPT = 1 << 2,
    LARGE = 1 << 3,
    TIMELINE = 1 << 4,
    STALL = 1 << 5,
    LANES = 1 << 6,
    NEW_MEMORY = 1 << 7,
    REMEMBERED = 1 << 8,
    CHECKS = 1 << 9
};

static const char *refuse_mixed(const duo_bench *b)
{
    return b->sizes > 1 || b->shapes > 1
               ? "one length of the reductions and one shape of sgemm are for mixed"
               : NULL;
}

static const char *refuse_large(const duo_bench *b)
{
    return b->sizes + b->shapes != 1 ? "one shape is for large" : NULL;
}

static const char *refuse_timeline(const duo_bench *b)
{
    if (b->sizes > 1) return "one size is for timeline";
    return b->plot == NULL && b->sizes == 0 ? "-n or --plot is missing" : NULL;
}

static const char *refuse_lanes(const duo_bench *b)
{
    return b->plot == NULL ? "--plot is missing" : NULL;
}

static const duo_experiment experiments[] = {
    {.name = "introduction",
     .bit = INTRODUCTION,
     .run = duo_bench_introduction,
     .doc = "Times sums of 2^12 to 2^27 elements and two products, as an introduction to GPUs has "
            "them."},
    {.name = "mixed",
     .bit = MIXED,
     .run = duo_bench_mixed,
     .refuse = refuse_mixed,
     .doc = "Times sgemm, sasum and sdot by turns on the CPU, call by call.\v"
            "Example:\n"
            "  $ duoblas bench mixed --busy 8  # beside 8 busy processes"},
    {.name = "adapt",
     .bit = ADAPT,
     .run = duo_bench_adapt,
     .doc = "Times random calls with and without learning.\v"
            "Example:\n"
            "  $ duoblas bench adapt --profile h100"},
    {.name = "large",
     .bit = LARGE,
     .run = duo_bench_large,
     .refuse = refuse_large,
     .doc = "Times and checks one product: for DUOBLAS_DEVICE_MEMORY, and arrays beyond the "
            "device's memory.\v"
            "Example:\n"
            "  $ DUOBLAS_DEVICE_MEMORY=2G duoblas bench large -s 60000x60000x2000"},
    {.name = "timeline",
     .bit = TIMELINE,
     .run = duo_bench_timeline,
     .refuse = refuse_timeline,
     .words = "STEPS.csv",
     .doc = "Draws lines of device,lane,step,begin_ms,end_ms; lanes are up, multiply, down, peer "
            "and host. With -n it writes them first, from a product of host arrays.\v"
            "Example:\n"
            "  $ duoblas bench timeline STEPS.csv -n 16384 --memory pinned --plot STEPS.svg"},
    {.name = "stall",
     .bit = STALL,
     .run = duo_bench_stall,
     .doc = "Times the first calls of their kind in a process beside a long queue of another "
            "context, with and without a warm-up."},
    {.name = "lanes",
     .bit = LANES,
     .run = duo_bench_lanes,
     .refuse = refuse_lanes,
     .doc = "Draws when products of eight contexts ran, and below them those of one."},
    {.name = "new-memory",
     .bit = NEW_MEMORY,
     .run = duo_bench_new_memory,
     .doc = "Times products of host arrays by turns: C in memory that was used before, C in new "
            "memory, and making the pages of new memory without a product."},
    {.name = "remembered",
     .bit = REMEMBERED,
     .run = duo_bench_remembered,
     .doc = "Times products that bring the same A again, sent each time, kept and remembered; with "
            "--random those of random shapes with A and B written anew each time."},
    {.name = "checks",
     .bit = CHECKS,
     .run = duo_bench_checks,
     .doc = "Times products by turns: without checks of their results, with a check of each, and "
            "of one in ten (DUOBLAS_VERIFY)."},
    {.name = NULL},
};

enum {
    COMPUTED =
        INTRODUCTION | MIXED | ADAPT | LARGE | STALL | LANES | NEW_MEMORY | REMEMBERED | CHECKS
};

static const duo_option options[] = {
    {"size", 'n', "N|2^E", MIXED, DUO_SIZES, "Length of the reductions (default 2^20)"},
    {"size", 'n', "N|2^E", LARGE | TIMELINE | NEW_MEMORY | REMEMBERED | CHECKS, DUO_SIZES,
     "Edge of a cube"},
    {"shape", 's', "MxNxK", MIXED, DUO_SHAPE, "Shape of sgemm (default 384x384x384)"},
    {"shape", 's', "MxNxK", LARGE | REMEMBERED, DUO_SHAPE, "Shape of the product"},
    {"random", 0, "N", REMEMBERED, DUO_NUMBER(random, 1, 1 << 16), "N random shapes"},
    {"transpose", 0, "nn|nt|tn|tt", LARGE, DUO_CHOICE(layout), "A and B, t for transposed"},
    {"busy", 0, "N", MIXED, DUO_NUMBER(neighbours, 0, 4096),
     "Then again beside N busy processes; as many as processors: one for each"},
    {"busy", 0, "N", ADAPT, DUO_NUMBER(neighbours, 0, 4096), "Beside N busy processes"},
    {"beside", 0, "LIBRARY", MIXED, DUO_TEXT_OPTION(beside),
     "This BLAS does a product before each call, as a program does that has its own"},
    {"profile", 0, "h100|h200|generic", ADAPT, DUO_CHOICE(profile),
     "This built-in profile (default: the one in use)"},
    {"memory", 0, "pageable|pinned", LARGE | TIMELINE | NEW_MEMORY, DUO_CHOICE(memory),
     "Operands in this kind of memory (default pageable); new-memory: A and B"},
    {"memory", 0, "pageable|pinned|device", CHECKS, DUO_CHOICE(memory),
     "Operands in this kind of memory (default device, where there is a GPU, else pageable)"},
    {"devices", 0, "N", TIMELINE, DUO_NUMBER(devices, 1, DUO_MOST_DEVICES),
     "On the first N devices (default 1)"},
    {"rounds", 0, "N", NEW_MEMORY | REMEMBERED | CHECKS, DUO_NUMBER(rounds, 1, 64),
     "Calls of each (default 15; with --random 24)"},
    {"rounds", 0, "N", LARGE, DUO_NUMBER(rounds, 1, 64), "Calls (default 2)"},
    {"rounds", 0, "N", STALL, DUO_NUMBER(rounds, 1, 3), "Processes of each kind (default 3)"},
    {"child", 0, "warm|cold", STALL, DUO_TEXT_OPTION(child), NULL},
    {"plot", 0, DUO_PICTURE_VALUE, TIMELINE | LANES, DUO_PICTURE,
     "The picture, drawn by gnuplot; .gp: its commands"},
    {"threads", 0, "N", COMPUTED, DUO_NUMBER(threads, 1, 1 << 16), "CPU threads"},
    {"seed", 0, "N", COMPUTED | TIMELINE, DUO_SEED, "Seed of the random data (default 1)"},
    {"quick", 'q', NULL, INTRODUCTION | MIXED | ADAPT | STALL | LANES, DUO_FLAG(quick),
     "Fewer and shorter rounds, smaller products"},
    {"csv", 0, NULL, MIXED | ADAPT | LARGE | STALL | NEW_MEMORY | REMEMBERED | CHECKS,
     DUO_FLAG(csv), "Comma-separated values instead of a table"},
    {.name = NULL},
};

const duo_experiments duo_studies = {experiments, options};

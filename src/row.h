/*
 * row.h - the tables of algorithms.
 *
 * One table per operation; a row is one algorithm. The cheapest row that serves the context's math
 * and accepts runs; a row that cannot go on before it wrote anything answers DUO_DECLINED, and the
 * next cheapest runs. For every math one CPU row accepts every call and never declines. Cost and
 * accepts live in C files that are always built (sgemm_rows.c, reduce_rows.c), so that predictions
 * work without CUDA.
 */
#ifndef DUO_ROW_H
#define DUO_ROW_H

#include "call.h"
#include "profile.h"

/* Every row, once: operation, side, name. The name is that of the file and the function too. */
#define DUO_ROW_LIST(X)                                                                            \
    X(DUO_SGEMM, CPU, sgemm_cpu_openblas)                                                          \
    X(DUO_SGEMM, CPU, sgemm_cpu_plain)                                                             \
    X(DUO_SGEMM, CPU, sgemm_cpu_float64)                                                           \
    X(DUO_SGEMM, GPU, sgemm_gpu_naive)                                                             \
    X(DUO_SGEMM, GPU, sgemm_gpu_tiled)                                                             \
    X(DUO_SGEMM, GPU, sgemm_gpu_ffma)                                                              \
    X(DUO_SGEMM, GPU, sgemm_gpu_bf16x6)                                                            \
    X(DUO_SGEMM, GPU, sgemm_gpu_fp16x3)                                                            \
    X(DUO_SGEMM, GPU, sgemm_gpu_fp16x1)                                                            \
    X(DUO_SGEMM, GPU, sgemm_gpu_mma)                                                               \
    X(DUO_SGEMM, GPU, sgemm_gpu_f64)                                                               \
    X(DUO_SGEMM, GPU, sgemm_gpu_skinny)                                                            \
    X(DUO_SASUM, CPU, sasum_cpu_lanes)                                                             \
    X(DUO_SASUM, CPU, sasum_cpu_float64)                                                           \
    X(DUO_SASUM, GPU, sasum_gpu_shuffle)                                                           \
    X(DUO_SASUM, GPU, sasum_gpu_float64)                                                           \
    X(DUO_SSUM, CPU, ssum_cpu_lanes)                                                               \
    X(DUO_SSUM, CPU, ssum_cpu_float64)                                                             \
    X(DUO_SSUM, GPU, ssum_gpu_shuffle)                                                             \
    X(DUO_SSUM, GPU, ssum_gpu_float64)                                                             \
    X(DUO_SDOT, CPU, sdot_cpu_lanes)                                                               \
    X(DUO_SDOT, CPU, sdot_cpu_float64)                                                             \
    X(DUO_SDOT, GPU, sdot_gpu_shuffle)                                                             \
    X(DUO_SDOT, GPU, sdot_gpu_float64)

typedef enum duo_row_id {
#define DUO_ROW_ENUM(operation, side, name) DUO_ROW_##name,
    DUO_ROW_LIST(DUO_ROW_ENUM)
#undef DUO_ROW_ENUM
        DUO_ROWS
} duo_row_id;

/* Internal, positive: not mine, nothing written, try the next row. */
enum { DUO_DECLINED = 1 };

/* What a context may use for a call: the policy and the machine. */
typedef struct duo_site {
    const duo_profile *profile;
    duo_path path;
    duo_math math;
    int threads;                /* most CPU threads for this call, >= 1 */
    bool gpu;                   /* usable, or not looked at yet */
    double device_memory_bytes; /* most that workspace on the device may take */
    int capability;             /* of the device, 10 * major + minor; 0: not looked at yet */
} duo_site;

/* The maths that a row serves, a bit for each. */
enum {
    DUO_SERVES_FLOAT32 = 1 << DUO_MATH_ACCURATE | 1 << DUO_MATH_IEEE | 1 << DUO_MATH_TF32,
    DUO_SERVES_TENSOR = 1 << DUO_MATH_ACCURATE | 1 << DUO_MATH_TF32, /* not by fp32 FMA alone */
    DUO_SERVES_TF32 = 1 << DUO_MATH_TF32, /* operands rounded: on request alone */
    DUO_SERVES_FLOAT64 = 1 << DUO_MATH_FLOAT64
};

typedef struct duo_row {
    duo_row_id id;
    const char *name;
    duo_side side;
    unsigned maths;
    bool (*accepts)(const duo_call *call, const duo_site *site);
    /* Seconds expected for the work itself, transfers left out (select adds them); *threads: what
     * it would use. */
    double (*cost)(const duo_call *call, const duo_site *site, int *threads);
    /* CPU rows: do it, all operands in host memory. DUO_OK or DUO_DECLINED. GPU rows: NULL, the
     * door launches id. */
    int (*run)(const duo_call *call);
} duo_row;

typedef struct duo_row_table {
    const duo_row *row;
    int count;
} duo_row_table;

/* How many rows of DUO_ROW_LIST are sgemm's. */
#define DUO_ROW_IS_SGEMM(operation, side, name) +((operation) == DUO_SGEMM)
enum { DUO_SGEMM_ROWS = 0 DUO_ROW_LIST(DUO_ROW_IS_SGEMM) };
#undef DUO_ROW_IS_SGEMM
extern const duo_row duo_sgemm_rows[DUO_SGEMM_ROWS];
extern const duo_row_table duo_row_tables[DUO_OPERATIONS];

static inline bool duo_row_serves(const duo_row *row, duo_math math)
{
    return (row->maths >> math & 1u) != 0;
}

const char *duo_row_name(duo_row_id id);
/* May its thread be inside the inner BLAS while it runs? */
bool duo_row_calls_blas(duo_row_id id);
const char *duo_operation_name(duo_operation operation);

/* ---- select.c: the cheapest row that accepts ---- */

typedef struct duo_choice {
    const duo_row *row;
    bool accepts;
    bool declined; /* set by the caller to strike a row out */
    int threads;
    double seconds; /* work, transfers and the result's way back */
} duo_choice;

/* Fills choice[] in table order with the prediction of every row that serves the site's math;
 * returns how many (<= DUO_CANDIDATES). */
int duo_predict(const duo_call *call, const duo_site *site, duo_choice choice[DUO_CANDIDATES]);

/*
 * The same of the CPU's rows alone, where duo_select would choose one of them from all: on the path auto,
 * when the way of operands and result takes longer than the whole call on the CPU. Else 0; so too with
 * stale operands, which earn what the GPU would have saved. Small calls are mostly such, and to predict
 * the GPU's rows would take longer than they do.
 */
int duo_predict_cpu(const duo_call *call, const duo_site *site, duo_choice choice[DUO_CANDIDATES]);

/* The index of the one to run: cheapest that accepts and is not declined. -1: none left. */
int duo_select(const duo_choice *choice, int count, const duo_site *site);

/* Seconds to bring what the call reads to this side and what it writes back to where it belongs. */
double duo_transfer_seconds(const duo_call *call, duo_side side, const duo_profile *profile);

/* ---- CPU rows ---- */

int duo_sgemm_cpu_openblas(const duo_call *call);
/* The same for a tiny call with operands that are read, without a duo_call; false: not that, nothing
 * was done. Sizes are at most 512. */
bool duo_sgemm_cpu_openblas_tiny(bool transa, bool transb, int64_t m, int64_t n, int64_t k,
                                 float alpha, const float *a, int64_t lda, const float *b,
                                 int64_t ldb, float beta, float *c, int64_t ldc);
int duo_sgemm_cpu_plain(const duo_call *call);
int duo_sgemm_cpu_float64(const duo_call *call);
int duo_sasum_cpu_lanes(const duo_call *call);
int duo_sasum_cpu_float64(const duo_call *call);
int duo_ssum_cpu_lanes(const duo_call *call);
int duo_ssum_cpu_float64(const duo_call *call);
int duo_sdot_cpu_lanes(const duo_call *call);
int duo_sdot_cpu_float64(const duo_call *call);

#endif

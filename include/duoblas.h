/*
 * duoblas.h - sgemm, sasum, ssum and sdot that run where they finish first.
 *
 * DuoBLAS runs each call on the CPU or on an NVIDIA GPU, with kernels of its own on both, whichever
 * is predicted to finish first. The prediction comes from curves measured on this machine (`duoblas
 * crossover` writes them) and from where the operands are: an array that is already on the device
 * is not sent again. This header is the manual; examples/ has whole programs.
 *
 *     float a[m * k], b[k * n], c[m * n];                 // column-major, plain host memory
 *     duo_sgemm(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, m, n, k,
 *               1.0f, a, m, b, k, 0.0f, c, m);
 *
 * Conventions
 *   Context    The first argument of most functions is a context: an in-order queue on one device
 *              with its policy and its workspace. NULL means the calling thread's own default
 *              context, made at first use. If there is no memory for it, operations return
 *              DUO_ERR_MEMORY and other functions DUO_ERR_CONTEXT. One thread at a time may use a
 *              context; different contexts may be used at once.
 *   Handles    A pointer to a context, an event or a graph is a handle, not an address. After its
 *              end every function refuses the handle, also in a child process. The same value may
 *              come again when a thousand others of its kind have been made, by the program or for
 *              its graphs.
 *   Counts     Sizes, leading dimensions and increments are int64_t and count elements, not bytes.
 *   Memory     An operand may be in plain host memory (pageable), in pinned host memory
 *              (duo_malloc_host), on the device (duo_malloc, duo_adopt), or a host array with a
 *              device copy (duo_keep), in any mix. Any other device pointer is refused with
 *              DUO_ERR_FOREIGN if the call is large enough to ask the driver. A smaller call does
 *              not notice it: the CPU then reads or writes there, and the program ends by a signal.
 *   Return     A call with outputs in host memory returns when they are there. A call with outputs
 *              on the device, or kept, returns when it is queued, and its host inputs are consumed
 *              by then; duo_synchronize() or duo_fetch() waits. In a context of duo_set_async()
 *              some results in host memory come later, too.
 *   Status     Functions return DUO_OK (0) or a negative duo_status, except four that return a text
 *              or a number. On a bad argument nothing is touched. A GPU that is missing, full,
 *              broken or lost costs time, not the answer: other devices of the context or the CPU
 *              finish the job and the status is DUO_OK; duo_explain_last() tells. The status is
 *              DUO_ERR_LOST only if the only current copy of some data was on a lost device. If the
 *              device works but a transfer fails twice, the status is DUO_ERR_DEVICE or
 *              DUO_ERR_MEMORY, and a later call may succeed.
 *   Silence    Nothing is printed unless a variable of the environment asks for it:
 *              DUOBLAS_VERBOSE, DUOBLAS_CHECK or DUOBLAS_SUMMARY. The library never exits.
 *   Fork       A child process computes on the CPU with one thread, even if other threads of the
 *              parent were inside calls at the fork. Data that are current only on a device are
 *              lost to the child (DUO_ERR_LOST), not to the parent. In the child a context counts
 *              as one that has made no call yet (duo_explain_last).
 *
 * Algorithms
 *   Each operation has a list of algorithms, some for the CPU, some for the GPU; the one with the
 *   least predicted time runs (duo_explain_last). On the CPU sgemm has kernels of the library's
 *   own. Except under DUO_MATH_IEEE and DUO_MATH_FLOAT64 it may also call another library, once for
 *   a product: the program's (duo_set_cpu_sgemm), or the CPU's BLAS, which is OpenBLAS if there is
 *   one. The CPU's BLAS is opened only if the profile was measured with it and predicts that it is
 *   faster by a tenth, if DUOBLAS_CPU_BLAS names it, or if this CPU has no fused multiply-add: then
 *   the library's own kernels are slow. It computes with the threads that it has, and is not called
 *   if a call may use fewer. None of its settings is changed. It is not opened in a process that
 *   may have little address space (ulimit -v, -d) or few threads (ulimit -u), and not called in a
 *   child process. A limit that is set later is not seen.
 *   A thread's stack may be as small as 16 KiB: work that needs more runs on another stack. If the
 *   library has its GPU side, a thread needs 28 KiB, as thread-local data of the CUDA runtime lie
 *   on its stack.
 *
 * Environment (read once, at the first use; ignored in set-user-ID programs; setters override it)
 *   DUOBLAS_PATH           auto | cpu | gpu   which side may serve (default auto)
 *   DUOBLAS_MATH           accurate | ieee | tf32 | float64   the arithmetic: see duo_math
 *   DUOBLAS_VERBOSE        0 | 1 | 2          1: a line for each call on stderr, with the
 *                                             candidates that can do it and the reason for the
 *                                             choice, and once any fault of the CPU's BLAS; 2: also
 *                                             events, and once a second how far a long product with
 *                                             operands in host memory has come
 *   DUOBLAS_PROFILE        FILE               profile to use instead of the user's own
 *   DUOBLAS_DEVICE         N                  device of new contexts. Default 0; in a process that
 *                                             an MPI launcher started, its number among those on
 *                                             this machine, modulo the number of devices
 *   DUOBLAS_DEVICES        all | N,N,...      devices of new contexts, as by duo_set_devices: at
 *                                             most eight numbers, the first instead of
 *                                             DUOBLAS_DEVICE. all: that one, and all others.
 *                                             Numbers without a device are ignored
 *   DUOBLAS_DEVICE_MEMORY  BYTES              most memory to hold on each device, all contexts
 *                                             together. Operands in host memory may be larger
 *                                             (duo_sgemm, duo_sasum); for kept arrays see Residency
 *   DUOBLAS_WORKSPACE      BYTES              most device memory that one context's kernels take
 *                                             for temporary operands (default 4G); operands that
 *                                             duo_sgemm sends from host memory do not count
 *   DUOBLAS_CPU_BLAS       FILE               the CPU's BLAS; `duoblas info` says if it cannot be
 *                                             opened
 *   DUOBLAS_CHECK          0 | 1              1: look for a forgotten duo_changed, and name the
 *                                             array: see Residency
 *   DUOBLAS_ADAPT          0 | 1              1: new contexts learn from their calls: see
 *                                             duo_set_adapt
 *   DUOBLAS_VERIFY         RATE               new contexts check this part of their results, from 0
 *                                             to 1: see duo_set_verify
 *   DUOBLAS_OPEN           first | background
 *                                             whether the first calls wait until the GPU is open:
 *                                             see duo_set_open
 *   DUOBLAS_REMEMBER       0 | bytes | pages  new contexts do not send a factor again while it
 *                                             stays the same: see duo_set_remember
 *   DUOBLAS_WIPE           0 | 1              1: memory of a device, and pinned memory, is zeroed
 *                                             before it goes back to the driver or to another
 *                                             thread. Giving memory back then waits for the
 *                                             device, and no thread may capture a stream of it
 *                                             meanwhile. What a process still has when it ends is
 *                                             not zeroed
 *   DUOBLAS_SUMMARY        stderr | FILE      only libduoblas-blas.so: at exit it writes there how
 *                                             the program's BLAS calls were served
 *   BYTES may end in K, M or G, for 2^10, 2^20 or 2^30. A value that is not understood is ignored;
 *   the duoblas tool and DUOBLAS_VERBOSE=2 say so. The tool also tells of other names that begin
 *   with DUOBLAS_, as after a typing error.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DUOBLAS_H
#define DUOBLAS_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header. duo_version() tells that of the library. */
#define DUO_VERSION_MAJOR 1
#define DUO_VERSION_MINOR 0
#define DUO_VERSION_PATCH 0
/* 10000 * major + 100 * minor + patch, as duo_version() returns it. */
#define DUO_VERSION (DUO_VERSION_MAJOR * 10000 + DUO_VERSION_MINOR * 100 + DUO_VERSION_PATCH)
/* The three numbers, and before a release which candidate for it this is. */
#define DUO_VERSION_STRING "1.0.0-rc.1"

#if defined(__GNUC__)
#define DUO_API __attribute__((visibility("default")))
#else
#define DUO_API
#endif

/* Before what will go in the next major version (docs/reference/stability.md); the text says what
 * to use. */
#if defined(__GNUC__)
#define DUO_DEPRECATED(text) __attribute__((deprecated(text)))
#else
#define DUO_DEPRECATED(text)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ---------------------------------------------------------------------------------- */

/* X(name, value, text) for each status; the program defines X. */
#define DUO_STATUS_LIST(X)                                                                         \
    X(DUO_OK, 0, "success")                                                                        \
    X(DUO_ERR_NULL, -1, "a pointer that is needed is NULL")                                        \
    X(DUO_ERR_SIZE, -2, "a size or number is out of its range")                                    \
    X(DUO_ERR_LD, -3, "a leading dimension is too small")                                          \
    X(DUO_ERR_ENUM, -4, "an enumeration argument has no such value")                               \
    X(DUO_ERR_CONTEXT, -5, "the context is not a live one")                                        \
    X(DUO_ERR_FOREIGN, -6, "a device pointer is neither from duo_malloc nor adopted")              \
    X(DUO_ERR_MEMORY, -7, "out of memory")                                                         \
    X(DUO_ERR_DEVICE, -8, "no such device, or the device could not do it")                         \
    X(DUO_ERR_LOST, -9, "the only current copy was on a device that is lost")                      \
    X(DUO_ERR_UNSUPPORTED, -10, "not supported by this version or build")                          \
    X(DUO_ERR_RANGE, -11, "the address range is not registered, or cuts across one that is")       \
    X(DUO_ERR_EVENT, -12, "the event is not a live one")                                           \
    X(DUO_ERR_GRAPH, -13, "the graph is not a live one")                                           \
    X(DUO_ERR_NODE, -14, "there is no such node in this graph")                                    \
    X(DUO_ERR_CYCLE, -15, "nodes of the graph depend on each other")                               \
    X(DUO_ERR_BUILT, -16, "the graph is built already, or not yet")                                \
    X(DUO_ERR_HIDDEN, -17, "an operand of a graph's node would have to be copied first")           \
    X(DUO_ERR_SHAPE, -18, "a node of a built graph keeps its kind and its shape")                  \
    X(DUO_ERR_CAPTURE, -19, "not possible while a graph is captured, or only then")                \
    X(DUO_ERR_WRONG, -20, "a check has found a wrong result")

/* What functions return. Later versions may add statuses: treat a negative one that you do not know
 * as a failure. */
typedef enum duo_status {
#define DUO_STATUS_ENUM(name, value, text) name = value,
    DUO_STATUS_LIST(DUO_STATUS_ENUM)
#undef DUO_STATUS_ENUM
} duo_status;

/* Enumerations are passed and stored as an int, so a program is not compiled with -fshort-enums. */
#ifdef __cplusplus
static_assert(sizeof(duo_status) == sizeof(int), "duoblas.h needs enumerations of int's size");
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(duo_status) == sizeof(int), "duoblas.h needs enumerations of int's size");
#endif

/* ---- Enumerations ---------------------------------------------------------------------------- */

/* Storage order of matrices; the values are CBLAS's. */
typedef enum duo_layout { DUO_ROW_MAJOR = 101, DUO_COL_MAJOR = 102 } duo_layout;

/* op(X) = X or its transpose; the values are CBLAS's. For real data DUO_CONJ_TRANS is DUO_TRANS. */
typedef enum duo_transpose {
    DUO_NO_TRANS = 111,
    DUO_TRANS = 112,
    DUO_CONJ_TRANS = 113
} duo_transpose;

/* Which side may serve. DUO_PATH_GPU without a usable GPU runs on the CPU; duo_explain_last() says
 * so. */
typedef enum duo_path { DUO_PATH_AUTO, DUO_PATH_CPU, DUO_PATH_GPU } duo_path;

/*
 * DUO_MATH_ACCURATE  the default. Errors have the bound of a plain fp32 FMA chain. The bits of a
 *                    product depend on the algorithm: see duo_sgemm
 * DUO_MATH_IEEE      fp32 fused multiply-add only, in one documented order of summation: the same
 *                    bits on CPU and GPU, on any number of threads and devices, on every machine
 *                    and in all of 1.x (docs/guide/reproducibility.md)
 * DUO_MATH_TF32      elements of matrices may be rounded to the 11 significant bits of TF32 before
 *                    they are multiplied; never unless asked for
 * DUO_MATH_FLOAT64   products and sums in float64, one rounding at the end: for ill-conditioned
 *                    data
 *
 * The first three are the same for the reductions.
 */
typedef enum duo_math {
    DUO_MATH_ACCURATE,
    DUO_MATH_IEEE,
    DUO_MATH_TF32,
    DUO_MATH_FLOAT64
} duo_math;

/* The two sides of a machine. */
typedef enum duo_side { DUO_SIDE_CPU, DUO_SIDE_GPU } duo_side;

/* Where an operand was when a call came. DUO_AT_UNUSED: the call does not read or write it. */
typedef enum duo_residence {
    DUO_AT_UNUSED,
    DUO_AT_PAGEABLE,  /* plain host memory; also what duo_malloc found instead of the device's */
    DUO_AT_PINNED,    /* host memory of duo_malloc_host */
    DUO_AT_KEPT,      /* host array under duo_keep, with a current copy on the device */
    DUO_AT_STALE,     /* host array under duo_keep; its device copy is not current */
    DUO_AT_DEVICE,    /* duo_malloc or duo_adopt */
    DUO_AT_REMEMBERED /* plain host memory; an earlier call has sent it (duo_set_remember) */
} duo_residence;

/* How early a device begins a context's work: see duo_set_priority. */
typedef enum duo_priority { DUO_PRIORITY_NORMAL, DUO_PRIORITY_HIGH } duo_priority;

/* ---- Contexts -------------------------------------------------------------------------------- */

/* A context, made by duo_create: see Conventions. */
typedef struct duo_context duo_context;

/**
 * duo_create - make a context with the policy of the environment.
 *
 *   ctx   [out] the new context; not NULL. Set to NULL on failure.
 *
 * Residence  touches no GPU: the device is opened by the first call that could use it.
 * Returns    DUO_OK, DUO_ERR_NULL, DUO_ERR_MEMORY.   Since 1.0
 */
DUO_API duo_status duo_create(duo_context **ctx);

/**
 * duo_destroy - wait for the context's work, give its memory back and end it.
 *
 *   ctx   NULL does nothing. Kept and duo_malloc'ed arrays live on: they belong to the process.
 *         A context that takes part in a capture (duo_graph_begin) leaves it, and its nodes stay. A
 *         capture that began in this context ends without a graph.
 *
 * Returns    DUO_OK, or with the context as it was DUO_ERR_CONTEXT (not a live one) or
 *            DUO_ERR_CAPTURE (the program captures the context's stream: duo_set_stream). With any
 *            other status the context is ended: DUO_ERR_LOST (the device was lost with queued work
 *            on it), DUO_ERR_WRONG (a check has found a wrong result: duo_set_verify),
 *            DUO_ERR_DEVICE (its work could not be waited for).
 * Since      1.0
 */
DUO_API duo_status duo_destroy(duo_context *ctx);

/**
 * duo_set_path - which side may serve the calls of this context.
 *
 *   path   DUO_PATH_AUTO: whichever is predicted to finish first. DUO_PATH_CPU, DUO_PATH_GPU: that
 *          side. Default: DUOBLAS_PATH, else DUO_PATH_AUTO.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_ENUM.   Since 1.0
 */
DUO_API duo_status duo_set_path(duo_context *ctx, duo_path path);

/**
 * duo_set_math - the arithmetic of this context's calls.
 *
 *   math   see duo_math. Default: DUOBLAS_MATH, else DUO_MATH_ACCURATE.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_ENUM.   Since 1.0
 */
DUO_API duo_status duo_set_math(duo_context *ctx, duo_math math);

/**
 * duo_set_threads - most CPU threads a call of this context may use.
 *
 *   threads   1 or more; above 256 counts as 256. 0 restores the default, which is found anew at
 *             each call: OMP_NUM_THREADS, or else the number of the process's processors; but not
 *             more than OPENBLAS_NUM_THREADS, the calling thread's OpenMP setting, its affinity and
 *             the CPU quota of the container allow. Inside an OpenMP parallel region a call uses
 *             one thread.
 *
 * All contexts share one team of threads, made when first needed. The calling thread works, too. It
 * does not wait for a thread of the team that has not begun its part. If a thread cannot be made,
 * calls take longer. If the first thread of the process makes a call while the OpenMP threads of
 * the program wait for their next loop, these threads do the work, in a parallel region. Under
 * OMP_WAIT_POLICY=passive the team's threads sleep between calls.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_SIZE (negative).
 * Since      1.0
 */
DUO_API duo_status duo_set_threads(duo_context *ctx, int threads);

/**
 * duo_get_threads - most CPU threads a call of this context may use now: duo_set_threads' number or
 * its default, and not more than the program's BLAS may use (duo_set_cpu_sgemm).
 *
 *   threads   [out] not NULL.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_NULL.   Since 1.0
 */
DUO_API duo_status duo_get_threads(duo_context *ctx, int *threads);

/**
 * duo_set_cpu_sgemm - a BLAS library of the program, as a candidate for products on the CPU.
 *
 *   sgemm     the Fortran function sgemm_ of that library, cast; its integers may have 32 or 64
 *             bits. The library stays open. NULL, the default: there is none.
 *
 * It is a candidate, in place of the CPU's BLAS, if the profile in use was measured with it: if
 * `duoblas info`, with DUOBLAS_CPU_BLAS set to its file, names the same library and kernels as the
 * profile. Its time is predicted by the profile's curve of sgemm_cpu_openblas. On a CPU without
 * fused multiply-add it is a candidate also with another library's curve. It is called once for a
 * product, from the calling thread, and computes with the threads that the program gave it. If
 * these are more than duo_set_threads allows, it is not called. DUO_MATH_IEEE and DUO_MATH_FLOAT64
 * never call it. libduoblas-blas.so sets it to the function that the program would have called
 * without that library.
 *
 * Threads    Calls of this context use no more CPU threads than that library reports
 *            (openblas_get_num_threads, MKL_Get_Max_Threads), also where it is no candidate: a
 *            limit that the program sets there holds here.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT.
 * Since      1.0
 */
DUO_API duo_status duo_set_cpu_sgemm(duo_context *ctx, void (*sgemm)(void));

/**
 * duo_set_adapt - learn the errors of the profile from the calls of this context, and choose by
 * them. This is for machines that the profile does not fit: it was measured on another one, another
 * program uses the machine, or clocks are throttled.
 *
 *   on   not 0: learn. 0, the default: every prediction is the profile's; no clock is read.
 *
 * Effect     For each device the library keeps ratios of real to predicted seconds: for each
 *            algorithm by the length of its calls, and for each direction of transfer (from and to
 *            pageable and pinned memory). A ratio is a slow mean between 1/16 and 16. One call
 *            moves it by at most a factor of 2.4, later of 1.11. All contexts that learn share the
 *            ratios; a new process and a child process begin without them. Predictions are
 *            multiplied by them; duo_explain_last tells both.
 * Trials     Now and then another candidate runs, to learn about it. It has to serve the context's
 *            math and path, and to be predicted to take less than four times as long as the
 *            cheapest. Trials lose at most 1 % of the time that was learned from; only the last one
 *            may exceed that, if it takes longer than predicted. No trial moves a kept array, or
 *            opens a device that no call has used (duo_warm_up opens it).
 * Timed      A call is timed if it takes some 20 us or more, predicted or real, and has done all
 *            its work when it returns: its output is in host memory, and no earlier output of the
 *            context is awaited on the device. Timing makes no call wait longer. Tiny calls are
 *            neither timed nor predicted, with or without learning.
 * Numerics   each result is right to the same bounds, and the reductions have the same bits. Which
 *            algorithm runs may change from call to call and from run to run, and with it the last
 *            bits of sgemm.
 * Threads    contexts share the learned errors without a lock.
 * Cost       about a microsecond for a timed call. No memory is allocated.
 * Returns    DUO_OK, DUO_ERR_CONTEXT.
 * Since      1.0
 */
DUO_API duo_status duo_set_adapt(duo_context *ctx, int on);

/**
 * duo_set_verify - check results while the program runs, to find a GPU, memory or kernel that errs
 * silently.
 *
 *   rate   from 0 to 1: the part of the context's calls that is checked. 0: none, 1: all. Default:
 *          DUOBLAS_VERIFY, else 0.
 *   seed   any number. It decides, together with the order of calls in the context, which of them
 *          are checked.
 *
 * Products   The check is Freivalds', in float64. Let r be a random vector of signs. C r is
 *            compared with alpha op(A) (op(B) r) + beta C r, where the last C is the one before the
 *            call. A row may be off by about sqrt(n) times 9 times the documented error of an
 *            element (docs/reference/numerics.md, "Checks"). A larger error is found, but two wrong
 *            elements in a row cancel for half of the r if they are off by the same. A row is not
 *            checked if an operand of it has an Inf or a NaN, or if it has overflowed.
 * Sums       they are computed again, on the other side if the GPU is open, and must have the same
 *            bits. In a context of duo_set_async() the call waits for a result that is checked.
 * Where      If all matrices are on the device, the check is queued there behind the product, and
 *            nobody waits. Else the CPU checks; it fetches matrices that are only on a device. In a
 *            batch each product is checked.
 * Wrong      A wrong result is counted (duo_get_verified) and noted (duo_explain_last, log). If A,
 *            B and the old C are still there, as they are in host memory, the CPU computes the
 *            result again, and the status is DUO_OK. Else the call returns DUO_ERR_WRONG; if its
 *            check was queued on the device, the next duo_synchronize or duo_destroy does, once.
 *            After a device's second wrong result it counts as lost.
 * Unchecked  Nodes of graphs, calls in a captured stream, batches whose lists are in device memory,
 *            and reductions whose result is an element of their vectors. No call is checked in
 *            another floating-point mode than the default, or if there is no memory for the check.
 * Cost       A check reads each matrix once. It takes 40 bytes for each row of C, 16 more if beta
 *            is not 0, and 24 for each column of op(A). On the CPU it copies C if beta is not 0.
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_SIZE (rate is not from 0 to 1).
 * Since      1.0
 */
DUO_API duo_status duo_set_verify(duo_context *ctx, double rate, uint64_t seed);

/**
 * duo_get_verified - how many results of this process were checked, and how many of them were
 * wrong: the sum over all contexts.
 *
 *   checked, wrong   [out] not NULL. A batch counts once for all products at equal distances. A
 *                    check that is queued on a device counts at once; its finding counts after the
 *                    program has waited for it.
 *
 * Returns    DUO_OK, DUO_ERR_NULL.   Since 1.0
 */
DUO_API duo_status duo_get_verified(int64_t *checked, int64_t *wrong);

/* Whether a call waits until the GPU is open: see duo_set_open. */
typedef enum duo_open { DUO_OPEN_FIRST, DUO_OPEN_BACKGROUND } duo_open;

/**
 * duo_set_open - whether a call waits until the GPU is open.
 *
 *   open      DUO_OPEN_FIRST        the first call that is faster on the GPU opens it, which takes
 *                                   some tenths of a second, and is done there.
 *             DUO_OPEN_BACKGROUND   it is done on the CPU. When the calls of the process have lost
 *                                   a sixteenth of the time that opening takes, by the profile,
 *                                   a thread opens the GPU while calls continue on the CPU.
 *             Default: DUOBLAS_OPEN, else DUO_OPEN_FIRST; in the drop-in DUO_OPEN_BACKGROUND.
 *
 * This holds on the path auto only. Calls on device memory, captured calls, duo_warm_up and
 * functions that give device memory wait in any case. If the process exits while the thread opens
 * the GPU, it waits for the thread. If no thread can be made, the call opens the GPU.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_ENUM.   Since 1.0
 */
DUO_API duo_status duo_set_open(duo_context *ctx, duo_open open);

/* Whether factors in plain host memory are remembered on the GPU: see duo_set_remember. */
typedef enum duo_remember {
    DUO_REMEMBER_NONE,
    DUO_REMEMBER_BYTES,
    DUO_REMEMBER_PAGES
} duo_remember;

/**
 * duo_set_remember - do not send a factor again while its bytes stay the same.
 *
 *   remember   DUO_REMEMBER_NONE    each product sends its factors in plain host memory to the
 *                                   GPU.
 *              DUO_REMEMBER_BYTES   they stay there. The next product with the same factor reads it
 *                                   once on the CPU, to compare a hash of each of its pages with
 *                                   the hash of the bytes on the GPU. It sends the pages that
 *                                   differ.
 *              DUO_REMEMBER_PAGES   the same. A factor that was unchanged eight times in a row is
 *                                   not read any more: the system tells whether its pages were
 *                                   written.
 *              Default: DUOBLAS_REMEMBER, else DUO_REMEMBER_NONE; in the drop-in
 *              DUO_REMEMBER_BYTES.
 *
 * This is for programs that use the same matrix again but cannot call duo_keep, such as unmodified
 * programs: the weights of a network, a fixed operator. Comparing takes less time than sending. The
 * program promises nothing: between two calls it may write to the factor in any way. A changed page
 * is taken for unchanged with a probability of at most 2^-64. The hash has a random key of the
 * process.
 *
 * A factor stays on the GPU when it is sent for the second time since a call of the library wrote
 * to it. Only factors of duo_sgemm stay, of at least 1 MiB, without gaps between columns (or rows),
 * in memory that is not pinned, kept or on the device. Later calls find parts of them, too. The
 * context has to use one device (duo_set_devices). All such factors take at most half of the
 * device's free memory, and are the first to be evicted; duo_trim frees them, but for those in use.
 * If most of a factor has changed by the next call, the next 4 calls send it without a copy. After
 * each further change of that kind it is twice as many, up to 256.
 *
 * DUO_REMEMBER_PAGES needs Linux 6.7 or later with userfaultfd (`duoblas info` says whether it is
 * there); else bytes are compared. It opens two descriptors. A thread's first write to a watched
 * page takes 1 us more. Only private anonymous memory is watched, such as malloc gives, and only if
 * the process has pinned no memory by the system (VmPin), and none of the factor for the GPU. The
 * watch misses a device that writes to memory which the program gave it in another way. So each
 * call also compares 1 of 64 pages, the next call others; after one miss no pages are watched.
 *
 * Numerics   another algorithm may run than without it, as with duo_keep; under DUO_MATH_IEEE the
 *            result is the same.
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_ENUM.   Since 1.0
 */
DUO_API duo_status duo_set_remember(duo_context *ctx, duo_remember remember);

/**
 * duo_set_async - calls may return before their result is in host memory, so that the program goes
 * on while the GPU works.
 *
 *   on   not 0: they may. 0, the default: the result is there when the call returns. Switching it
 *        off waits as duo_synchronize does.
 *
 * Which      Results of duo_sasum, duo_ssum and duo_sdot on the GPU may come later if they go to
 *            plain or pinned host memory. Results in kept arrays, and in memory of duo_malloc
 *            wherever it lies, are in order with all other calls on that memory. Results of the CPU
 *            are there when the call returns, and so is C of duo_sgemm in host memory. The library
 *            may wait all the same: it does for vectors that it sends in pieces or straight from
 *            pinned memory, and in contexts that tell how long each call took (duo_set_log,
 *            DUOBLAS_VERBOSE). The choice of the side does not change.
 * There      A result is there after duo_synchronize; after duo_event_synchronize, or a
 *            duo_event_query that says so, for an event that the context recorded after the call;
 *            and after anything that waits for the context's work: duo_destroy, duo_set_device,
 *            duo_set_stream, duo_set_priority. The oldest may come earlier: when 64 are awaited, a
 *            call first waits for it.
 * Meanwhile  Until then the program keeps the float valid, neither reads nor writes it, and passes
 *            it to no other call, such as duo_keep. Inputs in host memory are consumed when the
 *            call returns.
 * Lost       If the device is lost, so are the awaited results: the floats keep their values, and
 *            duo_synchronize, duo_destroy and those events return DUO_ERR_LOST. A child process
 *            gets none of its parent's results.
 * Default    A thread's default context (NULL) waits for every result, as BLAS does: there the call
 *            changes nothing and returns DUO_OK.
 * Numerics   the same bits.
 * Learning   duo_set_adapt leaves out this context's reductions on the GPU.
 * Returns    DUO_OK (also without a GPU), DUO_ERR_CONTEXT, DUO_ERR_MEMORY (not switched on), or of
 *            duo_synchronize: DUO_ERR_LOST or DUO_ERR_WRONG (switched off), DUO_ERR_DEVICE (not
 *            yet: call again), DUO_ERR_CAPTURE.
 * Since      1.0
 */
DUO_API duo_status duo_set_async(duo_context *ctx, int on);

/**
 * duo_set_device - the GPU that later calls of this context use, and no other beside it
 * (duo_set_devices). Waits for the work on the old one.
 *
 *   device   0 <= device < duo_device_count(). Default: DUOBLAS_DEVICE.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_CAPTURE (while a graph is captured), DUO_ERR_DEVICE
 *            (no such device).
 * Since      1.0
 */
DUO_API duo_status duo_set_device(duo_context *ctx, int device);

/**
 * duo_set_devices - the GPUs that one call of this context may use at once.
 *
 *   devices  their numbers, each once: 0 <= devices[i] < duo_device_count(). The first is the
 *            context's own device, with its memory and its results; changing it waits for the work
 *            on the old one. Ignored if count is 0.
 *   count    1: as duo_set_device. 0: the context's device, and then all others in their order, up
 *            to eight in all.
 *
 * An sgemm with all operands in plain or pinned host memory is divided: each device computes
 * columns of C (rows of a row-major C), in proportion to its multiprocessors and their clock. The
 * predicted time decides how many devices a call uses; other calls use only the first. Devices that
 * reach each other's memory (NVLink) pass on the parts of A that they were sent, so that A is sent
 * once in all; other devices are each sent all of it.
 *
 * A device that is lost, or has less than half as much free memory as the first, is left out. If
 * the first is lost, the next usable one takes its place for good; data that were only on the lost
 * one are lost. A program's own stream (duo_set_stream) belongs to the first device and ends with
 * it.
 *
 * Numerics   bounds as for one device. Bits may depend on the number of devices, as they do on the
 *            size of the device's memory, but not in DUO_MATH_IEEE.
 * Returns    DUO_OK, or with nothing changed: DUO_ERR_CONTEXT, DUO_ERR_NULL, DUO_ERR_SIZE (count
 *            negative or above 8), DUO_ERR_CAPTURE (while a graph is captured), DUO_ERR_DEVICE (no
 *            such device, one twice, or no GPU at all).
 * Since      1.0
 */
DUO_API duo_status duo_set_devices(duo_context *ctx, const int *devices, int count);

/**
 * duo_set_stream - run in the caller's CUDA stream instead of the context's own.
 *
 *   cuda_stream   a cudaStream_t of the context's device, which must stay alive while it is set;
 *                 NULL goes back to the context's own stream. (The legacy default stream is
 *                 cudaStreamLegacy.)
 *
 * Kernels run in it. Operands that an sgemm sends from host memory, and C on its way there, are
 * copied in the library's own streams. Those wait for this stream, and it waits for them. If C is
 * in host memory the call returns when all is done.
 *
 * While the program captures the stream (cudaStreamBeginCapture, in any mode), two kinds of calls
 * become nodes of the program's graph: duo_sgemm and the reductions if all operands and results are
 * in device memory, and duo_copy between device and pinned memory (duo_malloc, duo_malloc_host).
 * Nothing is allocated, awaited or moved. Other operations and copies return DUO_ERR_CAPTURE if
 * they would touch anything. So do duo_destroy, duo_set_device, duo_set_devices, duo_set_stream, a
 * duo_set_priority that changes something, duo_set_async when it switches off, duo_warm_up,
 * duo_synchronize, duo_trim, duo_changed, duo_fetch, duo_release, duo_malloc, duo_malloc_host,
 * duo_free, duo_free_host, duo_event_record, duo_event_wait, duo_graph_begin, _build and _launch.
 * They leave the capture as it was. All other setters, duo_keep, duo_prepare, duo_adopt and
 * duo_disown act at once.
 *
 * Before the capture call duo_warm_up, and each shape once: a captured call uses the workspace that
 * its context has by then. Then call duo_synchronize: during a capture no other context can follow
 * this one's earlier work, so without it other contexts' calls on the same memory may return
 * DUO_ERR_DEVICE. The graph may be launched until the context is trimmed, given another stream or
 * destroyed. While the graph runs, no other call of the context may be under way: launch it in the
 * same stream, or wait before. The library does not order the graph with other contexts either. In
 * the graph, factors under duo_prepare are not packed ahead, and memory that the graph writes is no
 * longer under duo_prepare.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_CAPTURE (while a graph is captured), DUO_ERR_DEVICE
 *            (no usable GPU).
 * Since      1.0
 */
DUO_API duo_status duo_set_stream(duo_context *ctx, void *cuda_stream);

/**
 * duo_set_priority - which context's work a device begins first, if several have work waiting.
 *
 *   priority   DUO_PRIORITY_NORMAL, the default, which CUDA's streams have; or DUO_PRIORITY_HIGH.
 *
 * The device begins waiting work of high priority next. Running work goes on, so a long kernel of
 * another context may still be waited for. A context keeps its own order. Results are the same.
 *
 * A change waits for the context's work, as duo_set_device does; the next call opens queues anew.
 * It concerns the streams that the library makes on all devices of the context, also those for
 * transfers of host memory; a caller's own (duo_set_stream) keeps the priority it was made with. A
 * graph's work has the normal priority. Without a GPU nothing happens.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_ENUM, DUO_ERR_CAPTURE (the program captures the
 *            context's stream).
 * Since      1.0
 */
DUO_API duo_status duo_set_priority(duo_context *ctx, duo_priority priority);

/**
 * duo_set_log - where the verbose lines of this context go.
 *
 *   log    called with `user` and a line without newline: once for each call, and at events (there
 *          is no GPU, something failed on it, or a long product tells how far it is), even if
 *          DUOBLAS_VERBOSE is 0. It must not call the library, which may hold locks. NULL: back to
 *          stderr if DUOBLAS_VERBOSE asks for it.
 *   user   any pointer; it is only passed on.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT.
 * Since      1.0
 */
DUO_API duo_status duo_set_log(duo_context *ctx, void (*log)(void *user, const char *line),
                               void *user);

/**
 * duo_warm_up - pay the costs of first calls now: open the GPU, load its kernels, make workspace,
 * start threads, open the CPU's BLAS if DUOBLAS_CPU_BLAS names it. After it, a call of a size that
 * was seen before allocates, pins and loads nothing.
 *
 * Without it the first kernel that the process runs on a device loads all others as well: to load
 * one later would mean waiting until every queue of the device is empty. duo_warm_up does not count
 * as a call of an operation: duo_set_decide's function is not asked, duo_explain_last tells of the
 * call before, and no line of a call is logged.
 *
 * Returns    DUO_OK (also without a GPU), DUO_ERR_CONTEXT, DUO_ERR_CAPTURE (the program captures
 *            the context's stream).
 * Since      1.0
 */
DUO_API duo_status duo_warm_up(duo_context *ctx);

/**
 * duo_synchronize - wait until all work of this context is done.
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_CAPTURE (while a graph is captured), DUO_ERR_LOST
 *            (results that were only on the device are gone), DUO_ERR_WRONG (a check has found a
 *            wrong result: duo_set_verify), DUO_ERR_DEVICE (the device works, but could not be
 *            waited for now: call again).
 * Since      1.0
 */
DUO_API duo_status duo_synchronize(duo_context *ctx);

/* ---- Events ---------------------------------------------------------------------------------- */
/*
 * An event is a place in a context's work: behind all work that the context was given before the
 * event was recorded. Other contexts, on other devices and threads too, can be made to follow it,
 * and the host can wait for it, or ask whether it has been reached, while the context is given more
 * work.
 *
 * Calls on the same memory need no events: kept arrays, memory of duo_malloc and memory of
 * duo_adopt are in order in all contexts. A context that reads what another one has written follows
 * all work that the other was given until then. A context that writes also follows all readers.
 * Contexts that read the same memory run side by side. Events are for work that the library does
 * not know of: a program's own kernels in its streams (duo_set_stream). They also let the host wait
 * for a part of a context's work, while duo_synchronize waits for all.
 *
 *     duo_sgemm(a, ...);  duo_event_record(a, e);  duo_sgemm(a, ...);   // C on the device
 *     duo_event_wait(b, e);           // b goes on when the first product is there
 *     duo_event_synchronize(e);       // so does the host
 *
 * Threads    one thread at a time records an event. Meanwhile others may follow it, wait for it and
 *            query it: they get its old or its new place.
 * Captures   an event that is recorded while a graph is captured is a place in the graph, until it
 *            is recorded anew: see duo_graph_begin. When the capture ends it counts as reached.
 */
typedef struct duo_event duo_event;

/**
 * duo_event_create - make an event. Until it is recorded it counts as reached.
 *   event   [out] not NULL. Set to NULL on failure.
 * Residence  touches no GPU.
 * Returns    DUO_OK, DUO_ERR_NULL, DUO_ERR_MEMORY.   Since 1.0
 */
DUO_API duo_status duo_event_create(duo_event **event);

/**
 * duo_event_destroy - end an event. Contexts that follow it still do; no thread may be waiting.
 *   event   NULL does nothing.
 * Returns    DUO_OK, DUO_ERR_EVENT (not a live one).   Since 1.0
 */
DUO_API duo_status duo_event_destroy(duo_event *event);

/**
 * duo_event_record - the event's place is behind all that this context was given so far.
 *
 *   event   may have been recorded before, in any context: work that already follows that place
 *           still does.
 *
 * Work that a call has done when it returns, for instance if its output is in host memory, counts
 * as reached. A result that comes later (duo_set_async) is there once the host has found the event
 * reached. Does not wait, unless the device cannot mark the place.
 *
 * Returns    DUO_OK, or with the event as it was: DUO_ERR_CONTEXT, DUO_ERR_EVENT, DUO_ERR_MEMORY
 *            (only while a graph is captured), DUO_ERR_CAPTURE (the program captures the context's
 *            stream).
 * Since      1.0
 */
DUO_API duo_status duo_event_record(duo_context *ctx, duo_event *event);

/**
 * duo_event_wait - work given to this context from now on begins when the event is reached.
 *
 *   event   recorded in any context. One that was never recorded counts as reached.
 *
 * The host waits only if the context has no usable GPU, or its GPU cannot follow the event. Work
 * that was lost with a device is not waited for: later calls that use its results return
 * DUO_ERR_LOST.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_EVENT, DUO_ERR_DEVICE (the device works, but could
 *            not be waited for now: call again), DUO_ERR_CAPTURE (the program captures the
 *            context's stream, or as in duo_graph_begin), DUO_ERR_MEMORY (only while a graph is
 *            captured).
 * Since      1.0
 */
DUO_API duo_status duo_event_wait(duo_context *ctx, duo_event *event);

/**
 * duo_event_synchronize - the host waits until the event is reached.
 * Returns    DUO_OK, DUO_ERR_EVENT, DUO_ERR_CAPTURE (it is a place in a graph that is captured),
 *            DUO_ERR_LOST (the device was lost before, and with it results that the context had
 *            only there), DUO_ERR_DEVICE (as in duo_event_wait).
 * Since      1.0
 */
DUO_API duo_status duo_event_synchronize(duo_event *event);

/**
 * duo_event_query - has the event been reached? Does not wait.
 *   done   [out] 1 or 0; not NULL. 1 also with DUO_ERR_LOST.
 * Returns    as duo_event_synchronize, and DUO_ERR_NULL.   Since 1.0
 */
DUO_API duo_status duo_event_query(duo_event *event, int *done);

/* ---- Devices --------------------------------------------------------------------------------- */

/*
 * The caller fills `size` with sizeof(duo_device_info) first; later versions may append fields, and
 * fill in as many as `size` has room for. Fields that the library does not know stay as they are.
 */
typedef struct duo_device_info {
    size_t size;
    char name[256];
    int capability_major, capability_minor; /* compute capability */
    int multiprocessors;
    uint64_t memory_bytes, memory_free_bytes;
    int driver_version; /* 1000 * major + 10 * minor, as CUDA counts */
    int clock_khz, memory_clock_khz, memory_bus_bits;
    int pcie_generation, pcie_width; /* 0 where unknown */
} duo_device_info;

/**
 * duo_device_count - number of GPUs this process can use; 0 without driver, device or CUDA build.
 *   count   [out] not NULL.
 * Returns    DUO_OK (also for 0), DUO_ERR_NULL.   Since 1.0
 */
DUO_API duo_status duo_device_count(int *count);

/**
 * duo_device_describe - facts of one GPU, so that a user can list them and pick one.
 *
 *   device  0 <= device < duo_device_count().
 *   info    [in,out] not NULL; info->size set by the caller.
 *
 * Returns    DUO_OK, or with info untouched: DUO_ERR_NULL, DUO_ERR_SIZE (info->size too small),
 *            DUO_ERR_DEVICE (no such device, or it does not answer).
 * Since      1.0
 */
DUO_API duo_status duo_device_describe(int device, duo_device_info *info);

/* ---- Operations ------------------------------------------------------------------------------ */

/**
 * duo_sgemm - matrix product.
 *
 *     C := alpha * op(A) * op(B) + beta * C        op(A) is m x k, op(B) is k x n, C is m x n
 *
 * Storage: column-major X(i,j) = x[i + j*ldx], row-major X(i,j) = x[i*ldx + j].
 *
 *   layout   storage of all three matrices.
 *   transa   op(A): A as it is stored, or its transpose.
 *   transb   op(B), in the same way.
 *   m, n, k  >= 0. With m == 0 or n == 0 nothing is read or written. With k == 0 C is only scaled.
 *            All other arguments are checked even then.
 *   alpha    with alpha == 0 (or k == 0) A and B are not read, so a NaN in them does not reach C.
 *   a        [in] the stored matrix: m x k, or k x m if transposed. May be NULL where not read.
 *   lda      distance between columns (rows if row-major) of the stored A; at least its rows
 *            (columns if row-major), and at least 1. The gap between columns is not read.
 *   b        [in] k x n, or n x k if transposed. May be NULL where not read.
 *   ldb      as lda, for the stored B.
 *   beta     with beta == 0 C is written and never read: it may start uninitialised.
 *   c        [in,out] may be NULL if m or n is zero. The gaps between its columns stay as they are.
 *   ldc      at least m (n if row-major), and at least 1.
 *
 * Overlap    C must not overlap A or B; this is not checked. A and B may be the same.
 * Residence  any mix; see Conventions. For the GPU, operands in host memory that are not kept are
 *            sent in parts, and C is fetched in parts, while other parts are multiplied. They may
 *            be larger than the device, in any layout. The parts take up to 0.8 of its free memory
 *            (DUOBLAS_DEVICE_MEMORY), which the context keeps for later calls until duo_trim;
 *            if device copies leave less than a quarter for them, the copies make room.
 * Threads    any number of contexts at once, if their C are disjoint. The team (duo_set_threads)
 *            copies pageable memory to and from pinned buffers, and pinned memory too if its rows
 *            are short or far apart.
 * Numerics   binary32 products and sums, or tensor cores on operands that are split so that the
 *            same bound holds (docs/reference/numerics.md; not under DUO_MATH_IEEE). Barring
 *            overflow and underflow, with u = 2^-24, for each element of C
 *            |error| <= (k+3) u |alpha| |A||B| + 2u |beta C|
 *            There are two exceptions. If a BLAS on the CPU adds to C once for each block of k, the
 *            second term is u |beta C| for each block. If A, B and C in host memory do not fit on
 *            the device together, k may be cut into slabs, but not under DUO_MATH_IEEE and
 *            DUO_MATH_FLOAT64; then there is u |beta C| more for each slab but the first. NaN and
 *            Inf propagate as in reference BLAS: zeros in A or B are not skipped.
 *            DUO_MATH_IEEE: one order of summation. The bits are the same whatever the library
 *            decides. The CPU computes products in the caller's floating-point mode, which may
 *            change them. In the other maths the same algorithm (duo_explain_last names it) gives
 *            the same bits on every run of the same shape on one machine. On the CPU that holds for
 *            any number of threads, except for sgemm_cpu_openblas, where it is up to that library.
 *            On the GPU it holds as long as the algorithm has the same workspace
 *            (DUOBLAS_WORKSPACE, or the rest of the device's memory: a small workspace cuts
 *            products) and, with operands in host memory, the number of devices and their free
 *            memory stay the same; for sgemm_gpu_mma also leading dimensions and alignment have to
 *            be the same. Which algorithm runs depends on sizes, residence, duo_prepare, threads,
 *            the profile, and what was learned (duo_set_adapt).
 *            A NaN that is written is 0x7FC00000 in DUO_MATH_IEEE and DUO_MATH_FLOAT64, any NaN
 *            elsewhere. With beta == 1 and no product C is not written.
 *            DUO_MATH_TF32: op(A) and op(B) may be rounded to 11 significant bits, to nearest; then
 *            |error| <= (2^-10 + (k+3) u) |alpha| |A||B| + 2u |beta C|
 *            DUO_MATH_FLOAT64: exact products, sums in float64, one rounding; nothing overflows on
 *            the way. |error| <= u |result| + (k+2) 2^-53 M + 2^-150, M = |alpha||A||B| + |beta C|.
 *            Where (k+2) M / |result| <= 5*10^6 that is within 0.51 units in the last place.
 * Returns    DUO_OK, or with C untouched the first that applies of: DUO_ERR_CONTEXT, DUO_ERR_ENUM,
 *            DUO_ERR_SIZE (a negative size), DUO_ERR_LD, DUO_ERR_SIZE (a matrix beyond the address
 *            space, even if it is not read), DUO_ERR_NULL; or one of DUO_ERR_RANGE (an operand runs
 *            over the end of device memory), DUO_ERR_LOST, DUO_ERR_FOREIGN, DUO_ERR_MEMORY,
 *            DUO_ERR_DEVICE (an operand is on a device that refuses transfers), DUO_ERR_CAPTURE
 *            (duo_set_stream). But C is unspecified if a device is lost or refuses transfers while
 *            the call runs, after a part of C was transferred.
 * Source     Dongarra, Du Croz, Hammarling, Duff, ACM TOMS 16 (1990) 1-17; bound: Higham, Accuracy
 *            and Stability of Numerical Algorithms, 2nd ed., 3.5.
 * Since      1.0
 */
DUO_API duo_status duo_sgemm(duo_context *ctx, duo_layout layout, duo_transpose transa,
                             duo_transpose transb, int64_t m, int64_t n, int64_t k, float alpha,
                             const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                             float *c, int64_t ldc);

/**
 * duo_sgemm_batched - general matrix products, many of one shape.
 *
 *     C[i] := alpha * op(A[i]) * op(B[i]) + beta * C[i],  0 <= i < count
 *
 *   a, b, c  [in] lists of the addresses of each product's operands. The operands are as in
 *            duo_sgemm, and not NULL if they are read or written. The same A or B may stand in a
 *            list often. A list may be NULL where duo_sgemm's operand may, and if count is 0.
 *            Lists in host memory may change when the call returns.
 *            A list may also lie in device memory (duo_malloc, duo_adopt). Then the call does not
 *            read it, and does not wait: the device reads it when it gets there. So the list stays
 *            as it is until the work is done (duo_synchronize, an event). The caller guarantees
 *            that all its addresses are of floats in memory of the context's device, that none is
 *            NULL, and that no other context works on the matrices. If a matrix that is written was
 *            prepared (duo_prepare), the caller calls duo_changed afterwards. If a list is on the
 *            device but the batch does not go in one launch (an operand, or any memory of
 *            duo_malloc, is in host memory, or the GPU cannot be used), the lists are fetched, and
 *            the call goes on as with lists in host memory.
 *   count    >= 0 products; with 0 nothing is read or written.
 *   others   as in duo_sgemm, for every product.
 *
 * Overlap    no C may overlap another C, or any A or B; this is not checked.
 * Residence  any mix; see Conventions. The batch is decided once. On the device it is one launch.
 *            But if an operand is in host memory and not kept, the batch is cut into pieces, with
 *            one launch for each: the products of a piece are sent, without the gaps between them,
 *            while other pieces are multiplied and fetched. The context keeps the pieces' device
 *            memory for later calls until duo_trim. On the CPU the team's threads share the
 *            products. In five cases the products are calls of duo_sgemm, one after the other: if
 *            the list of one operand leads both to host memory and to the device, or to several
 *            kept arrays; if the products are large enough to fill the machine; if the device has
 *            no room for two of them; while a graph is captured; and on the device under
 *            DUO_MATH_FLOAT64.
 * Numerics   each product, in every math, is as in duo_sgemm. In DUO_MATH_IEEE it has the same bits
 *            in every batch, and alone, on every device. In other maths a launch may use tensor
 *            cores (sgemm_gpu_mma): then the bits depend on sizes, alignment, and the count of
 *            products in a piece, too, and elements below 2^-113 may lose what is below 2^-136.
 * Explain    a batch is one call: the program is asked once (duo_set_decide), the log has one line.
 *            duo_explain_last tells sizes and residences of the first product; count, candidates,
 *            side, algorithm, threads, and predicted and measured seconds are the batch's.
 * Returns    what duo_sgemm returns. With no C written: DUO_ERR_SIZE also for count < 0,
 *            DUO_ERR_NULL for any NULL in a list that is read, DUO_ERR_RANGE for a list that runs
 *            over the end of device memory, and DUO_ERR_CAPTURE for one on the device while a graph
 *            or the stream is captured. An error that comes later leaves some C written.
 * Since      1.0
 */
DUO_API duo_status duo_sgemm_batched(duo_context *ctx, duo_layout layout, duo_transpose transa,
                                     duo_transpose transb, int64_t m, int64_t n, int64_t k,
                                     float alpha, const float *const a[], int64_t lda,
                                     const float *const b[], int64_t ldb, float beta,
                                     float *const c[], int64_t ldc, int64_t count);

/**
 * duo_sgemm_strided_batched - the same, at equal distances.
 *
 *     C[i] := alpha * op(A[i]) * op(B[i]) + beta * C[i],  0 <= i < count
 *     A[i] = a + i*stride_a,  B[i] = b + i*stride_b,  C[i] = c + i*stride_c
 *
 *   a, b, c   the first product's.
 *   stride_a  floats from one A to the next; may be negative, and shorter than the matrix. 0: all
 *             products use the same A.
 *   stride_b  the same for B.
 *   stride_c  the same for C. The C must not overlap: they lie one behind the other, or the columns
 *             of each lie between the others' columns. But 0: all products are added up in one C,
 *             which becomes beta * C + alpha * (sum over i of op(A[i]) * op(B[i])). They are added
 *             in order, as by `count` calls of duo_sgemm, the first with beta and the others with
 *             1. Bits and bound are those of these calls, and an error leaves the sum of the calls
 *             before it. duo_explain_last tells of the last one.
 *   others    as in duo_sgemm_batched.
 *
 * Returns    what duo_sgemm_batched returns; DUO_ERR_LD also for a stride_c at which C overlap, and
 *            DUO_ERR_SIZE for strides beyond the address space.
 * Everything else as in duo_sgemm_batched.   Since 1.0
 */
DUO_API duo_status duo_sgemm_strided_batched(duo_context *ctx, duo_layout layout,
                                             duo_transpose transa, duo_transpose transb, int64_t m,
                                             int64_t n, int64_t k, float alpha, const float *a,
                                             int64_t lda, int64_t stride_a, const float *b,
                                             int64_t ldb, int64_t stride_b, float beta, float *c,
                                             int64_t ldc, int64_t stride_c, int64_t count);

/**
 * duo_sgemm_grouped - general matrix products, in groups of one shape each.
 *
 *     C[i] := alpha[g] * op(A[i]) * op(B[i]) + beta[g] * C[i]
 *     for all products i of group g, 0 <= g < group_count: the first group_size[0] of the lists,
 *     then the next group_size[1], and so on
 *
 *   layout       storage of all matrices.
 *   group_count  >= 0 groups; with 0 nothing is read or written, and all pointers may be NULL.
 *   group_size   [in] group_size[g] >= 0 is the count of group g's products. With 0 it has none,
 *                but its other values have to be right, too.
 *   a, b, c      [in] lists of all products' operands, as in duo_sgemm_batched. One may be NULL
 *                where no group needs it.
 *   others       [in] for each group what duo_sgemm_batched takes for all products. These arrays,
 *                and group_size, have group_count values, in host memory, and are not NULL.
 *
 * Overlap    no C may overlap another C, or any A or B, of any group; this is not checked.
 * Residence  any mix; see Conventions. Groups in memory of the context's device (duo_malloc,
 *            duo_adopt) go in one launch. There is one launch more for groups of a short k beside
 *            groups for tensor cores, and one for each group of vector products
 *            (docs/reference/numerics.md) that tensor cores do not take. On the CPU the team's
 *            threads share the groups of small products in plain host memory. The products of a
 *            tiny group are calls of duo_sgemm. Each other group is a call of duo_sgemm_batched:
 *            its products fill the device, or it is in kept arrays, or it is sent from host memory.
 * Numerics   as in duo_sgemm_batched: in DUO_MATH_IEEE each product has the same bits alone, and in
 *            every group. In other maths the bits depend on all groups.
 * Explain    groups that go together are one call. duo_explain_last tells sizes and residences of
 *            the first product of one group; the rest is of all products of that call.
 * Returns    DUO_OK, or with no C written the first that applies of: DUO_ERR_CONTEXT, DUO_ERR_ENUM
 *            (layout), DUO_ERR_SIZE (group_count is negative), DUO_ERR_NULL (an array is NULL),
 *            DUO_ERR_SIZE (a group_size is negative), and what duo_sgemm_batched returns for the
 *            first group that has an error in its arguments. An error that comes later leaves some
 *            C written.
 * Source     The arguments are those of cblas_sgemm_batch in Intel's oneMKL, with lengths of the
 *            library's own.
 * Everything else as in duo_sgemm_batched.   Since 1.0
 */
DUO_API duo_status duo_sgemm_grouped(duo_context *ctx, duo_layout layout, int64_t group_count,
                                     const duo_transpose transa[], const duo_transpose transb[],
                                     const int64_t m[], const int64_t n[], const int64_t k[],
                                     const float alpha[], const float *const a[],
                                     const int64_t lda[], const float *const b[],
                                     const int64_t ldb[], const float beta[], float *const c[],
                                     const int64_t ldc[], const int64_t group_size[]);

/**
 * duo_sasum - sum of absolute values.
 *
 *     result := sum over i of |x(i)|,  x(i) = x[i*incx],  0 <= i < n
 *
 *   n       n <= 0 gives 0 and reads nothing.
 *   x       [in] (n-1)*incx + 1 floats; may be NULL if n <= 0 or incx <= 0.
 *   incx    distance between elements; incx <= 0 gives 0, as in reference BLAS.
 *   result  [out] one float, in host or device memory; not NULL. If it is in device memory the call
 *           does not wait, except for vectors that it sends in pieces; see also duo_set_async.
 *
 * Overlap    result may be an element of x.
 * Residence  any mix; see Conventions. A vector in host memory that is longer than 2^23 elements,
 *            or larger than the available device memory, is sent to the GPU in pieces.
 * Threads    any number of contexts at once.
 * Numerics   one documented order of summation (docs/reference/numerics.md): the same bits on CPU
 *            and GPU, for every instruction set, number of threads, alignment, stride and
 *            residence.
 *            |error| <= 8u sum|x(i)|, u = 2^-24, for every n. No spurious overflow: the sum is Inf
 *            only if it rounds to Inf. A NaN anywhere gives the NaN 0x7FC00000. FE_OVERFLOW and
 *            FE_INVALID are raised only with a result of Inf or NaN; a program that traps on them
 *            gets no SIGFPE for a finite one.
 *            DUO_MATH_FLOAT64: likewise, by a float64 order. |error| <= u |sum| + (12 + L) 2^-53
 *            sum|x(i)|, L = ceil(log2 ceil(n/1024)). Up to a condition sum|x(i)| / |sum| of 10^6
 *            the result is faithful: the sum itself where that is a float, else one of the two
 *            floats around it.
 * Returns    DUO_OK, or with result untouched: DUO_ERR_CONTEXT, DUO_ERR_NULL, DUO_ERR_SIZE (n or
 *            n*incx beyond the address space), DUO_ERR_RANGE, DUO_ERR_FOREIGN, DUO_ERR_LOST,
 *            DUO_ERR_MEMORY, DUO_ERR_DEVICE, DUO_ERR_CAPTURE (duo_set_stream).
 * Source     Lawson, Hanson, Kincaid, Krogh, ACM TOMS 5 (1979) 308-323.
 * Since      1.0
 */
DUO_API duo_status duo_sasum(duo_context *ctx, int64_t n, const float *x, int64_t incx,
                             float *result);

/**
 * duo_ssum - sum.
 *
 *     result := sum over i of x(i),  x(i) = x[i*incx],  0 <= i < n
 *
 * Everything else as in duo_sasum, both bounds too.
 * Returns    as duo_sasum.   Since 1.0
 */
DUO_API duo_status duo_ssum(duo_context *ctx, int64_t n, const float *x, int64_t incx,
                            float *result);

/**
 * duo_sdot - inner product.
 *
 *     result := sum over i of x(i) * y(i)
 *     x(i) = x[i*incx] if incx >= 0, else x[(i-(n-1))*incx]; likewise y
 *
 *   n       n <= 0 gives 0 and reads nothing.
 *   x, y    [in] (n-1)*|inc| + 1 floats each; may be NULL if n <= 0. They may be the same.
 *   incx, incy  any value; zero repeats one element, a negative one starts at the far end.
 *   result  as in duo_sasum.
 *
 * Numerics   as in duo_sasum; products are rounded to binary32, without FMA.
 *            |error| <= 9u sum|x(i) y(i)| + n 2^-150.
 *            DUO_MATH_FLOAT64: products are exact; |error| as in duo_sasum with x(i) y(i) for x(i),
 *            + 2^-150.
 * Otherwise as in duo_sasum.
 * Returns    as duo_sasum.   Since 1.0
 */
DUO_API duo_status duo_sdot(duo_context *ctx, int64_t n, const float *x, int64_t incx,
                            const float *y, int64_t incy, float *result);

/* ---- Memory ---------------------------------------------------------------------------------- */

/**
 * duo_malloc - memory on the context's device, for use as an operand. Device copies of kept arrays
 * make room for it.
 *
 *   bytes   0 is allowed and gives a pointer to free.
 *   ptr     [out] not NULL; 256-byte aligned.
 *
 * Instead    The memory lies in host memory if there is no usable GPU, if the context's GPU is lost
 *            or full, or if the context's path is DUO_PATH_CPU. It counts as device memory all the
 *            same, so that a program needs only one code path: duo_copy fills and reads it; all
 *            calls on it are in order, with duo_set_async and from other contexts, too; graphs take
 *            it; and the same arguments are refused wherever it lies. Results in it are there when
 *            the call returns, and no loss of a device touches it. A program's own kernels cannot
 *            use it, and a call on it in a stream that the program captures returns DUO_ERR_CAPTURE
 *            (duo_set_stream). duo_explain_last says DUO_AT_PAGEABLE.
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_NULL; with *ptr = NULL DUO_ERR_CAPTURE
 *            (duo_set_stream), DUO_ERR_MEMORY.
 * Since      1.0
 */
DUO_API duo_status duo_malloc(duo_context *ctx, size_t bytes, void **ptr);

/**
 * duo_free - give memory of duo_malloc back, after the work that uses it.
 *
 *   ptr   exactly as duo_malloc gave it. NULL does nothing.
 *
 * It waits for queued work of any context, and for calls of other threads that have begun to use
 * the memory. The program cannot know whether a call has begun: free only memory that no call is
 * still to use.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_CAPTURE (duo_set_stream), DUO_ERR_RANGE (not from
 *            duo_malloc).
 * Since      1.0
 */
DUO_API duo_status duo_free(duo_context *ctx, void *ptr);

/**
 * duo_malloc_host - pinned host memory: transfers from it and to it are faster. It is plain host
 * memory without a GPU, on the path DUO_PATH_CPU, and where none can be pinned. The program may
 * read and write it.
 *
 *   bytes, ptr   as in duo_malloc, the alignment too.
 *
 * Returns    as duo_malloc.   Since 1.0
 */
DUO_API duo_status duo_malloc_host(duo_context *ctx, size_t bytes, void **ptr);

/**
 * duo_free_host - give memory of duo_malloc_host back, as duo_free does. But calls of other threads
 * that use the memory must have returned.
 *
 *   ptr   exactly as duo_malloc_host gave it. NULL does nothing.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_CAPTURE (duo_set_stream), DUO_ERR_RANGE (not from
 *            duo_malloc_host).
 * Since      1.0
 */
DUO_API duo_status duo_free_host(duo_context *ctx, void *ptr);

/**
 * duo_copy - copy between any two places: host, pinned, device, kept.
 *
 *   dst, src   may be NULL if bytes is 0; must not overlap. Of a kept array the newer copy is read,
 *              and writing to it counts as duo_changed.
 *   bytes      any number; 0 does nothing.
 *
 * Residence  If dst is in host memory, the call returns when it is written. If dst is on the
 *            device, it returns when the copy is queued and src is consumed.
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_NULL, DUO_ERR_SIZE (beyond the address space),
 *            DUO_ERR_RANGE (runs over the end of device memory), DUO_ERR_FOREIGN, DUO_ERR_DEVICE,
 *            DUO_ERR_LOST, DUO_ERR_CAPTURE (duo_set_stream), DUO_ERR_MEMORY (only while a graph is
 *            captured).
 * Since      1.0
 */
DUO_API duo_status duo_copy(duo_context *ctx, void *dst, const void *src, size_t bytes);

/**
 * duo_adopt - tell the library of device memory it did not allocate (cudaMalloc), so that it may be
 * an operand. The caller's earlier work on it must be done, or be ordered before the context's in
 * its stream. Disown the memory before you free it.
 *
 *   device_ptr  device memory of the context's device, not NULL. Only calls that have it as an
 *               output write to it.
 *   bytes       > 0.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_NULL, DUO_ERR_SIZE (bytes is 0, or beyond the address
 *            space), DUO_ERR_RANGE (touches a registered range), DUO_ERR_DEVICE (no usable GPU, or
 *            not device memory), DUO_ERR_MEMORY (host).
 * Since      1.0
 */
DUO_API duo_status duo_adopt(duo_context *ctx, const void *device_ptr, size_t bytes);

/**
 * duo_disown - forget adopted memory, after the work that uses it, as duo_free does. A later call
 * on it gets DUO_ERR_FOREIGN, if it is large enough to ask the driver.
 *
 *   device_ptr   exactly as it was given to duo_adopt; not NULL.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_NULL, DUO_ERR_RANGE (not adopted).   Since 1.0
 */
DUO_API duo_status duo_disown(duo_context *ctx, const void *device_ptr);

/**
 * duo_trim - wait for the context's work, and give its idle workspace and staging, on all its
 * devices, back to the system. Factors that any context remembers (duo_set_remember) are forgotten,
 * but for those in use.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_CAPTURE (the program captures the context's stream).
 * Since      1.0
 */
DUO_API duo_status duo_trim(duo_context *ctx);

/* ---- Residency: five verbs ------------------------------------------------------------------- */
/*
 * A kept host array has a copy on the device, which is sent at its first use there and not again.
 * Outputs into it stay on the device until they are fetched. Operands are found by address, so any
 * part of a kept array counts as kept. Keeping is a hint: without a GPU, or without memory on it,
 * the array is simply used where it is. A program that forgets duo_changed computes with old data,
 * and one that forgets duo_fetch reads old data; a program that uses none of these verbs never
 * does.
 *
 * If device memory is short, device copies make room for others. Copies that need not be fetched go
 * first, and among them those not used for longest; then copies with newer data, which are fetched.
 * A copy that a call is about to use stays. To make room for an array, a copy is evicted only if no
 * call has used it since that array was last used (or kept). So if arrays in steady use do not all
 * fit, some stay on the device and the others are used from host memory; none is sent back and
 * forth. An evicted array is sent again once calls have lost as much time without it as sending
 * takes. DUOBLAS_VERBOSE=2 tells of each. An array larger than the device is used as if it were not
 * kept.
 *
 * DUOBLAS_CHECK=1 finds a forgotten duo_changed. Whenever a transfer makes the two copies equal,
 * checksums are noted: of 512 lines of 64 bytes of the host copy, the first and the last among
 * them, or of all lines of an array up to 32 KiB. When a call is about to read the device copy, the
 * lines in the part that it reads must be unchanged. If not, a line on stderr (or the context's
 * log) names the array, once, and all of it that is not newer on the device is sent again, so that
 * the result is right. A change between those lines is not seen. Neither is a change of bytes that
 * are newer on the device: the next fetch overwrites what the program wrote there without
 * duo_fetch.
 */

/**
 * duo_keep - from now on this host array stays on the device as well, as long as there is room.
 *
 *   host    plain host memory, not NULL. Device memory that the library does not know is not
 *           detected. The array may be read-only: only outputs that calls wrote to it are ever
 *           copied back, by duo_fetch, duo_release or the library itself.
 *   bytes   > 0. A range inside a kept range is kept already: nothing happens.
 *
 * Threads    no call of another thread may be writing to the array.
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_NULL, DUO_ERR_SIZE (bytes is 0, or beyond the address
 *            space), DUO_ERR_RANGE (cuts across a kept range, or touches memory of duo_malloc,
 *            duo_malloc_host or duo_adopt), DUO_ERR_MEMORY (host).
 * Since      1.0
 */
DUO_API duo_status duo_keep(duo_context *ctx, const void *host, size_t bytes);

/**
 * duo_changed - the program wrote to these bytes of the host array; they are sent again before
 * their next use on the device. If the copy on the device may be newer, fetch the array before
 * writing to it.
 *
 * Between duo_fetch and duo_changed no call may write to any part of the array: the library may
 * fetch, too, and a fetch also copies bytes that lie between two results, over what the program
 * wrote there. Writing a part by duo_copy is safe at any time.
 *
 *   host    not NULL. Bytes that are not kept need nothing and are passed over. Device memory needs
 *           it only where it was given to duo_prepare.
 *   bytes   0 does nothing.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_NULL, DUO_ERR_SIZE (beyond the address space),
 *            DUO_ERR_CAPTURE (as in duo_trim), DUO_ERR_DEVICE or DUO_ERR_MEMORY (the device has
 *            newer bytes elsewhere in the array, and the given ones could not be sent to join them
 *            now: call again).
 * Since      1.0
 */
DUO_API duo_status duo_changed(duo_context *ctx, const void *host, size_t bytes);

/**
 * duo_fetch - make the host copy current: waits for the work that writes it, and copies back the
 * newer bytes on the device. Every kept array that the range touches becomes current as a whole.
 *
 *   host, bytes   as in duo_changed.
 *
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_NULL, DUO_ERR_SIZE, DUO_ERR_CAPTURE (as in duo_trim),
 *            DUO_ERR_LOST, DUO_ERR_DEVICE or DUO_ERR_MEMORY (it could not be copied now, and the
 *            newer data are still on the device: call again).
 * Since      1.0
 */
DUO_API duo_status duo_fetch(duo_context *ctx, void *host, size_t bytes);

/**
 * duo_release - fetch, then forget. Release an array before freeing it.
 *
 *   host   any address in the kept array, not NULL.
 *
 * Threads    calls of other threads may use the array meanwhile. duo_release waits for those that
 *            are about to use the device copy, and on the CPU for those that read packed operands.
 *            All others use the host array: free it after they have returned.
 * Returns    DUO_OK, DUO_ERR_CONTEXT, DUO_ERR_NULL, DUO_ERR_CAPTURE (as in duo_trim), DUO_ERR_RANGE
 *            (not kept), DUO_ERR_LOST (forgotten all the same), DUO_ERR_DEVICE or DUO_ERR_MEMORY
 *            (as in duo_fetch: still kept, call again).
 * Since      1.0
 */
DUO_API duo_status duo_release(duo_context *ctx, const void *host);

/**
 * duo_prepare - promise that matrices in this range will be factors of many products before they
 * change. On GPUs with tensor cores for sgemm, each call first splits A and B into 16-bit parts. On
 * the CPU, each call first copies A and B into the order in which they are read. The results are
 * the packed operands. A prepared factor is packed once, by the first product that needs it packed,
 * and kept on the side where that product ran.
 *
 *   address  in a kept array, or in device memory of duo_malloc or duo_adopt; not NULL. Any operand
 *            A or B that lies in the range is prepared as soon as it is used, separately for each
 *            combination of address, shape, leading dimension, transposition and math, and on the
 *            CPU for its use as A and as B. One packed A serves every n, one packed B every m.
 *   bytes    length of the range. An array has one prepared range: the smallest that holds this one
 *            and those prepared before. 0 ends the promise for the whole array and frees the memory
 *            that it took.
 *
 * On the CPU factors are packed in kept arrays, and in memory of duo_malloc that lies in host
 * memory. Only calls with m > 8, n > 8 and k >= 64 read packed operands. Threads may take the
 * products of a batch in turn: then only a factor that all of them share is packed. Other calls
 * read the arrays where they are. So does a BLAS behind the library.
 *
 * Changes    a factor is packed anew at its next use after duo_changed named it, or the library
 *            wrote to it. A program that forgets duo_changed computes with old data on the CPU,
 *            too, where DUOBLAS_CHECK does not look. A program that writes to prepared device
 *            memory by kernels of its own has to call duo_changed, too. A child process packs anew.
 * Memory     on the device for each factor 0.5 to 1.5 times its own, with its rows (of op(A);
 *            columns of op(B)) and k rounded up to 64. In host memory as much as its own, with the
 *            rows of op(A) rounded up to 32 at most, and twice that for DUO_MATH_FLOAT64. On each
 *            side for all factors in an array at most 4 times the array's and 256 KiB. If there is
 *            no more memory, sgemm goes on without. It is freed with the array, and on the device
 *            evicted as device copies are.
 * Numerics   the CPU's algorithms give the same bits, packed or not. On the device the same
 *            algorithm gives the same bits, if the workspace holds both operands whole. But
 *            preparing makes some algorithms cheaper there, so another one may run.
 * Threads    calls of other threads may use the array meanwhile: memory that they are about to read
 *            is freed after them, and not packed anew before.
 * Returns    DUO_OK (also where nothing will ever be packed), DUO_ERR_CONTEXT, DUO_ERR_NULL,
 *            DUO_ERR_SIZE, DUO_ERR_RANGE (not in one array of these kinds).
 * Since      1.0
 */
DUO_API duo_status duo_prepare(duo_context *ctx, const void *address, size_t bytes);

/* ---- Graphs ---------------------------------------------------------------------------------- */
/*
 * A graph is work that is described once and done many times: operations, copies, and functions of
 * the program, each with the nodes that it depends on. Nodes that do not depend on each other run
 * side by side.
 *
 *     duo_graph_create(&g);
 *     duo_graph_add(g, &(duo_work){.size = sizeof(duo_work), .kind = DUO_WORK_SSUM, .n = n, .x = x,
 *                                  .incx = 1, .result = &s}, NULL, 0, &sum);
 *     duo_graph_add(g, &(duo_work){.size = sizeof(duo_work), .kind = DUO_WORK_HOST,
 *                                  .function = use, .user = &s}, &sum, 1, NULL);
 *     duo_graph_build(g, NULL);
 *     for (...) duo_graph_launch(g, NULL);
 *     duo_graph_destroy(g);
 *
 * Sides      An operation with all operands in host memory runs on the CPU; one with all operands
 *            on the device (duo_malloc, duo_adopt) runs there. Only DUO_WORK_COPY copies: any other
 *            mix, and kept arrays, are DUO_ERR_HIDDEN when the graph is built. Memory of duo_malloc
 *            counts as on the device even if it lies in host memory. Then work on only such memory
 *            runs on the CPU, and the launching thread calls an operation that has other operands
 *            on the device. Without a GPU the CPU does all the work.
 * Order      A launch follows all work that its context was given before, and the context goes on
 *            behind it. Work of the host, and copies to host memory, are done when the launch
 *            returns; the launching thread waits for the work on the device that they depend on.
 *            Other work on the device is queued: with CUDA as CUDA graphs, one for all if the host
 *            does nothing in between. Pinned memory (duo_malloc_host) that copies read must not
 *            change until they are done. Pageable memory may change when the launch returns: the
 *            launching thread copies it.
 * Threads    One thread at a time uses a graph, and one launch of it at a time is under way: a
 *            launch follows the one before. The host's nodes share the team's threads.
 * Numerics   as for the calls: the reductions have the same bits, whatever runs beside them.
 *            Products on the device share it with their neighbours. So they may have other bits
 *            than the call, but not in DUO_MATH_IEEE; each launch gives the same bits.
 */
typedef struct duo_graph duo_graph;

/* A node of a graph; 0 is none. */
typedef int64_t duo_node;

typedef enum duo_work_kind {
    DUO_WORK_EMPTY, /* nothing: a place for others to depend on */
    DUO_WORK_SGEMM, /* duo_sgemm: math, layout, transa, transb, m, n, k, alpha, a ... ldc */
    DUO_WORK_SASUM, /* duo_sasum: math, n, x, incx, result */
    DUO_WORK_SSUM,  /* duo_ssum: likewise */
    DUO_WORK_SDOT,  /* duo_sdot: likewise, and y, incy */
    DUO_WORK_COPY,  /* `height` runs of `width` bytes, from `src` to `dst`, each a pitch apart */
    DUO_WORK_SET,   /* `height` runs of `width` bytes at `dst` become `value` */
    DUO_WORK_HOST   /* function(user), on any thread. It must not call the library. */
} duo_work_kind;

/*
 * What a node does. The caller fills `size` with sizeof(duo_work), and the fields that its kind
 * names; all others may be 0. Arguments are as in the functions of these names. Later versions may
 * append fields; 0 in them changes nothing.
 */
typedef struct duo_work {
    size_t size;
    duo_work_kind kind;

    duo_math math;
    duo_layout layout;
    duo_transpose transa, transb;
    int64_t m, n, k;
    float alpha, beta;
    const float *a, *b;
    float *c;
    int64_t lda, ldb, ldc;

    const float *x, *y;
    int64_t incx, incy;
    float *result;

    void *dst;
    const void *src;
    size_t dst_pitch, src_pitch; /* bytes, at least width where height is above 1 */
    size_t width, height;        /* if one is 0, nothing is done */
    int value;                   /* converted to unsigned char, as by memset */

    void (*function)(void *user);
    void *user;
} duo_work;

/**
 * duo_graph_create - make a graph without nodes.
 *   graph   [out] not NULL. Set to NULL on failure.
 * Returns    DUO_OK, DUO_ERR_NULL, DUO_ERR_MEMORY.   Since 1.0
 */
DUO_API duo_status duo_graph_create(duo_graph **graph);

/**
 * duo_graph_destroy - wait for the graph's last launch, and end the graph.
 *   graph   NULL does nothing.
 * Returns    DUO_OK, DUO_ERR_GRAPH (not a live one), DUO_ERR_LOST and DUO_ERR_DEVICE (as in
 *            duo_destroy): the graph is ended all the same.
 * Since      1.0
 */
DUO_API duo_status duo_graph_destroy(duo_graph *graph);

/**
 * duo_graph_add - one more node.
 *
 *   work    not NULL; copied. Its arguments are checked when the graph is built.
 *   after   [in] `count` nodes of this graph, on which it depends; may be NULL if count is 0. A
 *           node that is named twice counts once.
 *   node    [out] the new node, for others to name; may be NULL.
 *
 * Returns    DUO_OK, or with the graph unchanged: DUO_ERR_GRAPH, DUO_ERR_BUILT (it is built),
 *            DUO_ERR_NULL, DUO_ERR_SIZE (work->size too small, count negative), DUO_ERR_UNSUPPORTED
 *            (fields of a later version are not 0), DUO_ERR_ENUM (no such kind), DUO_ERR_NODE (one
 *            of `after` is not of this graph), DUO_ERR_MEMORY.
 * Since      1.0
 */
DUO_API duo_status duo_graph_add(duo_graph *graph, const duo_work *work, const duo_node *after,
                                 int count, duo_node *node);

/**
 * duo_graph_alter - another work, or other dependencies, for a node of a graph that is not built.
 *
 *   work    as in duo_graph_add; NULL: unchanged.
 *   after   replaces all dependencies that it had; count -1: they stay. Dependencies may name any
 *           node: a cycle is found when the graph is built.
 *
 * Returns    as duo_graph_add; DUO_ERR_NODE also if `node` is not of this graph. NULL is no error
 *            for `work`.
 * Since      1.0
 */
DUO_API duo_status duo_graph_alter(duo_graph *graph, duo_node node, const duo_work *work,
                                   const duo_node *after, int count);

/**
 * duo_graph_node_at - the node of this number. Nodes are counted from 1, in the order in which they
 * were added or captured, as duo_graph_print and duo_graph_detail do.
 *   node   [out] not NULL.
 * Returns    DUO_OK, or with node untouched DUO_ERR_GRAPH, DUO_ERR_NULL, DUO_ERR_NODE (there are
 *            fewer).
 * Since      1.0
 */
DUO_API duo_status duo_graph_node_at(duo_graph *graph, int64_t number, duo_node *node);

/**
 * duo_graph_begin - from now on the calls made in this context are not carried out: they become
 * nodes of a new graph, until duo_graph_end returns it.
 *
 *   ctx   not NULL, and not capturing. Work that it was given before is no part of the graph.
 *
 *     duo_graph_begin(a);
 *     duo_sgemm(a, ...);
 *     duo_event_record(a, e);  duo_event_wait(b, e);     // b takes part, behind the product
 *     duo_ssum(a, ...);        duo_sasum(b, ...);        // side by side
 *     duo_event_record(b, f);  duo_event_wait(a, f);     // joined
 *     duo_graph_end(a, &g);
 *     duo_graph_build(g, a);
 *     for (...) duo_graph_launch(g, a);
 *
 * Nodes      Calls of duo_sgemm, duo_sasum, duo_ssum and duo_sdot, with the context's math at the
 *            time of the call, and of duo_copy. A call for many products (duo_sgemm_batched and its
 *            sisters) gives a node for each product. Arguments are checked as by the call, and a
 *            call with a bad one is no node. Where operands are is checked when the graph is built.
 *            A call that would touch nothing is no node. No result is there before a launch.
 * Order      Each node depends on the nodes of its context before it. duo_event_record notes that
 *            place, and duo_event_wait makes the context's next nodes depend on it, too. A context
 *            that does not take part yet does so from then on. The events have to be of the same
 *            capture, else duo_event_wait returns DUO_ERR_CAPTURE.
 * Refused    In every context that takes part these return DUO_ERR_CAPTURE: duo_graph_begin,
 *            duo_graph_build, duo_graph_launch, duo_synchronize, duo_set_device, duo_set_devices,
 *            duo_set_stream, and duo_set_async when it switches off. So do duo_event_synchronize
 *            and duo_event_query for events of the capture: their work is not done before a launch.
 *            The capture goes on.
 * At once    All other functions act at once: duo_warm_up, duo_trim, and those for memory, from
 *            duo_malloc to duo_prepare. Threads and device are those of the context with which the
 *            graph is built, and its path does not count: memory decides where nodes run (see
 *            "Sides" above).
 * Threads    contexts and events of a capture are used by one thread at a time. A thread's default
 *            context takes no part: the program's BLAS calls are made there (libduoblas-blas.so).
 *            duo_event_wait(NULL, ...) for an event of the capture returns DUO_ERR_CAPTURE.
 *
 * Returns    DUO_OK, DUO_ERR_NULL, DUO_ERR_CONTEXT, DUO_ERR_CAPTURE, DUO_ERR_MEMORY. While a graph
 *            is captured each call may return DUO_ERR_MEMORY, and is no node then.
 * Since      1.0
 */
DUO_API duo_status duo_graph_begin(duo_context *ctx);

/**
 * duo_graph_end - end the capture, and return its graph. It is not built: nodes can be added, and
 * altered (duo_graph_node_at).
 *
 *   ctx     the context of duo_graph_begin. From now on it, and all that take part, carry out their
 *           calls again.
 *   graph   [out] not NULL. Set to NULL on failure; else duo_graph_destroy ends it.
 *
 * Returns    DUO_OK; DUO_ERR_NULL, DUO_ERR_CONTEXT, DUO_ERR_CAPTURE if no capture began in ctx; or,
 *            with the capture ended and no graph, DUO_ERR_MEMORY, and DUO_ERR_CAPTURE if another
 *            context made a call that ctx does not follow by waiting for an event: duo_error_detail
 *            names the node.
 * Since      1.0
 */
DUO_API duo_status duo_graph_end(duo_context *ctx, duo_graph **graph);

/**
 * duo_graph_build - check the graph, and lay out how it runs. Afterwards it can be launched, and
 * only duo_graph_update changes it.
 *
 *   ctx   its threads and its device become the graph's. Nothing is queued in it.
 *
 * Operands have to be allocated, and need not be filled. Operands on a device are on the device of
 * ctx.
 *
 * Returns    DUO_OK, or with the graph not built: DUO_ERR_GRAPH, DUO_ERR_CONTEXT, DUO_ERR_BUILT,
 *            DUO_ERR_CAPTURE (ctx captures another), DUO_ERR_MEMORY, DUO_ERR_CYCLE,
 *            DUO_ERR_HIDDEN, or what a call with a node's arguments would return: DUO_ERR_ENUM,
 *            DUO_ERR_SIZE, DUO_ERR_LD, DUO_ERR_NULL, DUO_ERR_RANGE, DUO_ERR_FOREIGN, DUO_ERR_LOST.
 *            duo_graph_detail names the node.
 * Since      1.0
 */
DUO_API duo_status duo_graph_build(duo_graph *graph, duo_context *ctx);

/**
 * duo_graph_launch - do the graph's work.
 *
 *   ctx   any context. The graph follows the work that it was given before.
 *
 * Returns    DUO_OK, DUO_ERR_GRAPH, DUO_ERR_CONTEXT, DUO_ERR_BUILT (not built), DUO_ERR_CAPTURE
 *            (ctx captures another), or the status of a node's call, DUO_ERR_LOST, DUO_ERR_MEMORY,
 *            DUO_ERR_DEVICE: then the nodes that depend on it have not run, and duo_graph_detail
 *            names it. The graph may be launched again.
 * Since      1.0
 */
DUO_API duo_status duo_graph_launch(duo_graph *graph, duo_context *ctx);

/**
 * duo_graph_update - other arguments for a node of a built graph, from the next launch on: pointers
 * of the same side, scalars, value, function and user.
 *
 *   work   not NULL; kind, math, layout, transposes, sizes, increments, leading dimensions and
 *          pitches must be unchanged, and pinned memory stays pinned.
 *
 * Does not wait. Launches that are under way go on with the old arguments. If memory of duo_malloc
 * in host memory replaces memory on the device, or the other way, the next launch waits for the
 * last one and lays the graph out anew; it may then return DUO_ERR_MEMORY.
 *
 * Returns    DUO_OK, or with the node unchanged: DUO_ERR_GRAPH, DUO_ERR_BUILT (not built),
 *            DUO_ERR_NODE, DUO_ERR_NULL, DUO_ERR_SIZE and DUO_ERR_UNSUPPORTED (as duo_graph_add),
 *            DUO_ERR_SHAPE (another kind, shape or side), DUO_ERR_HIDDEN, DUO_ERR_RANGE,
 *            DUO_ERR_FOREIGN, DUO_ERR_LOST (as duo_graph_build).
 * Since      1.0
 */
DUO_API duo_status duo_graph_update(duo_graph *graph, duo_node node, const duo_work *work);

/**
 * duo_graph_print - the graph as text in the language of Graphviz (dot): nodes with what they do,
 * and arrows to those that depend on them.
 *
 *   text    [out] at most `size` characters, its ending 0 included; may be NULL if size is 0.
 *   length  [out] how many characters the whole text has, without the 0; may be NULL.
 *
 * Returns    DUO_OK (also where text has no room for all of it), DUO_ERR_GRAPH, DUO_ERR_NULL.
 * Since      1.0
 */
DUO_API duo_status duo_graph_print(duo_graph *graph, char *text, size_t size, size_t *length);

/**
 * duo_graph_detail - the node and the cause of this graph's last failure; never NULL, may be "",
 * and is "" for a graph that is not a live one. The text may change with the graph's next call.
 * Since      1.0
 */
DUO_API const char *duo_graph_detail(duo_graph *graph);

/* ---- Explanation ----------------------------------------------------------------------------- */

/* Most algorithms of an operation. */
#define DUO_CANDIDATES 32

/* An algorithm that might do a call. */
typedef struct duo_candidate {
    const char *algorithm; /* its name, a literal of the library */
    duo_side side;
    int accepts;              /* 0: it cannot do this call */
    int threads;              /* CPU threads it would use; 0 on the GPU */
    double predicted_seconds; /* transfers, launch and the result's way back included; infinite
                                 where it does not accept */
} duo_candidate;

/* What predicted seconds consist of. */
typedef struct duo_parts {
    double transfer_seconds; /* extra time because operands move: of a product that is sent while it
                                is multiplied, only the part that is not overlapped */
    double launch_seconds;   /* launch, and the result's way back; sharing work among threads */
    double compute_seconds;  /* the rest; infinite where the candidate does not accept */
} duo_parts;

/*
 * The caller fills `size` with sizeof(duo_decision) first; later versions may append fields, and
 * fill in as many as `size` has room for. Fields that the library does not know stay as they are.
 */
typedef struct duo_decision {
    size_t size;
    const char *operation;      /* "sgemm", "sasum", "ssum", "sdot"; NULL: no call yet */
    int64_t m, n, k;            /* reductions: only n */
    duo_residence residence[3]; /* a, b, c of sgemm; x, y, result of the reductions */
    duo_side side;              /* where it ran */
    const char *algorithm;      /* the one that ran; NULL for a quick return */
    int threads;
    double predicted_seconds;
    double seconds; /* measured, or negative: clocks run only with duo_set_log or DUOBLAS_VERBOSE */
    int candidates;
    duo_candidate candidate[DUO_CANDIDATES];
    char note[160]; /* what went differently: no GPU and why, a fall-back; else empty */

    int ran;                         /* the algorithm's index in candidate[]; -1: none ran */
    double profile_seconds;          /* the profile's prediction for it; differs from
                                        predicted_seconds where something was learned
                                        (duo_set_adapt) */
    int gpu;                         /* 1: the call could use an open GPU; 0: none was open, or the
                                        path is the CPU's; -1: none can be used */
    double gpu_seconds;              /* predicted on the GPU, for a call that ran on the CPU, on the
                                        path auto; on an H100 if no GPU can be used. Infinite: the
                                        CPU is faster. Negative for all other calls */
    double open_seconds;             /* time to open that GPU, once in a process */
    double checked_bytes;            /* read to see whether factors on the GPU are still the same
                                        (duo_set_remember) */
    double spared_seconds;           /* predicted: how much longer sending these would take */
    duo_parts parts[DUO_CANDIDATES]; /* of candidate[]'s predicted_seconds */
    char reason[320];                /* why this algorithm, in a sentence; empty: no call yet */

    int64_t count;                     /* products of a batch; 1: the call was no batch */
    const char *route[DUO_CANDIDATES]; /* how each candidate carries the call out, a literal of the
                                          library (docs/inside/dispatch.md#routes); "" if it
                                          does not accept */
} duo_decision;

/**
 * duo_explain_last - what the last operation of this context chose, and why.
 *
 *   decision   [in,out] not NULL; decision->size set by the caller. Its texts are literals of the
 *              library, or in the structure.
 *
 * Returns    DUO_OK, or with decision untouched: DUO_ERR_CONTEXT, DUO_ERR_NULL, DUO_ERR_SIZE
 *            (decision->size too small).
 * Since      1.0
 */
DUO_API duo_status duo_explain_last(duo_context *ctx, duo_decision *decision);

/* Chooses the candidate that is to run: see duo_set_decide. */
typedef int (*duo_decide)(void *user, const duo_decision *decision, int chosen);

/**
 * duo_set_decide - let the program decide which algorithm runs.
 *
 *   decide   called for each call of the context before it runs, with `user`; NULL, the default:
 *            the least predicted time decides.
 *              decision   the operation, sizes, residences and candidates, as duo_explain_last
 *                         tells them; side, algorithm, threads and predicted_seconds are those of
 *                         the candidate that was chosen. Nothing has run: seconds is negative, note
 *                         and reason are empty, parts are 0. Its size tells which fields the
 *                         library has. It is valid only until decide returns.
 *              chosen     the index of that candidate.
 *            It returns the index of the candidate to run, or -1 for the one that was chosen. Any
 *            other number, and a candidate that does not accept, count as -1. It may choose a
 *            candidate of the other side on any path.
 *   user     any pointer; it is only passed on.
 *
 * Calls      A call that has nothing to compute (m = 0, n <= 0) does not ask. Tiny calls do: while
 *            decide is set they are predicted as all others are, which takes about a microsecond. A
 *            call asks once, and so does a batch: its candidates are for all of its products
 *            (decision->count). If the candidate cannot go on, the cheapest others follow, and a
 *            call that is partly done does not ask about its rest.
 * Threads    decide is called on the thread of the call, and no lock is held. It must return, and
 *            must not use this context (or NULL, if this is the thread's default); it may make
 *            calls of other contexts.
 * Numerics   every candidate is right to the bounds of the context's math.
 * Returns    DUO_OK, DUO_ERR_CONTEXT.
 * Since      1.0
 */
DUO_API duo_status duo_set_decide(duo_context *ctx, duo_decide decide, void *user);

/**
 * duo_status_string - the text of a status: a literal, never NULL. For other numbers it is "unknown
 * status".
 * Since      1.0
 */
DUO_API const char *duo_status_string(duo_status status);

/**
 * duo_error_detail - more about this context's last failure or fall-back; never NULL, may be "",
 * and is "" for a context that is not a live one. The text may change with the context's next call.
 * Since      1.0
 */
DUO_API const char *duo_error_detail(duo_context *ctx);

/** duo_version - DUO_VERSION of the library that runs.   Since 1.0 */
DUO_API int duo_version(void);

#ifdef __cplusplus
}
#endif

#endif /* DUOBLAS_H */

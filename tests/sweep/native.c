/* native.c - scenarios of sweep.h through duoblas.h: all of its functions. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/sim.h"
#include "sweep.h"

#pragma weak sim_foreign_malloc
#pragma weak sim_foreign_free

/* ---- Data: small integers, so that all results are exact ---- */

enum { N = 5000, LONG = 600000, EDGE = 20, LARGE = 520 };

static float x[LONG], a[LARGE * LARGE], ones[LARGE * LARGE];
static float kept[N], spare[LARGE * LARGE];

static void fill(void)
{
    if (ones[0] == 1.0f) return;
    for (int i = 0; i < LONG; i++) x[i] = (float)(i % 7 - 3);
    for (int i = 0; i < LARGE * LARGE; i++) a[i] = (float)(i % 5), ones[i] = 1.0f;
    for (int i = 0; i < N; i++) kept[i] = x[i];
}

static float sum_of(int n)
{
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += x[i];
    return sum;
}

static float dot_of(int n)
{
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

static float asum_of(int n)
{
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += x[i] < 0 ? -x[i] : x[i];
    return sum;
}

/* A large product has few columns, as the simulated device is slow. */
static int columns(int n) { return n <= 100 ? n : 40; }

/* c := a ones + beta c, where the factor a is n x n. */
static duo_status multiply(duo_context *ctx, int n, const float *factor, float beta, float *c)
{
    return duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, n, columns(n), n, 1.0f, factor,
                     n, ones, n, beta, c, n);
}

/* Is each element of c the sum of its row of a, plus `more`? */
static bool is_product(const float *c, int n, float more)
{
    for (int i = 0; i < n; i++) {
        float sum = more;
        for (int p = 0; p < n; p++) sum += a[i + p * n];
        for (int j = 0; j < columns(n); j++)
            if (!(c[i + j * n] == sum)) return false;
    }
    return true;
}

static void product(duo_context *ctx, int n)
{
    float *const c = malloc(sizeof(float) * (size_t)(n * n)); /* the program's own never fails */
    if (c == NULL) abort();
    for (int i = 0; i < n * n; i++) c[i] = 1.0f;
    MUST(multiply(ctx, n, a, 2.0f, c));
    expect(is_product(c, n, 2.0f), "a product of %d", n);
    free(c);
}

static void sums(duo_context *ctx, int n)
{
    float sum = -1.0f, asum = -1.0f, dot = -1.0f;
    MUST(duo_ssum(ctx, n, x, 1, &sum));
    MUST(duo_sasum(ctx, n, x, 1, &asum));
    MUST(duo_sdot(ctx, n, x, 1, x, 1, &dot));
    expect(sum == sum_of(n) && asum == asum_of(n) && dot == dot_of(n), "sums of %d: %g %g %g", n,
           (double)sum, (double)asum, (double)dot);
}

static duo_context *context(void)
{
    duo_context *ctx = NULL;
    fill();
    if (!MAY(duo_create(&ctx))) expect(ctx == NULL, "a context that failed");
    return ctx; /* NULL: the default one does as well */
}

static void end(duo_context *ctx) { (void)MAY(duo_destroy(ctx)); }

/* ---- Operations ---- */

static void defaults(void)
{
    fill();
    sums(NULL, N);
    product(NULL, EDGE);
    MAY(duo_synchronize(NULL));
}

static void long_sums(void)
{
    duo_context *const ctx = context();
    sums(ctx, LONG);
    MUST(duo_set_math(ctx, DUO_MATH_FLOAT64));
    sums(ctx, LONG / 2);
    MUST(duo_set_math(ctx, DUO_MATH_ACCURATE));
    end(ctx);
}

static void products(void)
{
    duo_context *const ctx = context();
    product(ctx, 100);
    product(ctx, LARGE / 2);
    end(ctx);
}

static void large_product(void)
{
    duo_context *const ctx = context();
    product(ctx, LARGE);
    end(ctx);
}

static void maths(void)
{
    duo_context *const ctx = context();
    for (duo_math math = DUO_MATH_IEEE; math <= DUO_MATH_FLOAT64; math++) {
        MUST(duo_set_math(ctx, math));
        product(ctx, 130);
        sums(ctx, N);
    }
    MUST(duo_set_math(ctx, DUO_MATH_ACCURATE));
    end(ctx);
}

/* Batches of COUNT products, of EDGE^3. */
enum { COUNT = 30, SQUARE = EDGE * EDGE };

static void check_batch(const float *c)
{
    bool right = true;
    for (int i = 0; i < COUNT; i++) right = right && is_product(c + i * SQUARE, EDGE, 0.0f);
    expect(right, "a batch");
}

static void batches(void)
{
    static float c[COUNT * SQUARE];
    static const duo_transpose plainly[] = {DUO_NO_TRANS, DUO_NO_TRANS};
    static const int64_t edge[] = {EDGE, EDGE}, size[] = {COUNT / 3, COUNT - COUNT / 3};
    static const float one[] = {1.0f, 1.0f}, zero[] = {0.0f, 0.0f};
    const float *as[COUNT], *bs[COUNT];
    float *cs[COUNT];
    duo_context *const ctx = context();
    for (int i = 0; i < COUNT; i++) as[i] = a, bs[i] = ones, cs[i] = c + i * SQUARE;
    memset(c, 0, sizeof c);
    MUST(duo_sgemm_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE, 1.0f,
                           as, EDGE, bs, EDGE, 0.0f, cs, EDGE, COUNT));
    check_batch(c);
    memset(c, 0, sizeof c);
    MUST(duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE,
                                   1.0f, a, EDGE, 0, ones, EDGE, 0, 0.0f, c, EDGE, SQUARE, COUNT));
    check_batch(c);
    memset(c, 0, sizeof c);
    MUST(duo_sgemm_grouped(ctx, DUO_COL_MAJOR, 2, plainly, plainly, edge, edge, edge, one, as, edge,
                           bs, edge, zero, cs, edge, size));
    check_batch(c);
    end(ctx);
}

/* The lists are in memory of duo_malloc, as the operands are. */
static void batch_on_device(void)
{
    static float c[COUNT * SQUARE];
    const float *list[3][COUNT];
    void *memory[4] = {NULL};
    static const size_t bytes[] = {SQUARE * 4, SQUARE * 4, sizeof c, sizeof list};
    duo_context *const ctx = context();
    bool there = true;
    for (int i = 0; i < 4; i++) there = MAY(duo_malloc(ctx, bytes[i], &memory[i])) && there;
    for (int i = 0; i < COUNT && there; i++) {
        list[0][i] = memory[0], list[1][i] = memory[1];
        list[2][i] = (float *)memory[2] + i * SQUARE;
    }
    there = there && MAY(duo_copy(ctx, memory[0], a, bytes[0])) &&
            MAY(duo_copy(ctx, memory[1], ones, bytes[1])) &&
            MAY(duo_copy(ctx, memory[3], list, bytes[3]));
    const float *const *const lists = memory[3];
    if (there &&
        MAY(duo_sgemm_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE,
                              1.0f, lists, EDGE, lists + COUNT, EDGE, 0.0f,
                              (float *const *)(uintptr_t)(lists + 2 * COUNT), EDGE, COUNT)) &&
        MAY(duo_copy(ctx, c, memory[2], sizeof c)))
        check_batch(c);
    for (int i = 0; i < 4; i++) MUST(duo_free(ctx, memory[i]));
    end(ctx);
}

/* ---- Contexts ---- */

static char logged[200];

static void keep_line(void *user, const char *line)
{
    (void)user;
    strncpy(logged, line, sizeof logged - 1);
}

static int decide(void *user, const duo_decision *decision, int chosen)
{
    (void)user;
    return decision->candidates > 1 ? chosen : -1;
}

/* A BLAS of the program. */
static void sgemm_of_program(void) {}

static void settings(void)
{
    int threads = 0;
    duo_decision decision = {.size = sizeof decision};
    duo_context *const ctx = context();
    MUST(duo_set_threads(ctx, 3));
    MUST(duo_get_threads(ctx, &threads));
    MUST(duo_set_cpu_sgemm(ctx, sgemm_of_program));
    MUST(duo_set_cpu_sgemm(ctx, NULL));
    MUST(duo_set_adapt(ctx, 1));
    MUST(duo_set_decide(ctx, decide, NULL));
    MUST(duo_set_log(ctx, keep_line, NULL));
    MUST(duo_warm_up(ctx));
    product(ctx, 100);
    MUST(duo_explain_last(ctx, &decision));
    expect(decision.m == 100 && logged[0] != '\0', "what was explained and logged");
    expect(duo_error_detail(ctx) != NULL, "no detail");
    MUST(duo_trim(ctx));
    sums(ctx, N);
    MUST(duo_set_priority(ctx, DUO_PRIORITY_HIGH));
    product(ctx, EDGE);
    MAY(duo_synchronize(ctx));
    MUST(duo_set_priority(ctx, DUO_PRIORITY_NORMAL));
    MUST(duo_set_decide(ctx, NULL, NULL));
    MUST(duo_set_log(ctx, NULL, NULL));
    MUST(duo_set_adapt(ctx, 0));
    MUST(duo_set_threads(ctx, 0));
    end(ctx);
    expect(duo_version() == DUO_VERSION && duo_status_string(DUO_ERR_LOST) != NULL, "version");
}

static void opening(void)
{
    duo_context *const ctx = context();
    MUST(duo_set_path(ctx, DUO_PATH_AUTO));
    MUST(duo_set_open(ctx, DUO_OPEN_BACKGROUND));
    for (int i = 0; i < 4; i++) product(ctx, LARGE / 2);
    MUST(duo_set_open(ctx, DUO_OPEN_FIRST));
    product(ctx, LARGE / 2);
    end(ctx);
}

/* Results are checked; a check that fails is left out, and none finds anything. */
static void verifying(void)
{
    int64_t checked = 0, wrong = 0;
    duo_context *const ctx = context();
    MUST(duo_set_verify(ctx, 1.0, 5));
    product(ctx, EDGE);
    product(ctx, 100);
    sums(ctx, N);
    MAY(duo_synchronize(ctx));
    MUST(duo_get_verified(&checked, &wrong));
    expect(wrong == 0, "a right result is called wrong");
    end(ctx);
}

static void many_contexts(void)
{
    enum { MANY = 200 };
    duo_context *made[MANY] = {NULL};
    fill();
    for (int i = 0; i < MANY; i++) MAY(duo_create(&made[i]));
    for (int i = 0; i < MANY; i += 40) sums(made[i], 100);
    for (int i = 0; i < MANY; i++) end(made[i]);
}

static void devices(void)
{
    int count = -1;
    duo_device_info info = {.size = sizeof info};
    duo_context *const ctx = context();
    MUST(duo_device_count(&count));
    const duo_status described = duo_device_describe(0, &info);
    expect(described == DUO_OK || described == DUO_ERR_DEVICE, "describe: %d", (int)described);
    const duo_status set[] = {duo_set_device(ctx, 0), duo_set_devices(ctx, &(int){0}, 1),
                              duo_set_devices(ctx, NULL, 0), duo_set_stream(ctx, NULL)};
    for (int i = 0; i < 4; i++)
        expect(set[i] == DUO_OK || set[i] == DUO_ERR_DEVICE, "device: %d", (int)set[i]);
    product(ctx, 100);
    end(ctx);
}

static void asynchronous(void)
{
    enum { RESULTS = 70 };
    float result[RESULTS];
    duo_context *const ctx = context();
    for (int i = 0; i < RESULTS; i++) result[i] = -1.0f;
    MAY(duo_set_async(ctx, 1));
    for (int i = 0; i < RESULTS; i++) MUST(duo_ssum(ctx, N, x, 1, &result[i]));
    const bool there = MAY(duo_synchronize(ctx));
    for (int i = 0; i < RESULTS; i++)
        expect(result[i] == sum_of(N) || (!there && result[i] == -1.0f), "awaited result %d", i);
    while (!MAY(duo_set_async(ctx, 0)) && duo_synchronize(ctx) == DUO_ERR_DEVICE && !there) break;
    end(ctx);
}

/* ---- Memory ---- */

static void memory(void)
{
    float sum = -1.0f;
    void *on_device = NULL, *pinned = NULL, *far = NULL;
    duo_context *const ctx = context();
    if (!MAY(duo_malloc(ctx, sizeof kept, &on_device))) expect(on_device == NULL, "no memory");
    if (!MAY(duo_malloc_host(ctx, sizeof kept, &pinned))) expect(pinned == NULL, "no memory");
    if (!MAY(duo_malloc(ctx, sizeof(float), &far))) expect(far == NULL, "no memory");
    if (pinned != NULL) {
        memcpy(pinned, x, sizeof kept);
        MUST(duo_ssum(ctx, N, pinned, 1, &sum));
        expect(sum == sum_of(N), "a sum of pinned memory");
    }
    sum = -1.0f;
    if (on_device != NULL && pinned != NULL && far != NULL &&
        MAY(duo_copy(ctx, on_device, pinned, sizeof kept)) &&
        MAY(duo_sdot(ctx, N, on_device, 1, pinned, 1, far)) &&
        MAY(duo_copy(ctx, &sum, far, sizeof sum)))
        expect(sum == dot_of(N), "a dot product on the device");
    sum = -1.0f;
    if (on_device != NULL && MAY(duo_copy(ctx, on_device, x, sizeof kept))) {
        if (MAY(duo_sasum(ctx, N, on_device, 1, &sum)))
            expect(sum == asum_of(N), "a sum on the device");
        else
            expect(sum == -1.0f, "a result without success");
    }
    MUST(duo_free(ctx, on_device));
    MUST(duo_free(ctx, far));
    MUST(duo_free_host(ctx, pinned));
    end(ctx);
}

static void foreign(void)
{
    float sum = -1.0f;
    duo_context *const ctx = context();
    void *const memory = on_sim() ? sim_foreign_malloc(0, sizeof kept) : spare;
    const duo_status status = memory != NULL ? duo_adopt(ctx, memory, sizeof kept) : DUO_ERR_DEVICE;
    if (status != DUO_ERR_DEVICE) may(status, "duo_adopt("); /* perhaps there is no GPU */
    if (status == DUO_OK) {
        if (MAY(duo_copy(ctx, memory, x, sizeof kept)) && MAY(duo_ssum(ctx, N, memory, 1, &sum)))
            expect(sum == sum_of(N), "a sum of adopted memory");
        MUST(duo_disown(ctx, memory));
    } else {
        expect(duo_disown(ctx, spare) == DUO_ERR_RANGE, "disowned what was not adopted");
    }
    if (on_sim() && memory != NULL) sim_foreign_free(memory);
    end(ctx);
}

/* ---- Kept arrays ---- */

static void keeping(void)
{
    static float c[100 * 100];
    float sum = -1.0f;
    duo_context *const ctx = context();
    const bool is_kept = MAY(duo_keep(ctx, kept, sizeof kept));
    const bool out_kept = MAY(duo_keep(ctx, c, sizeof c));
    memset(c, 0, sizeof c);
    bool fresh = MAY(duo_changed(ctx, c, sizeof c));
    MUST(duo_ssum(ctx, N, kept, 1, &sum));
    expect(sum == sum_of(N), "a sum of a kept array");
    kept[0] += 1.0f;
    if (MAY(duo_changed(ctx, kept, sizeof kept))) {
        MUST(duo_ssum(ctx, N, kept, 1, &sum));
        expect(sum == sum_of(N) + 1.0f, "a sum of a changed array");
    }
    kept[0] -= 1.0f;
    const duo_status first = multiply(ctx, 100, a, 0.0f, c),
                     second = multiply(ctx, 100, a, 0.0f, c);
    may(first, "duo_sgemm(");
    fresh = may(second, "duo_sgemm(") && fresh;
    if (MAY(duo_fetch(ctx, c, sizeof c)) && fresh) expect(is_product(c, 100, 0.0f), "a kept C");
    if (is_kept) MAY(duo_release(ctx, kept));
    if (out_kept) MAY(duo_release(ctx, c));
    end(ctx);
}

static void preparing(void)
{
    enum { EDGE_OF_PACKED = 130, BYTES = EDGE_OF_PACKED * EDGE_OF_PACKED * sizeof(float) };
    static float c[EDGE_OF_PACKED * EDGE_OF_PACKED];
    duo_context *const ctx = context();
    const bool is_kept = MAY(duo_keep(ctx, a, BYTES));
    if (is_kept) MUST(duo_prepare(ctx, a, BYTES));
    for (int i = 0; i < 3; i++) {
        MUST(multiply(ctx, EDGE_OF_PACKED, a, 0.0f, c));
        expect(is_product(c, EDGE_OF_PACKED, 0.0f), "a product of a prepared factor");
    }
    if (is_kept) MUST(duo_prepare(ctx, a, 0));
    if (is_kept) MAY(duo_release(ctx, a));
    end(ctx);
}

static void remembering(void)
{
    duo_context *const ctx = context();
    for (duo_remember how = DUO_REMEMBER_PAGES; (int)how >= DUO_REMEMBER_NONE; how--) {
        MUST(duo_set_remember(ctx, how));
        for (int i = 0; i < 3; i++) product(ctx, LARGE);
    }
    MUST(duo_trim(ctx));
    end(ctx);
}

/* ---- Events ---- */

static void events(void)
{
    int done = -1;
    float sum = -1.0f;
    duo_event *event = NULL;
    duo_context *const ctx = context(), *const other = context();
    if (MAY(duo_event_create(&event))) {
        MUST(duo_ssum(ctx, N, x, 1, &sum));
        MUST(duo_event_record(ctx, event));
        MAY(duo_event_wait(other, event));
        sums(other, N);
        MAY(duo_event_query(event, &done));
        MAY(duo_event_synchronize(event));
        expect(sum == sum_of(N), "a sum before an event");
        MUST(duo_event_destroy(event));
    } else {
        expect(event == NULL, "an event that failed");
    }
    end(other);
    end(ctx);
}

/* ---- Graphs ---- */

static int calls;
static void call_back(void *user)
{
    (void)user;
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

static void graphs(void)
{
    static float on_host[2], c[SQUARE];
    static char text[4000];
    size_t length = 0;
    void *memory = NULL;
    duo_graph *graph = NULL;
    duo_node node[5] = {0}, first = 0;
    duo_context *const ctx = context();
    duo_work work[] = {{.size = sizeof(duo_work),
                        .kind = DUO_WORK_SSUM,
                        .n = N,
                        .x = x,
                        .incx = 1,
                        .result = &on_host[0]},
                       {.size = sizeof(duo_work),
                        .kind = DUO_WORK_SGEMM,
                        .layout = DUO_COL_MAJOR,
                        .transa = DUO_NO_TRANS,
                        .transb = DUO_NO_TRANS,
                        .m = EDGE,
                        .n = EDGE,
                        .k = EDGE,
                        .alpha = 1.0f,
                        .a = a,
                        .lda = EDGE,
                        .b = ones,
                        .ldb = EDGE,
                        .c = c,
                        .ldc = EDGE},
                       {.size = sizeof(duo_work), .kind = DUO_WORK_HOST, .function = call_back},
                       {.size = sizeof(duo_work),
                        .kind = DUO_WORK_COPY,
                        .src = x,
                        .width = sizeof kept,
                        .height = 1},
                       {.size = sizeof(duo_work), .kind = DUO_WORK_SASUM, .n = N, .incx = 1}};
    calls = 0;
    bool good = MAY(duo_malloc(ctx, sizeof kept + sizeof(float), &memory));
    if (good) {
        work[3].dst = memory;
        work[4].x = memory;
        work[4].result = (float *)memory + N;
    }
    good = MAY(duo_graph_create(&graph)) && good;
    for (int i = 0; i < 5 && good; i++)
        good = MAY(duo_graph_add(graph, &work[i], &node[i / 2], i % 3 == 2 || i == 4, &node[i]));
    good = good && MAY(duo_graph_alter(graph, node[4], NULL, &node[3], 1));
    if (good) MUST(duo_graph_node_at(graph, 1, &first));
    good = good && MAY(duo_graph_build(graph, ctx));
    if (good) MUST(duo_graph_print(graph, text, sizeof text, &length));
    for (int i = 0; i < 3 && good; i++) {
        float sum = -1.0f;
        memset(c, 0, sizeof c);
        if (i == 1) {
            work[0].result = &on_host[1];
            if (!MAY(duo_graph_update(graph, first, &work[0]))) continue;
        }
        if (!MAY(duo_graph_launch(graph, ctx))) continue;
        expect(on_host[i > 0] == sum_of(N) && is_product(c, EDGE, 0.0f), "a graph's results");
        if (MAY(duo_copy(ctx, &sum, (float *)memory + N, sizeof sum)))
            expect(sum == asum_of(N), "a graph's result on the device");
    }
    if (graph != NULL) {
        expect(duo_graph_detail(graph) != NULL, "no detail");
        MAY(duo_graph_destroy(graph));
    }
    MUST(duo_free(ctx, memory));
    end(ctx);
}

static void capture(void)
{
    static float result[2];
    duo_event *event = NULL;
    duo_graph *graph = NULL;
    duo_context *const ctx = context(), *const other = context();
    MAY(duo_event_create(&event));
    bool good = ctx != NULL && other != NULL && event != NULL;
    if (good && MAY(duo_graph_begin(ctx))) {
        good = MAY(duo_ssum(ctx, N, x, 1, &result[0])) && MAY(duo_event_record(ctx, event)) &&
               MAY(duo_event_wait(other, event)) && MAY(duo_sasum(other, N, x, 1, &result[1])) &&
               MAY(duo_event_record(other, event)) && MAY(duo_event_wait(ctx, event));
        const duo_status status = duo_graph_end(ctx, &graph);
        if (good)
            good = may(status, "duo_graph_end(");
        else
            expect(status == DUO_OK || status == DUO_ERR_CAPTURE || status == DUO_ERR_MEMORY,
                   "the end of a capture that failed: %d", (int)status);
        if (good && MAY(duo_graph_build(graph, ctx)) && MAY(duo_graph_launch(graph, ctx)))
            expect(result[0] == sum_of(N) && result[1] == asum_of(N), "a captured graph");
        MAY(duo_graph_destroy(graph));
    }
    MUST(duo_event_destroy(event));
    end(other);
    end(ctx);
}

/* ---- Threads and processes ---- */

static void *one_thread(void *unused)
{
    sums(NULL, N);
    product(NULL, 100);
    return unused;
}

static void threads(void)
{
    pthread_t thread[3];
    int made = 0;
    fill();
    while (made < 3 && pthread_create(&thread[made], NULL, one_thread, NULL) == 0) made++;
    expect(made == 3, "%d threads", made);
    for (int i = 0; i < made; i++) pthread_join(thread[i], NULL);
}

/* It has work done on another stack. */
static void small_stack(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    fill();
    expect(pthread_attr_init(&attributes) == 0 &&
               pthread_attr_setstacksize(&attributes, 32768) == 0 &&
               pthread_create(&thread, &attributes, one_thread, NULL) == 0 &&
               pthread_join(thread, NULL) == 0,
           "no thread");
    (void)pthread_attr_destroy(&attributes);
}

static void child(void)
{
    int status = 0;
    fill();
    product(NULL, 100);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(10);
        defaults();
        product(NULL, 100);
        _exit(!all_is_right());
    }
    expect(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "a child: status %x",
           (unsigned)status);
    product(NULL, 100);
}

const scenario scenarios[] = {
    {"defaults", defaults, NULL},
    {"long_sums", long_sums, NULL},
    {"products", products, NULL},
    {"large_product", large_product, NULL},
    {"maths", maths, NULL},
    {"batches", batches, NULL},
    {"batch_on_device", batch_on_device, NULL},
    {"settings", settings, NULL},
    {"verifying", verifying, NULL},
    {"verifying_batches", batches, "DUOBLAS_VERIFY=1"},
    {"verifying_on_device", batch_on_device, "DUOBLAS_VERIFY=1"},
    {"opening", opening, NULL},
    {"many_contexts", many_contexts, NULL},
    {"devices", devices, NULL},
    {"asynchronous", asynchronous, NULL},
    {"memory", memory, NULL},
    {"foreign", foreign, NULL},
    {"keeping", keeping, NULL},
    {"checked", keeping, "DUOBLAS_CHECK=1"},
    {"preparing", preparing, NULL},
    {"remembering", remembering, NULL},
    {"events", events, NULL},
    {"graphs", graphs, NULL},
    {"capture", capture, NULL},
    {"threads", threads, NULL},
    {"small_stack", small_stack, NULL},
    {"child", child, NULL},
#ifdef SWEEP_OPENBLAS
    {"inner_blas", products, "DUOBLAS_CPU_BLAS=" SWEEP_OPENBLAS},
    {"inner_blas_maths", maths, "DUOBLAS_CPU_BLAS=" SWEEP_OPENBLAS},
#endif
    {NULL, NULL, NULL},
};

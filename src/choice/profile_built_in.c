/* profile_built_in.c - see profile_built_in.h */
#include "choice/profile_built_in.h"

#include <stdio.h>
#include <string.h>

#include "choice/profile_file.h"
#include "choice/profile_parse.h"
#include "choice/profile_parts.h"
#include "cpu/blas_kernels.h"
#include "cpu/blas_library.h"
#include "host/lock.h"
#include "host/machine.h"

/* src/choice/profiles/, turned into strings by the build. */
extern const char duo_profile_text_h100[];
extern const char duo_profile_text_h200[];
extern const char duo_profile_text_generic[];

static duo_profile h100, h200, generic;
/* The generic profile, slowed down to the kernels of the inner BLAS: presumed ones, real ones. */
static duo_profile unmeasured[2];
static duo_width slowed_for[2];
static int made; /* how many of the two */
static bool ready;

static void prepare(void)
{
    if (ready) return;
    char problem[200];
    (void)duo_profile_parse(duo_profile_text_h100, &h100, problem, sizeof problem);
    (void)duo_profile_parse(duo_profile_text_h200, &h200, problem, sizeof problem);
    (void)duo_profile_parse(duo_profile_text_generic, &generic, problem, sizeof problem);
    snprintf(h100.origin, sizeof h100.origin, "built-in h100");
    snprintf(h200.origin, sizeof h200.origin, "built-in h200");
    snprintf(generic.origin, sizeof generic.origin, "built-in generic");
    duo_profile_borrow_curves(&h100, &h200, DUO_SIDE_GPU);
    duo_profile_borrow_gpu(&generic, &h100);
    ready = true;
}

const duo_profile *duo_profile_built_in(const char *name)
{
    duo_lock(DUO_LOCK_PROFILE);
    prepare();
    duo_unlock(DUO_LOCK_PROFILE);
    if (strcmp(name, "h100") == 0) return &h100;
    if (strcmp(name, "h200") == 0) return &h200;
    return strcmp(name, "generic") == 0 ? &generic : NULL;
}

const duo_profile *duo_built_in_of_gpu(const char *gpu)
{
    return strcmp(gpu, h200.gpu) == 0 ? &h200 : &h100;
}

/* ---- Of this host ---- */

/* Was the CPU part measured on a host that is like this one in all respects? */
static bool same_host(const duo_profile *p, char *problem, size_t size)
{
    if (!duo_profile_of_this_cpu(p, problem, size)) return false;
    const bool same_blas = duo_blas_library_is(p->blas);
    const int threads = duo_machine_threads();
    if (!same_blas)
        snprintf(problem, size, "measured with %.80s, not %s", p->blas, duo_blas_library_name());
    else if (p->threads != threads)
        snprintf(problem, size, "measured with %d threads, not %d", p->threads, threads);
    return same_blas && p->threads == threads;
}

/* The width of the inner BLAS's kernels. Before it is opened this CPU's width is presumed. */
static duo_width width_of_blas(void)
{
    const duo_blas_library *const library = duo_blas_library_seen();
    if (!duo_blas_library_looked()) return duo_width_of_cpu();
    return library != NULL ? duo_width_of_kernels(library->core) : DUO_WIDTH_UNKNOWN;
}

/*
 * The generic profile was measured with AVX-512 kernels on a Zen 4. Narrower kernels take `times`
 * as long: measured there in products of 256^3 to 1000^3.
 */
static const duo_profile *for_unmeasured(void)
{
    static const double times[] = {[DUO_WIDTH_UNKNOWN] = 1.0,
                                   [DUO_SSE] = 5.0,
                                   [DUO_AVX] = 1.75,
                                   [DUO_AVX2] = 1.35,
                                   [DUO_AVX512] = 1.0};
    const duo_width width = width_of_blas();
    for (int i = 0; i < made; i++)
        if (slowed_for[i] == width) return &unmeasured[i];
    const int new = made < 2 ? made++ : 1;
    duo_curve *const curve = &unmeasured[new].curve[DUO_sgemm_cpu_openblas];
    unmeasured[new] = generic;
    slowed_for[new] = width;
    for (int i = 0; i < curve->count; i++) curve->seconds[i] *= times[width];
    return &unmeasured[new];
}

const duo_profile *duo_built_in_of_host(char *why_not, size_t size)
{
    char problem[200];
    prepare();
    why_not[0] = '\0';
    if (same_host(&h200, problem, sizeof problem)) return &h200;
    if (same_host(&h100, why_not, size)) return &h100;
    return for_unmeasured();
}

bool duo_built_in_serves_hosts(const duo_profile *profile)
{
    return profile == &h100 || profile == &h200 || profile == &unmeasured[0] ||
           profile == &unmeasured[1];
}

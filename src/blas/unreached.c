/*
 * unreached.c - why no call of this process reached the drop-in, or hardly any.
 *
 * Looks at all loaded objects (object.h). A call can come here only if its object asks the loader
 * for the name. It cannot if the function is linked into its caller, or looked up by dlsym in a
 * certain library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "blas/object.h"

enum { OBJECTS = 2048, FINDINGS = 8 };

typedef duo_blas_object object;

typedef struct report {
    duo_blas_ours ours;
    char *path[OBJECTS];
    int paths;
    object found[FINDINGS]; /* objects that have an sgemm and ask for none, or asked in vain */
    int count;
    bool bound; /* did one ask in vain? */
    /* The first object that asks for an sgemm and may get ours; that asks for one in float64; that
     * calls us. */
    object asks, double_, direct;
} report;

/* Notes only the objects' names: the loader is locked meanwhile. */
static int list(struct dl_phdr_info *info, size_t size, void *user)
{
    report *const r = user;
    (void)size;
    const void *const base = (const void *)info->dlpi_addr;
    if (base != r->ours.where && r->paths < OBJECTS) r->path[r->paths++] = strdup(info->dlpi_name);
    return 0;
}

static void sort_out(report *r, const char *path)
{
    object o;
    if (!duo_blas_object_look(&o, &r->ours, path)) return;
    r->bound |= *o.bound != '\0';
    if (*o.double_ != '\0' && *r->double_.double_ == '\0') r->double_ = o;
    if (*o.direct != '\0' && *r->direct.direct == '\0') r->direct = o;
    if (*o.asks != '\0' && *o.bound == '\0') {
        if (*r->asks.asks == '\0') r->asks = o;
    } else if ((*o.bound != '\0' || *o.has != '\0' || *o.keeps != '\0' || *o.other != '\0' ||
                o.mkl) &&
               r->count < FINDINGS)
        r->found[r->count++] = o;
}

/* Tells why this object's calls do not come here; nothing if the callers of its functions are
 * known. */
static bool tell(FILE *to, const report *r, const object *o)
{
    if (o->mkl)
        fprintf(to, "  %s has MKL, which calls its own sgemm\n", o->title);
    else if (*o->bound != '\0')
        fprintf(
            to,
            "  %s got %s of %s from the loader: it was opened with RTLD_DEEPBIND, or asks for a "
            "version of the name\n",
            o->title, o->bound, o->to);
    else if (*o->has != '\0' && !o->program) {
        if (*r->asks.asks != '\0' || *r->double_.double_ != '\0' || *r->direct.direct != '\0' ||
            r->bound)
            return false;
        fprintf(to,
                "  %s has %s, for which no loaded object asks: it is called inside, or found by "
                "dlsym, or not called\n",
                o->title, o->has);
    } else if (*o->other != '\0')
        fprintf(to, "  %s has %s, a name that is not served\n", o->title, o->other);
    else
        fprintf(to, "  %s has %s linked into it, which no other library can replace\n", o->title,
                *o->has != '\0' ? o->has : o->keeps);
    return true;
}

/* Tells which calls would come, or would come in float32. True: something was told. */
static bool tell_asked(FILE *to, const report *r, bool some)
{
    const object *const single = &r->asks, *const wide = &r->double_, *const direct = &r->direct;
    if (*single->asks != '\0' && !some)
        fprintf(to, "  %s would call %s here, and did not: only float32 is served\n", single->title,
                single->asks);
    if (*wide->double_ != '\0')
        fprintf(to, "  %s asks for %s, which is float64 and is not served\n", wide->title,
                wide->double_);
    if (*direct->direct != '\0')
        fprintf(to, "  %s calls DuoBLAS itself (%s), which is not counted here\n", direct->title,
                direct->direct);
    return *single->asks != '\0' || *wide->double_ != '\0' || *direct->direct != '\0';
}

void duo_blas_tell_forks(FILE *to, int forks)
{
    if (forks == 0) return;
    fprintf(to,
            "  it forked %d time%s: children that ended by _exit, as multiprocessing's do, are not "
            "counted\n",
            forks, forks == 1 ? "" : "s");
}

bool duo_blas_tell_unreached(FILE *to, bool some, int forks)
{
    Dl_info self;
    bool hindered = false;
    report *const r = calloc(1, sizeof *r);
    if (r == NULL || dladdr((const void *)(uintptr_t)&duo_blas_tell_unreached, &self) == 0)
        goto end;
    r->ours.where = self.dli_fbase;
    r->ours.handle = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (r->ours.handle == NULL) goto end;
    (void)dl_iterate_phdr(list, r);
    for (int i = 0; i < r->paths; i++) {
        if (r->path[i] != NULL) sort_out(r, r->path[i]);
        free(r->path[i]);
    }
    (void)dlclose(r->ours.handle);
    for (int i = 0; i < r->count; i++) hindered |= tell(to, r, &r->found[i]);
    if (duo_blas_hands_on())
        fprintf(to, "  its BLAS has 64-bit integers under the plain names: it serves itself\n");
    else if (tell_asked(to, r, some))
        duo_blas_tell_forks(to, forks);
    else if (!hindered && !some)
        fprintf(to, "  it has loaded no BLAS\n");
end:
    free(r);
    return hindered;
}

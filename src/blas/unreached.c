/*
 * unreached.c - why no call of this process reached the drop-in, or hardly any.
 *
 * Looks at all loaded objects. A call can come here only if its object asks the loader
 * for the name. It cannot if the function is linked into its caller, or looked up by dlsym in a
 * certain library.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blas/blas.h"
#include "blas/loaded.h"
#include "host/elf.h"

/* ---- How a loaded object uses BLAS ---- */

enum { TEXT = 64 };

/* A name for each finding; "": not found. */
typedef struct object {
    char title[TEXT];
    bool program;       /* the program itself, not a library */
    char asks[TEXT];    /* served by the drop-in, and not defined here */
    char double_[TEXT]; /* the same in float64, not served */
    char direct[TEXT];  /* an operation of duoblas.h that it calls */
    char bound[TEXT];   /* asked for, and bound by the loader to a library ... */
    char to[TEXT];      /* ... of this name */
    bool late;          /* ... that is searched before the drop-in */
    char has[TEXT];     /* served, defined here, and others see it */
    char keeps[TEXT];   /* served, defined here, hidden from others */
    char other[TEXT];   /* an sgemm that is not served */
    bool mkl, duoblas;
} object;

static void keep(char to[TEXT], const char *name)
{
    if (*to == '\0') snprintf(to, TEXT, "%s", name);
}

static bool is_ours(const char *name) { return duo_blas_own(name) != NULL; }

/* Is it an sgemm, with any prefix, and with or without a mark of its integers behind? */
static bool is_sgemm(const char *name)
{
    const char *const operation = strstr(name, "sgemm");
    if (operation == NULL || (operation > name && operation[-1] != '_')) return false;
    for (const char *c = name; c < operation; c++)
        if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '_') return false;
    return operation[5 + strspn(operation + 5, "_64")] == '\0';
}

/* Is it a product in float64? Its name in float32 would be served. */
static bool is_double(const char *name)
{
    char single[TEXT];
    const char *const operation = strstr(name, "dgemm");
    if (operation == NULL || strlen(name) >= sizeof single) return false;
    snprintf(single, sizeof single, "%s", name);
    single[operation - name] = 's';
    return is_ours(single);
}

static void see(object *o, const char *name, bool defined, bool dynamic)
{
    if (!defined && is_double(name)) keep(o->double_, name);
    if (defined && dynamic && strcmp(name, "duo_version") == 0) o->duoblas = true;
    if (!duo_blas_is_operation(name)) return;
    if ((!defined || o->program) && strncmp(name, "duo_", 4) == 0) keep(o->direct, name);
    if (defined && strcmp(name, "mkl_blas_sgemm") == 0) o->mkl = true;
    if (is_ours(name))
        keep(!defined ? o->asks : dynamic ? o->has : o->keeps, name);
    else if (defined && dynamic && is_sgemm(name))
        keep(o->other, name);
}

/* ---- Its file ---- */

static void read_table(object *o, const duo_elf *f, const ElfW(Shdr) * table,
                       const ElfW(Shdr) * strings)
{
    const ElfW(Sym) *const symbol = duo_elf_part(f, table->sh_offset, table->sh_size);
    if (symbol == NULL || strings->sh_offset > f->size || strings->sh_size == 0 ||
        strings->sh_size > f->size - strings->sh_offset)
        return;
    const char *const names = f->bytes + strings->sh_offset;
    if (names[strings->sh_size - 1] != '\0') return;
    for (uint64_t i = 0; i < table->sh_size / sizeof *symbol; i++)
        if (symbol[i].st_name < strings->sh_size)
            see(o, names + symbol[i].st_name, symbol[i].st_shndx != SHN_UNDEF,
                table->sh_type == SHT_DYNSYM);
}

static void read_tables(object *o, const duo_elf *f)
{
    int count = 0;
    const ElfW(Shdr) *const section = duo_elf_sections(f, &count);
    for (int i = 0; section != NULL && i < count; i++)
        if ((section[i].sh_type == SHT_SYMTAB || section[i].sh_type == SHT_DYNSYM) &&
            section[i].sh_link < (unsigned)count)
            read_table(o, f, &section[i], &section[section[i].sh_link]);
}

static void look_into(object *o, const char *path)
{
    duo_elf f;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    if (duo_elf_map(&f, descriptor, false)) {
        read_tables(o, &f);
        duo_elf_unmap(&f);
    }
    close(descriptor);
}

/* ---- Addresses from the loader ---- */

/* Does a search of all libraries find ours last, or not at all? */
static bool comes_late(const char *name)
{
    Dl_info first;
    return dladdr(dlsym(RTLD_DEFAULT, name), &first) == 0 || first.dli_fbase != duo_blas_where();
}

/* Notes a served name that is bound to another library. */
static void see_bound(object *o, const duo_blas_asked *asked)
{
    Dl_info given, asking;
    if (!is_ours(asked->name)) return;
    /* Until the first call an entry may lead back into the object. */
    if (dladdr(asked->given, &given) == 0 || given.dli_fbase == duo_blas_where() ||
        dladdr((const void *)asked->place, &asking) == 0 || given.dli_fbase == asking.dli_fbase)
        return;
    if (*o->bound == '\0') o->late = comes_late(asked->name);
    const char *const slash = strrchr(given.dli_fname, '/');
    keep(o->to, slash != NULL ? slash + 1 : given.dli_fname);
    keep(o->bound, asked->name);
}

static void look_at_bound(object *o, const duo_blas_object *at)
{
    enum { MOST = 128 };
    duo_blas_asked *const list = malloc(MOST * sizeof *list);
    const int count = list != NULL ? duo_blas_asks(at, list, MOST) : 0;
    for (int i = 0; i < count; i++) see_bound(o, &list[i]);
    free(list);
}

/* ---- The whole object ---- */

/* Looks at a loaded object. False: it is DuoBLAS, or was opened by it. */
static bool look_at(object *o, const duo_blas_object *at)
{
    const char *const path = at->path;
    const char *const slash = strrchr(path, '/');
    *o = (object){.program = *path == '\0'};
    keep(o->title, o->program ? program_invocation_short_name : slash != NULL ? slash + 1 : path);
    if (duo_blas_is_private(path)) return false;
    look_into(o, o->program ? "/proc/self/exe" : path);
    if (*o->asks != '\0') look_at_bound(o, at);
    o->mkl |= strncmp(o->title, "libmkl_", 7) == 0;
    return !o->duoblas;
}

/* ---- The whole process ---- */

enum { FINDINGS = 8 };

typedef struct report {
    object found[FINDINGS]; /* objects that have an sgemm and ask for none, or asked in vain */
    int count;
    bool bound; /* did one ask in vain? */
    /* The first object that asks for an sgemm and may get ours; that asks for one in float64; that
     * calls us. */
    object asks, double_, direct;
} report;

static void sort_out(report *r, const duo_blas_object *at)
{
    object o;
    if (!look_at(&o, at)) return;
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
        fprintf(to, "  %s got %s of %s from the loader: %s\n", o->title, o->bound, o->to,
                duo_blas_comes_at_run_time() ? "duo_blas_install has not been called since"
                : o->late                    ? "that library stands before the drop-in"
                                             : "it was opened with RTLD_DEEPBIND");
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
    bool hindered = false;
    report *const r = calloc(1, sizeof *r);
    if (r == NULL) return false;
    duo_blas_objects objects = duo_blas_loaded();
    for (int i = 0; i < objects.count; i++) sort_out(r, &objects.object[i]);
    duo_blas_free_objects(&objects);
    for (int i = 0; i < r->count; i++) hindered |= tell(to, r, &r->found[i]);
    if (duo_blas_hands_on())
        fprintf(to, "  its BLAS has 64-bit integers under the plain names: it serves itself\n");
    else if (tell_asked(to, r, some))
        duo_blas_tell_forks(to, forks);
    else if (!hindered && !some)
        fprintf(to, "  it has loaded no BLAS\n");
    free(r);
    return hindered;
}

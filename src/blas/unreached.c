/*
 * unreached.c - why no call of this process reached the drop-in.
 *
 * The symbol tables in the files of all loaded objects tell which of them have an sgemm, by which
 * name, and which ask the loader for one. Only a name that is asked for can come here: not one that
 * is linked into its caller, nor one that is looked up by dlsym in a certain library.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blas/blas.h"

enum { OBJECTS = 2048, FINDINGS = 8, TEXT = 64 };

/* What was seen in one object: a name for each, "": none. */
typedef struct object {
    char title[TEXT];
    bool program;     /* the program itself, not a library */
    char asks[TEXT];  /* served by the drop-in, and not defined here */
    char has[TEXT];   /* served, defined here, and others see it */
    char keeps[TEXT]; /* served, defined here, and nobody else sees it */
    char other[TEXT]; /* an sgemm that is not served */
    bool mkl;
} object;

typedef struct report {
    void *ours;    /* handle of the drop-in */
    void *where;   /* it is loaded there */
    void *library; /* and libduoblas.so there */
    char *path[OBJECTS];
    int paths;
    object found[FINDINGS]; /* those that have an sgemm and ask for none */
    int count;
    object asks; /* the first one that does ask */
} report;

static void keep(char to[TEXT], const char *name)
{
    if (*to == '\0') snprintf(to, TEXT, "%s", name);
}

static bool is_ours(const report *r, const char *name)
{
    Dl_info info;
    void *const address = dlsym(r->ours, name);
    return address != NULL && dladdr(address, &info) != 0 && info.dli_fbase == r->where;
}

/* Is it one of our operations, with anything before and after its name? C++ names begin with _Z. */
static bool is_operation(const char *name)
{
    return !(name[0] == '_' && name[1] == 'Z') &&
           (strstr(name, "sgemm") != NULL || strstr(name, "sdot") != NULL ||
            strstr(name, "sasum") != NULL || strstr(name, "ssum") != NULL);
}

/* Is it an sgemm, whatever it has before the name, and of what marks its integers behind? */
static bool is_sgemm(const char *name)
{
    const char *const operation = strstr(name, "sgemm");
    if (operation == NULL || (operation > name && operation[-1] != '_')) return false;
    for (const char *c = name; c < operation; c++)
        if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '_') return false;
    return operation[5 + strspn(operation + 5, "_64")] == '\0';
}

static void see(const report *r, object *o, const char *name, bool defined, bool dynamic)
{
    if (!is_operation(name)) return;
    if (defined && strcmp(name, "mkl_blas_sgemm") == 0) o->mkl = true;
    if (is_ours(r, name))
        keep(!defined ? o->asks : dynamic ? o->has : o->keeps, name);
    else if (defined && dynamic && is_sgemm(name))
        keep(o->other, name);
}

/* ---- ELF ---- */

typedef struct file {
    const char *bytes;
    uint64_t size;
} file;

/* Part of the file; NULL: it has no such part. */
static const void *part(const file *f, uint64_t offset, uint64_t size)
{
    const bool there = offset <= f->size && size <= f->size - offset;
    return there && offset % sizeof(uint64_t) == 0 ? f->bytes + offset : NULL;
}

static void read_table(const report *r, object *o, const file *f, const Elf64_Shdr *table,
                       const Elf64_Shdr *strings)
{
    const Elf64_Sym *const symbol = part(f, table->sh_offset, table->sh_size);
    if (symbol == NULL || strings->sh_offset > f->size || strings->sh_size == 0 ||
        strings->sh_size > f->size - strings->sh_offset)
        return;
    const char *const names = f->bytes + strings->sh_offset;
    if (names[strings->sh_size - 1] != '\0') return;
    for (uint64_t i = 0; i < table->sh_size / sizeof *symbol; i++)
        if (symbol[i].st_name < strings->sh_size)
            see(r, o, names + symbol[i].st_name, symbol[i].st_shndx != SHN_UNDEF,
                table->sh_type == SHT_DYNSYM);
}

static void read_tables(const report *r, object *o, const file *f)
{
    const Elf64_Ehdr *const head = part(f, 0, sizeof *head);
    if (head == NULL || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_CLASS] != ELFCLASS64)
        return;
    const int count = head->e_shnum;
    const Elf64_Shdr *const section = part(f, head->e_shoff, (uint64_t)count * sizeof *section);
    if (section == NULL) return;
    for (int i = 0; i < count; i++)
        if ((section[i].sh_type == SHT_SYMTAB || section[i].sh_type == SHT_DYNSYM) &&
            section[i].sh_link < (unsigned)count)
            read_table(r, o, f, &section[i], &section[section[i].sh_link]);
}

static void look_into(const report *r, object *o, const char *path)
{
    struct stat status;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        const uint64_t size = (uint64_t)status.st_size;
        void *const bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (bytes != MAP_FAILED) {
            read_tables(r, o, &(file){bytes, size});
            munmap(bytes, size);
        }
    }
    close(descriptor);
}

/* ---- All objects ---- */

/* Only their names: the loader is locked meanwhile. */
static int list(struct dl_phdr_info *info, size_t size, void *user)
{
    report *const r = user;
    (void)size;
    const void *const base = (const void *)info->dlpi_addr;
    if (base != r->where && base != r->library && r->paths < OBJECTS)
        r->path[r->paths++] = strdup(info->dlpi_name);
    return 0;
}

static void sort_out(report *r, const char *path)
{
    object o = {.program = *path == '\0'};
    const char *const slash = strrchr(path, '/');
    keep(o.title, o.program ? program_invocation_short_name : slash != NULL ? slash + 1 : path);
    look_into(r, &o, o.program ? "/proc/self/exe" : path);
    o.mkl |= strncmp(o.title, "libmkl_", 7) == 0;
    if (*o.asks != '\0') {
        if (*r->asks.asks == '\0') r->asks = o;
    } else if ((*o.has != '\0' || *o.keeps != '\0' || *o.other != '\0' || o.mkl) &&
               r->count < FINDINGS)
        r->found[r->count++] = o;
}

/* What keeps this object's calls from us; nothing where others ask the loader for what it has. */
static bool tell(FILE *to, const report *r, const object *o)
{
    if (o->mkl)
        fprintf(to, "  %s has MKL, which calls its own sgemm\n", o->title);
    else if (*o->has != '\0' && !o->program) {
        if (*r->asks.asks != '\0') return false;
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

bool duo_blas_tell_unreached(FILE *to)
{
    Dl_info self, library;
    bool hindered = false;
    report *const r = calloc(1, sizeof *r);
    if (r == NULL || dladdr((const void *)(uintptr_t)&duo_blas_tell_unreached, &self) == 0 ||
        dladdr((const void *)(uintptr_t)&duo_version, &library) == 0)
        goto end;
    r->where = self.dli_fbase;
    r->library = library.dli_fbase;
    r->ours = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (r->ours == NULL) goto end;
    (void)dl_iterate_phdr(list, r);
    for (int i = 0; i < r->paths; i++) {
        if (r->path[i] != NULL) sort_out(r, r->path[i]);
        free(r->path[i]);
    }
    (void)dlclose(r->ours);
    for (int i = 0; i < r->count; i++) hindered |= tell(to, r, &r->found[i]);
    if (duo_blas_hands_on())
        fprintf(to, "  its BLAS has 64-bit integers under the plain names: it serves itself\n");
    else if (*r->asks.asks != '\0')
        fprintf(to, "  %s would call %s here, and did not: only float32 is served\n", r->asks.title,
                r->asks.asks);
    else if (!hindered)
        fprintf(to, "  it has loaded no BLAS\n");
end:
    free(r);
    return hindered;
}

/*
 * object.c - how a loaded object uses BLAS (object.h).
 *
 * The symbol tables in its file tell whether it has an sgemm, the sgemm's name, and whether it asks
 * the loader for one. Its memory has the addresses that the loader gave it.
 */
#define _GNU_SOURCE
#include "blas/object.h"

#include <ctype.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT = DUO_BLAS_OBJECT_TEXT };

typedef duo_blas_object object;
typedef duo_blas_ours ours;

static void keep(char to[TEXT], const char *name)
{
    if (*to == '\0') snprintf(to, TEXT, "%s", name);
}

static bool is_ours(const ours *r, const char *name)
{
    Dl_info info;
    void *const address = dlsym(r->handle, name);
    return address != NULL && dladdr(address, &info) != 0 && info.dli_fbase == r->where;
}

/* Is it one of our operations, with anything before and after its name? C++ names begin with _Z. */
static bool is_operation(const char *name)
{
    return !(name[0] == '_' && name[1] == 'Z') &&
           (strstr(name, "sgemm") != NULL || strstr(name, "sdot") != NULL ||
            strstr(name, "sasum") != NULL || strstr(name, "ssum") != NULL);
}

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
static bool is_double(const ours *r, const char *name)
{
    char single[TEXT];
    const char *const operation = strstr(name, "dgemm");
    if (operation == NULL || strlen(name) >= sizeof single) return false;
    snprintf(single, sizeof single, "%s", name);
    single[operation - name] = 's';
    return is_ours(r, single);
}

static void see(const ours *r, object *o, const char *name, bool defined, bool dynamic)
{
    if (!defined && is_double(r, name)) keep(o->double_, name);
    if (defined && dynamic && strcmp(name, "duo_version") == 0) o->duoblas = true;
    if (!is_operation(name)) return;
    if ((!defined || o->program) && strncmp(name, "duo_", 4) == 0) keep(o->direct, name);
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

/* Part of the file; NULL: it is not within the file, or not aligned. */
static const void *part(const file *f, uint64_t offset, uint64_t size)
{
    const bool there = offset <= f->size && size <= f->size - offset;
    return there && offset % sizeof(uint64_t) == 0 ? f->bytes + offset : NULL;
}

static void read_table(const ours *r, object *o, const file *f, const Elf64_Shdr *table,
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

static void read_tables(const ours *r, object *o, const file *f)
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

static void look_into(const ours *r, object *o, const char *path)
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

/* ---- Addresses from the loader ---- */

/* A part of the dynamic section; NULL: it is missing. */
static const void *dynamic(const struct link_map *map, ElfW(Sxword) tag, size_t *value)
{
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag != tag) continue;
        *value = (size_t)d->d_un.d_val;
        /* Most loaders have added the base already. */
        return (const void *)(d->d_un.d_ptr + (d->d_un.d_ptr < map->l_addr ? map->l_addr : 0));
    }
    *value = 0;
    return NULL;
}

/* Finds in a table of relocations the served names that are bound to another library. */
static void see_bound(const ours *r, object *o, const struct link_map *map,
                      const ElfW(Rela) * table, size_t bytes)
{
    size_t ignored;
    const ElfW(Sym) *const symbol = dynamic(map, DT_SYMTAB, &ignored);
    const char *const names = dynamic(map, DT_STRTAB, &ignored);
    if (table == NULL || symbol == NULL || names == NULL) return;
    for (size_t i = 0; i < bytes / sizeof *table; i++) {
        const char *const name = names + symbol[ELF64_R_SYM(table[i].r_info)].st_name;
        Dl_info given;
        const void *address;
        if (!is_operation(name) || !is_ours(r, name)) continue;
        memcpy(&address, (const void *)(map->l_addr + table[i].r_offset), sizeof address);
        /* Until the first call an entry may lead back into the object. */
        if (dladdr(address, &given) == 0 || given.dli_fbase == r->where ||
            (ElfW(Addr))given.dli_fbase == map->l_addr || given.dli_fname == NULL)
            continue;
        const char *const slash = strrchr(given.dli_fname, '/');
        keep(o->to, slash != NULL ? slash + 1 : given.dli_fname);
        keep(o->bound, name);
    }
}

static void look_at_bound(const ours *r, object *o, const char *path)
{
    struct link_map *map;
    size_t bytes, count;
    void *const handle = dlopen(o->program ? NULL : path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) return;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
        const void *const data = dynamic(map, DT_RELA, &count);
        (void)dynamic(map, DT_RELASZ, &bytes);
        see_bound(r, o, map, data, bytes);
        const void *const calls = dynamic(map, DT_JMPREL, &count);
        (void)dynamic(map, DT_PLTRELSZ, &bytes);
        see_bound(r, o, map, calls, bytes);
    }
    (void)dlclose(handle);
}

/* ---- The whole object ---- */

/* Is it a copy of the CPU's BLAS that this library has made in memory? */
static bool is_private(const char *path)
{
    static const char copy[] = "/memfd:duoblas-";
    char target[sizeof copy];
    return strncmp(path, "/proc/self/fd/", strlen("/proc/self/fd/")) == 0 &&
           readlink(path, target, sizeof target) == (ssize_t)sizeof target &&
           memcmp(target, copy, sizeof copy - 1) == 0;
}

bool duo_blas_object_look(duo_blas_object *o, const duo_blas_ours *r, const char *path)
{
    const char *const slash = strrchr(path, '/');
    *o = (duo_blas_object){.program = *path == '\0'};
    keep(o->title, o->program ? program_invocation_short_name : slash != NULL ? slash + 1 : path);
    if (is_private(path)) return false;
    look_into(r, o, o->program ? "/proc/self/exe" : path);
    if (*o->asks != '\0') look_at_bound(r, o, path);
    o->mkl |= strncmp(o->title, "libmkl_", 7) == 0;
    return !o->duoblas;
}

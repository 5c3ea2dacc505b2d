/* loaded.c - the objects of the process, and what they ask the loader for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blas/loaded.h"

bool duo_blas_open_self(duo_blas_self *self)
{
    Dl_info info;
    if (dladdr((const void *)(uintptr_t)&duo_blas_open_self, &info) == 0) return false;
    self->where = info.dli_fbase;
    self->handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return self->handle != NULL;
}

void *duo_blas_own(const duo_blas_self *self, const char *name)
{
    Dl_info info;
    void *const address = dlsym(self->handle, name);
    return address != NULL && dladdr(address, &info) != 0 && info.dli_fbase == self->where ? address
                                                                                           : NULL;
}

bool duo_blas_is_operation(const char *name)
{
    return !(name[0] == '_' && name[1] == 'Z') &&
           (strstr(name, "sgemm") != NULL || strstr(name, "sdot") != NULL ||
            strstr(name, "sasum") != NULL || strstr(name, "ssum") != NULL);
}

/* ---- The objects ---- */

typedef struct listed {
    duo_blas_objects objects;
    int room;
    const void *own;
} listed;

/* Notes only the names: the loader is locked meanwhile. */
static int list(struct dl_phdr_info *info, size_t size, void *user)
{
    listed *const l = user;
    duo_blas_objects *const o = &l->objects;
    (void)size;
    o->unloaded = info->dlpi_subs;
    if ((const void *)info->dlpi_addr == l->own) return 0;
    if (o->count == l->room) {
        const int room = 2 * l->room + 64;
        duo_blas_object *const more = realloc(o->object, (size_t)room * sizeof *more);
        if (more == NULL) return 1;
        o->object = more;
        l->room = room;
    }
    char *const path = strdup(info->dlpi_name);
    if (path != NULL) o->object[o->count++] = (duo_blas_object){path, info->dlpi_addr};
    return 0;
}

duo_blas_objects duo_blas_loaded(const duo_blas_self *self)
{
    listed l = {.own = self->where};
    (void)dl_iterate_phdr(list, &l);
    return l.objects;
}

void duo_blas_free_objects(duo_blas_objects *objects)
{
    for (int i = 0; i < objects->count; i++) free(objects->object[i].path);
    free(objects->object);
    *objects = (duo_blas_objects){NULL, 0, 0};
}

bool duo_blas_is_private(const char *path)
{
    static const char copy[] = "/memfd:duoblas-";
    char target[sizeof copy];
    return strncmp(path, "/proc/self/fd/", strlen("/proc/self/fd/")) == 0 &&
           readlink(path, target, sizeof target) == (ssize_t)sizeof target &&
           memcmp(target, copy, sizeof copy - 1) == 0;
}

/* ---- Their entries ---- */

/* A part of the dynamic section; NULL: it is missing. */
static const void *part(const struct link_map *map, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag) /* most loaders have added the base already */
            return (const void *)(d->d_un.d_ptr + (d->d_un.d_ptr < map->l_addr ? map->l_addr : 0));
    return NULL;
}

static size_t value(const struct link_map *map, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag) return (size_t)d->d_un.d_val;
    return 0;
}

void duo_blas_each_entry(void *handle, void (*see)(void *user, const duo_blas_entry *entry),
                         void *user)
{
    static const ElfW(Sxword) tables[][2] = {{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}};
    struct link_map *map;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return;
    const ElfW(Sym) *const symbols = part(map, DT_SYMTAB);
    const char *const names = part(map, DT_STRTAB);
    if (symbols == NULL || names == NULL) return;
    for (int t = 0; t < 2; t++) {
        const ElfW(Rela) *const table = part(map, tables[t][0]);
        const size_t count = table != NULL ? value(map, tables[t][1]) / sizeof *table : 0;
        for (size_t i = 0; i < count; i++) {
            const ElfW(Sym) *const symbol = &symbols[ELF64_R_SYM(table[i].r_info)];
            see(user, &(duo_blas_entry){
                          (void **)(map->l_addr + table[i].r_offset), names + symbol->st_name,
                          (unsigned)ELF64_R_TYPE(table[i].r_info), symbol->st_shndx != SHN_UNDEF});
        }
    }
}

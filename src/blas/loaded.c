/* loaded.c - the objects of the process, and what they ask the loader for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blas/loaded.h"

/* ---- The dynamic section of an object ---- */

/* The loader has read it before: what each object must have is there. That is a table of symbols
 * with their names, and the size of each table of relocations. */

/* The entry with this tag; at the end: there is none. */
static const ElfW(Dyn) * entry(const struct link_map *map, ElfW(Sxword) tag)
{
    const ElfW(Dyn) *d = map->l_ld;
    while (d->d_tag != DT_NULL && d->d_tag != tag) d++;
    return d;
}

/* A part of the object; NULL: it is missing. */
static const void *part(const struct link_map *map, ElfW(Sxword) tag)
{
    const ElfW(Dyn) *const d = entry(map, tag);
    if (d->d_tag == DT_NULL) return NULL; /* most loaders have added the base already */
    return (const void *)(d->d_un.d_ptr + (d->d_un.d_ptr < map->l_addr ? map->l_addr : 0));
}

static size_t value(const struct link_map *map, ElfW(Sxword) tag)
{
    return (size_t)entry(map, tag)->d_un.d_val;
}

/* ---- The drop-in itself ---- */

/* The linker's name for the dynamic section of the object that this is in. */
extern ElfW(Dyn) _DYNAMIC[] __attribute__((weak, visibility("hidden")));

const void *duo_blas_where(void)
{
    Dl_info info;
    return dladdr((const void *)(uintptr_t)&duo_blas_where, &info) != 0 ? info.dli_fbase : NULL;
}

/* GNU's table of the names that an object defines: buckets by hash, each with a chain. There is at
 * least one. */
static const ElfW(Sym) * defined(const struct link_map *map, const char *name)
{
    const uint32_t *const table = part(map, DT_GNU_HASH);
    const ElfW(Sym) *const symbols = part(map, DT_SYMTAB);
    const char *const names = part(map, DT_STRTAB);
    if (table == NULL) return NULL;
    const uint32_t buckets = table[0], first = table[1];
    const uint32_t *const bucket = (const uint32_t *)((const ElfW(Addr) *)(table + 4) + table[2]);
    const uint32_t *const chain = bucket + buckets;
    uint32_t hash = 5381;
    for (const char *c = name; *c != '\0'; c++) hash = hash * 33 + (unsigned char)*c;
    for (uint32_t i = bucket[hash % buckets]; i >= first; i++) {
        const uint32_t there = chain[i - first];
        if ((there | 1) == (hash | 1) && strcmp(names + symbols[i].st_name, name) == 0)
            return &symbols[i];
        if ((there & 1) != 0) break; /* the chain's end */
    }
    return NULL;
}

void *duo_blas_own(const char *name)
{
    const struct link_map us = {.l_addr = (ElfW(Addr))duo_blas_where(), .l_ld = _DYNAMIC};
    const ElfW(Sym) *const symbol = us.l_ld != NULL ? defined(&us, name) : NULL;
    return symbol != NULL ? (void *)(us.l_addr + symbol->st_value) : NULL;
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
        if (more == NULL) return o->cut = true;
        o->object = more;
        l->room = room;
    }
    char *const path = strdup(info->dlpi_name);
    if (path == NULL) return o->cut = true;
    o->object[o->count++] = (duo_blas_object){path, info->dlpi_addr};
    return 0;
}

duo_blas_objects duo_blas_loaded(void)
{
    listed l = {.own = duo_blas_where()};
    (void)dl_iterate_phdr(list, &l);
    return l.objects;
}

void duo_blas_free_objects(duo_blas_objects *objects)
{
    for (int i = 0; i < objects->count; i++) free(objects->object[i].path);
    free(objects->object);
    *objects = (duo_blas_objects){.count = 0};
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

void duo_blas_each_entry(const struct link_map *map,
                         void (*see)(void *user, const duo_blas_entry *entry), void *user)
{
    static const ElfW(Sxword) tables[][2] = {{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}};
    const ElfW(Sym) *const symbols = part(map, DT_SYMTAB);
    const char *const names = part(map, DT_STRTAB);
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

typedef struct asking {
    const duo_blas_object *object;
    duo_blas_asked *list;
    int count, most;
} asking;

static void note_asked(void *user, const duo_blas_entry *entry)
{
    asking *const a = user;
    if (!duo_blas_is_operation(entry->name) || a->count == a->most) return;
    duo_blas_asked *const next = &a->list[a->count];
    if (strlen(entry->name) >= sizeof next->name) return;
    strcpy(next->name, entry->name);
    next->place = entry->place;
    next->given = *entry->place;
    a->count++;
}

/* The object cannot go away meanwhile. Nothing of the loader's may be called here. */
static int note_all(struct dl_phdr_info *info, size_t size, void *user)
{
    asking *const a = user;
    struct link_map map = {.l_addr = info->dlpi_addr};
    (void)size;
    if (info->dlpi_addr != a->object->base || strcmp(info->dlpi_name, a->object->path) != 0)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            map.l_ld = (ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    duo_blas_each_entry(&map, note_asked, a);
    return 1;
}

int duo_blas_asks(const duo_blas_object *object, duo_blas_asked *list, int most)
{
    asking a = {object, list, 0, most};
    (void)dl_iterate_phdr(note_all, &a);
    return a.count;
}

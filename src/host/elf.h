/*
 * elf.h - the parts of an ELF file: of a library or a program, mapped into memory.
 *
 * Every part is checked to lie inside the file, since any file may be given. Only files for this
 * machine's word size are read. The drop-in includes this header, too, so all is inline.
 */
#ifndef DUO_ELF_H
#define DUO_ELF_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

typedef struct duo_elf {
    char *bytes;
    size_t size;
} duo_elf;

/* Maps the file of a descriptor. shared: what is written to it goes to the file. False: it is no
 * regular file, is empty, or cannot be mapped. */
static inline bool duo_elf_map(duo_elf *f, int descriptor, bool shared)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
        return false;
    void *const bytes =
        mmap(NULL, (size_t)status.st_size, shared ? PROT_READ | PROT_WRITE : PROT_READ,
             shared ? MAP_SHARED : MAP_PRIVATE, descriptor, 0);
    *f = (duo_elf){bytes, (size_t)status.st_size};
    return bytes != MAP_FAILED;
}

static inline void duo_elf_unmap(const duo_elf *f) { (void)munmap(f->bytes, f->size); }

/* The bytes of this place; NULL: they are not all in the file, or not aligned. */
static inline void *duo_elf_part(const duo_elf *f, uint64_t offset, uint64_t size)
{
    const bool there = offset <= f->size && size <= f->size - offset;
    return there && offset % sizeof(uint64_t) == 0 ? f->bytes + offset : NULL;
}

/* NULL: it is no ELF file of this machine's word size. */
static inline const ElfW(Ehdr) * duo_elf_head(const duo_elf *f)
{
    const ElfW(Ehdr) *const head = (const ElfW(Ehdr) *)duo_elf_part(f, 0, sizeof *head);
    const bool good = head != NULL && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
                      head->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
    return good ? head : NULL;
}

/* All `count` segments; NULL: none are there. */
static inline const ElfW(Phdr) * duo_elf_segments(const duo_elf *f, int *count)
{
    const ElfW(Ehdr) *const head = duo_elf_head(f);
    if (head == NULL) return NULL;
    *count = head->e_phnum;
    return (const ElfW(Phdr) *)duo_elf_part(f, head->e_phoff,
                                            (uint64_t)*count * sizeof(ElfW(Phdr)));
}

/* All `count` sections; NULL: none are there. */
static inline const ElfW(Shdr) * duo_elf_sections(const duo_elf *f, int *count)
{
    const ElfW(Ehdr) *const head = duo_elf_head(f);
    if (head == NULL) return NULL;
    *count = head->e_shnum;
    return (const ElfW(Shdr) *)duo_elf_part(f, head->e_shoff,
                                            (uint64_t)*count * sizeof(ElfW(Shdr)));
}

/* Does it name a dynamic linker? Then it is a program that is not linked statically. */
static inline bool duo_elf_is_dynamic(const ElfW(Phdr) * segment, int count)
{
    for (int i = 0; segment != NULL && i < count; i++)
        if (segment[i].p_type == PT_INTERP) return true;
    return false;
}

#endif

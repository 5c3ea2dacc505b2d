/*
 * plug_odd.c - plug.c with odd addresses beside the ordinary one: of names that are not served, of
 * one that perhaps nobody has, and in places that are not to be written to. It has handlers of
 * wrong arguments, too, and is no BLAS library.
 */
#include "plug.c"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEAK __attribute__((weak))

/* A name with the hash of cblas_sgemm, one of C++, one too long to be told, one not served. */
void dAlas_sgemm(void) WEAK;
void _Z5sgemmv(void) WEAK;
void sgemm_of_a_very_long_name_that_no_library_of_this_world_has_and_none_will_have(void) WEAK;
void sgemmtr_(void) WEAK;
float ssum_(const int *, const float *, const int *) WEAK; /* own_blas has none */
void duo_sasum(void) WEAK;                                 /* as if this called DuoBLAS itself */
bool plug_is_left_alone(void);
float plug_sum(float a, float b);
void xerbla_64_(const char *name, const int64_t *argument, size_t length);
void cblas_xerbla64_(int64_t argument, const char *name, const char *format, ...);
extern int64_t plug_wrong_argument;

/* In volatile memory, so that the addresses are looked at when they are compared. */
static void (*volatile unserved[])(void) = {
    dAlas_sgemm, _Z5sgemmv,
    sgemm_of_a_very_long_name_that_no_library_of_this_world_has_and_none_will_have, sgemmtr_};
static float (*volatile unknown)(const int *, const float *, const int *) = ssum_;

struct __attribute__((packed)) uneven {
    char before;
    void *address;
};
static volatile struct uneven uneven = {1, (void *)sgemm_};

__attribute__((used)) static void (*volatile native)(void) = duo_sasum;

/* In memory that was read-only before the loader wrote to it. */
__asm__(".section .fixed, \"a\"\n"
        ".balign 8\n"
        ".hidden plug_fixed\n"
        "plug_fixed: .quad sgemm_\n"
        ".text\n");
extern void *const volatile plug_fixed;

/* Do these still hold what the loader put there? */
bool plug_is_left_alone(void)
{
    for (size_t i = 0; i < sizeof unserved / sizeof unserved[0]; i++)
        if (unserved[i] != NULL) return false;
    return uneven.address == plug_fixed && uneven.before == 1;
}

/* -1: nobody has ssum_. */
float plug_sum(float a, float b)
{
    return unknown != NULL ? unknown(&(const int){2}, (const float[]){a, b}, &(const int){1})
                           : -1.0f;
}

int64_t plug_wrong_argument;

void xerbla_64_(const char *name, const int64_t *argument, size_t length)
{
    (void)name, (void)length;
    plug_wrong_argument = *argument;
}

void cblas_xerbla64_(int64_t argument, const char *name, const char *format, ...)
{
    (void)name, (void)format;
    plug_wrong_argument = argument;
}

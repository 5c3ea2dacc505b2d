/* profile_write.c - the text of a profile file, and the file, written (profile_write.h). */
#define _GNU_SOURCE
#include "bench/tool/profile_write.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "choice/profile_text.h"

/* ---- The text ---- */

static void print_text(const char *name, const char *text, FILE *file)
{
    fprintf(file, "%s = ", name);
    for (; *text != '\0'; text++) fputc(duo_field_forbids(*text) ? ',' : *text, file);
    fputc('\n', file);
}

static void print_field(const duo_field *f, const void *member, FILE *file)
{
    if (f->kind <= DUO_FIELD_EFFORT)
        print_text(f->name, member, file);
    else if (f->kind == DUO_FIELD_COUNT)
        fprintf(file, "%s = %d\n", f->name, *(const int *)member);
    else
        fprintf(file, "%s = %lld\n", f->name,
                llround(*(const double *)member / duo_field_ranges[f->kind].unit));
}

/* False for fields that were not measured. */
static bool wanted(const duo_profile *profile, const duo_field *f, const void *member)
{
    if (f->need == DUO_FIELD_IF_MEASURED) return *(const double *)member > 0.0;
    if (strcmp(f->section, "link") == 0) return profile->upload_pageable > 0.0;
    for (int i = 0; i < DUO_OPERATIONS; i++)
        if (strncmp(f->section, "measured ", 9) == 0 &&
            strcmp(f->section + 9, duo_operation_name((duo_operation)i)) == 0)
            return profile->measured[i].date[0] != '\0';
    return true;
}

static void print_curve(const duo_curve *curve, int which, const char *name, FILE *file)
{
    const double unit = duo_field_ranges[DUO_FIELD_PICOSECONDS].unit;
    if (curve->count == 0) return;
    fprintf(file, "\n[%s%s]\n", duo_curve_sections[which], name);
    for (int i = 0; i < curve->count; i++)
        fprintf(file, "%lld = %lld\n", llround(curve->size[i]), llround(curve->seconds[i] / unit));
}

static void print_correction(const duo_correction *correction, FILE *file)
{
    for (int line = 0; line < DUO_CORRECTION_LINES; line++) {
        char name[DUO_CORRECTION_NAME];
        duo_correction_name(line, name);
        fprintf(file, "%s =", name);
        const float *const factor = &correction->factor[0][0][0][0] + DUO_CORRECTION_SIZES * line;
        for (int i = 0; i < DUO_CORRECTION_SIZES; i++)
            fprintf(file, " %lld", llround((double)factor[i] / duo_correction_unit));
        fputc('\n', file);
    }
}

void duo_profile_print(const duo_profile *profile, FILE *file)
{
    fprintf(file,
            "; DuoBLAS profile: sizes in elements, times in picoseconds, rates in bytes per "
            "second.\n[profile]\nformat = %d\n",
            DUO_PROFILE_FORMAT);
    const char *section = "";
    for (int i = 0; i < DUO_FIELDS; i++) {
        const duo_field *const f = &duo_profile_fields[i];
        const void *const member = (const char *)profile + f->offset;
        if (!wanted(profile, f, member)) continue;
        if (strcmp(section, f->section) != 0) fprintf(file, "\n[%s]\n", section = f->section);
        print_field(f, member, file);
    }
    for (int id = 0; id < DUO_ALGORITHMS; id++) {
        const char *const name = duo_algorithm_name((duo_algorithm_id)id);
        print_curve(&profile->curve[id], DUO_SECTION_CURVE, name, file);
        print_curve(&profile->team[id], DUO_SECTION_TEAM_CURVE, name, file);
    }
    for (int i = 0; i < DUO_CORRECTED; i++)
        for (int t = 0; t < DUO_CORRECTED_THREADS; t++) {
            if (!profile->correction[i][t].measured) continue;
            fprintf(file, "\n[%s]\n", duo_correction_sections[i][t]);
            print_correction(&profile->correction[i][t], file);
        }
    fprintf(file, "\n[end]\ncomplete = 1\n");
}

/* ---- The file ---- */

static bool make_folder(const char *path)
{
    struct stat status;
    if (mkdir(path, 0700) == 0) return true;
    const int why = errno;
    const bool there = stat(path, &status) == 0;
    errno = there ? ENOTDIR : why;
    return there && S_ISDIR(status.st_mode);
}

bool duo_profile_make_folders(const char *path)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = folder + strspn(folder, "/");
    while ((slash = strchr(slash, '/')) != NULL) {
        *slash = '\0';
        if (!make_folder(folder)) return false;
        *slash++ = '/';
    }
    return true;
}

bool duo_profile_write(const duo_profile *profile, const char *path, char *why, size_t why_size)
{
    char temporary[4096];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid()) >=
        sizeof temporary) {
        snprintf(why, why_size, "the path is too long");
        return false;
    }
    const bool there = duo_profile_make_folders(path);
    const int number =
        there ? open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644) : -1;
    FILE *const file = number < 0 ? NULL : fdopen(number, "w");
    if (file == NULL) {
        snprintf(why, why_size, "%s", strerror(errno));
        if (number >= 0) close(number);
        return false;
    }
    duo_profile_print(profile, file);
    bool good =
        fflush(file) == 0 && ferror(file) == 0 && fchmod(number, 0644) == 0 && fsync(number) == 0;
    good = fclose(file) == 0 && good;
    good = good && rename(temporary, path) == 0;
    if (!good) {
        snprintf(why, why_size, "%s", strerror(errno));
        (void)unlink(temporary);
    }
    return good;
}

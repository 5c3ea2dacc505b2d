/* text.c - see text.h */
#include "bench/tool/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench/tool/blas_kernels.h"
#include "cpu/blas_library.h"

/* Decimals that show three digits of a value below 1000. */
static int decimals_of(double value) { return value < 9.995 ? 2 : value < 99.95 ? 1 : 0; }

const char *duo_text_time(double seconds, char text[DUO_TEXT])
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1.0, "s"}};
    if (!(seconds >= 0.0) || isinf(seconds)) return strcpy(text, "-");
    int i = 0;
    while (i < 3 && seconds >= 999.5 * units[i].unit) i++;
    const double value = seconds / units[i].unit;
    snprintf(text, DUO_TEXT, "%.*f %s", decimals_of(value), value, units[i].name);
    return text;
}

const char *duo_text_seconds(double seconds, char text[DUO_TEXT])
{
    char time[DUO_TEXT];
    const int number = (int)strcspn(duo_text_time(seconds, time), " ");
    snprintf(text, DUO_TEXT, "%6.*s%-3.8s", number, time, time + number);
    return text;
}

const char *duo_text_bytes(double bytes, char text[DUO_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int i = 0;
    for (; i < 4 && bytes >= 1024.0; i++) bytes /= 1024.0;
    snprintf(text, DUO_TEXT, "%.*f %s", bytes < 10.0 && i > 0 ? 1 : 0, bytes, units[i]);
    return text;
}

const char *duo_text_about(double count, char text[DUO_TEXT])
{
    static const char *const units[] = {"", " k", " M", " G"};
    int i = 0;
    for (; i < 3 && count >= 999.5; i++) count /= 1000.0;
    snprintf(text, DUO_TEXT, "%.*f%s", i > 0 ? decimals_of(count) : 0, count, units[i]);
    return text;
}

const char *duo_text_span(const char *low, const char *high, char text[DUO_TEXT])
{
    const size_t number = strcspn(low, " ");
    const bool alike = strcmp(low + number, high + strcspn(high, " ")) == 0;
    snprintf(text, DUO_TEXT, "%.*s to %.28s", alike ? (int)number : 28, low, high);
    return text;
}

const char *duo_text_times(double ratio, char text[DUO_TEXT])
{
    const double step = ratio < 9.95 ? 0.1 : pow(10.0, floor(log10(ratio * 1.005)) - 1.0);
    snprintf(text, DUO_TEXT, "%.*f", ratio < 9.95 ? 1 : 0, step * round(ratio / step));
    return text;
}

void duo_text_wrap(const char *label, const char *text, FILE *file)
{
    const int indent = fprintf(file, "%s", label);
    int column = indent;
    for (const char *word = text; *word != '\0'; word += strspn(word, " ")) {
        const int length = (int)strcspn(word, " ");
        const int gap = column > indent;
        if (gap && column + 1 + length >= DUO_TEXT_COLUMNS)
            column = fprintf(file, "\n%*s", indent, "") - 1 + fprintf(file, "%.*s", length, word);
        else
            column += fprintf(file, "%*s%.*s", gap, "", length, word);
        word += length;
    }
    fputc('\n', file);
}

const char *duo_text_shape(duo_operation operation, const int64_t shape[3], char text[DUO_TEXT])
{
    if (operation == DUO_SGEMM)
        snprintf(text, DUO_TEXT, "%" PRId64 " x %" PRId64 " x %" PRId64, shape[0], shape[1],
                 shape[2]);
    else
        snprintf(text, DUO_TEXT, "%" PRId64, shape[0]);
    return text;
}

const char *duo_text_transposes(bool transa, bool transb)
{
    static const char *const names[2][2] = {{"nn", "nt"}, {"tn", "tt"}};
    return names[transa][transb];
}

const char *duo_text_residence(duo_residence residence)
{
    static const char *const names[] = {[DUO_AT_UNUSED] = "not used",
                                        [DUO_AT_PAGEABLE] = "plain",
                                        [DUO_AT_PINNED] = "pinned",
                                        [DUO_AT_KEPT] = "kept, current on the GPU",
                                        [DUO_AT_STALE] = "kept, stale on the GPU",
                                        [DUO_AT_DEVICE] = "on the GPU",
                                        [DUO_AT_REMEMBERED] = "plain, sent before"};
    return names[residence];
}

const char *duo_text_side(duo_side side) { return side == DUO_SIDE_CPU ? "cpu" : "gpu"; }

const char *duo_text_blas_says(const char *config, const char *core, char *text, size_t size)
{
    if (core[0] != '\0' && strstr(config, core) == NULL)
        snprintf(text, size, "%s, kernels %s", config, core);
    else
        snprintf(text, size, "%s", config);
    return text;
}

const char *duo_text_blas(char *text, size_t size)
{
    const duo_blas_library *const blas = duo_blas_library_get();
    if (blas == NULL)
        snprintf(text, size, "none found");
    else
        (void)duo_text_blas_says(blas->config[0] != '\0' ? blas->config : blas->path, blas->core,
                                 text, size);
    return text;
}

void duo_text_blas_warning(const char *mark, FILE *file)
{
    const char *const warning = duo_blas_library_warning();
    const duo_blas_library *const blas = duo_blas_library_seen();
    const char *const better = blas != NULL ? duo_better_kernels(blas->core) : NULL;
    if (warning != NULL) fprintf(file, "%s%s\n", mark, warning);
    if (better != NULL)
        fprintf(file,
                "%sWARNING: %s kernels are for narrower vectors than this CPU has:\n"
                "%s         OPENBLAS_CORETYPE=%s suits it\n",
                mark, blas->core, mark, better);
}

const char *duo_text_date(char text[DUO_TEXT])
{
    const time_t now = time(NULL);
    struct tm today;
    if (gmtime_r(&now, &today) == NULL || strftime(text, DUO_TEXT, "%Y-%m-%d", &today) == 0)
        snprintf(text, DUO_TEXT, "unknown");
    return text;
}

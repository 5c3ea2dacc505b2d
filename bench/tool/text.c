/* text.c - see text.h */
#include "bench/tool/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cpu/blas_library.h"

/* value in 1..999 with three significant digits, six characters wide */
static void three_digits(double value, const char *unit, char text[DUO_TEXT])
{
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(text, DUO_TEXT, "%6.*f %s", decimals, value, unit);
}

const char *duo_text_seconds(double seconds, char text[DUO_TEXT])
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1.0, "s "}};
    if (!(seconds >= 0.0) || isinf(seconds)) {
        snprintf(text, DUO_TEXT, "%6s   ", "-");
        return text;
    }
    int i = 0;
    while (i < 3 && seconds >= 999.5 * units[i].unit) i++;
    three_digits(seconds / units[i].unit, units[i].name, text);
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
    /* 995 would round to 1.0e3 at two digits */
    for (; i < 3 && count >= 995.0; i++) count /= 1000.0;
    const double step = count >= 99.5 ? 10.0 : 1.0;
    snprintf(text, DUO_TEXT, "%.*f%s", count < 9.95 && i > 0 ? 1 : 0, step * round(count / step),
             units[i]);
    return text;
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

const char *duo_text_side(duo_side side) { return side == DUO_SIDE_CPU ? "cpu" : "gpu"; }

const char *duo_text_path(duo_path path)
{
    static const char *const names[] = {
        [DUO_PATH_AUTO] = "auto", [DUO_PATH_CPU] = "cpu", [DUO_PATH_GPU] = "gpu"};
    return names[path];
}

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
        snprintf(text, size, "none found (sgemm runs on sgemm_cpu_plain)");
    else
        (void)duo_text_blas_says(blas->config[0] != '\0' ? blas->config : blas->path, blas->core,
                                 text, size);
    return text;
}

void duo_text_blas_warning(const char *mark, FILE *file)
{
    const char *const warning = duo_blas_library_warning();
    if (warning != NULL) fprintf(file, "%s%s\n", mark, warning);
}

const char *duo_text_date(char text[DUO_TEXT])
{
    const time_t now = time(NULL);
    struct tm today;
    if (gmtime_r(&now, &today) == NULL || strftime(text, DUO_TEXT, "%Y-%m-%d", &today) == 0)
        snprintf(text, DUO_TEXT, "unknown");
    return text;
}

/*
 * fuzz_profile.c - the parser of profiles against any bytes, by libFuzzer.
 *
 * A refused file has a reason. An accepted profile is finite and monotone. Printed and parsed
 * again, it has the same numbers and texts, and prints the same text.
 */
#include <math.h>

#include "bench/tool/profile_write.h"
#include "choice/profile_text.h"
#include "fuzz/fuzz.h"

static bool is_number(double x) { return isfinite(x) && x >= 0.0 && x <= 1e15; }

static void check_curve(const duo_curve *curve)
{
    require(curve->count >= 0 && curve->count <= DUO_CURVE_POINTS, "a curve's count");
    for (int i = 0; i < curve->count; i++) {
        require(is_number(curve->size[i]) && curve->size[i] >= 1.0, "a size");
        require(is_number(curve->seconds[i]) && curve->seconds[i] > 0.0, "a time");
        if (i == 0) continue;
        require(curve->size[i] > curve->size[i - 1], "sizes grow");
        require(curve->seconds[i] >= curve->seconds[i - 1], "seconds do not fall");
    }
}

static void check_correction(const duo_correction *correction)
{
    const float *const factor = &correction->factor[0][0][0][0];
    for (size_t i = 0; correction->measured && i < sizeof correction->factor / sizeof *factor; i++)
        require(factor[i] >= 0.0625F && factor[i] <= 16.0F, "a factor");
}

static void check_field(const duo_profile *profile, const duo_field *f)
{
    const void *const member = (const char *)profile + f->offset;
    if (f->kind <= DUO_FIELD_EFFORT)
        require(memchr(member, '\0', f->size) != NULL, "a text ends");
    else if (f->kind == DUO_FIELD_COUNT)
        require(*(const int *)member >= 1, "a count");
    else
        require(is_number(*(const double *)member), "a number");
}

static char *printed(const duo_profile *profile)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const file = open_memstream(&text, &size);
    require(file != NULL, "memory");
    duo_profile_print(profile, file);
    require(fclose(file) == 0 && text != NULL, "memory");
    return text;
}

static void check_round_trip(const duo_profile *profile)
{
    static duo_profile again;
    char why[200] = "";
    char *const text = printed(profile);
    if (!duo_profile_parse(text, &again, why, sizeof why)) {
        fprintf(stderr, "%s\n%s\n", why, text);
        require(false, "what was printed is refused");
    }
    require(memcmp(&again, profile, sizeof again) == 0, "printed and parsed, it is another");
    char *const once_more = printed(&again);
    require(strcmp(text, once_more) == 0, "printed twice, it is another text");
    free(once_more);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static duo_profile profile;
    char why[200] = "";
    char *const text = text_of(data, size);
    if (duo_profile_parse(text, &profile, why, sizeof why)) {
        for (int i = 0; i < DUO_FIELDS; i++) check_field(&profile, &duo_profile_fields[i]);
        for (int id = 0; id < DUO_ALGORITHMS; id++) {
            check_curve(&profile.curve[id]);
            check_curve(&profile.team[id]);
        }
        for (int i = 0; i < DUO_CORRECTED; i++)
            for (int t = 0; t < DUO_CORRECTED_THREADS; t++)
                check_correction(&profile.correction[i][t]);
        check_round_trip(&profile);
    } else {
        require(why[0] != '\0' && strlen(why) < sizeof why - 1, "a reason");
    }
    free(text);
    return 0;
}

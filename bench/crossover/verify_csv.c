/* verify_csv.c - every candidate of every problem, as comma-separated values. */
#include <inttypes.h>

#include "bench/crossover/verify.h"
#include "bench/tool/output.h"
#include "bench/tool/text.h"

static void write_candidate(FILE *file, const duo_verified *p, int i, int best)
{
    const duo_drawn *const d = &p->drawn;
    const duo_timed *const c = &p->candidate[i];
    const int64_t *const s = d->problem.shape;
    fprintf(file,
            "%" PRId64 ",%s,%s,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%" PRId64 ",%" PRId64
            ",%" PRId64 ",%g,%g,%s,%s,%s,%.3f,",
            d->number, duo_shape_class_names[d->shape_class],
            duo_operation_name(d->problem.operation), duo_math_names[d->math], s[0], s[1], s[2],
            duo_text_transposes(d->problem.transa, d->problem.transb), d->ld[0], d->ld[1], d->ld[2],
            (double)d->alpha, (double)d->problem.beta, duo_residence_names[d->at[0]],
            duo_residence_names[d->at[1]], duo_residence_names[d->at[2]], p->pace);
    fprintf(file, "%s,%s,%d,%.4e,%.4e,%.4e,%.4e,%.4e,%d,%d\n", duo_text_side(c->algorithm->side),
            c->algorithm->name, c->threads, c->predicted_seconds, c->minimum_seconds,
            c->median_seconds, c->low_seconds, c->high_seconds, i == p->chosen, i == best);
}

bool duo_verification_csv(const duo_verification *v, const duo_verify_options *options,
                          const char *path)
{
    duo_output output;
    char text[160];
    if (!duo_output_open(&output, path)) return false;
    FILE *const file = output.file;
    duo_verification_head(options, "# ", file);
    fprintf(file,
            "# Noise    %s\n"
            "number,class,operation,math,m,n,k,transposes,ld1,ld2,ld3,alpha,beta,at1,at2,at3,pace,"
            "side,algorithm,threads,predicted_seconds,minimum_seconds,median_seconds,low_seconds,"
            "high_seconds,chosen,best\n",
            duo_noise_text(&v->noise, text, sizeof text));
    for (int i = 0; i < v->problems; i++) {
        const int best = duo_verified_best(&v->problem[i]);
        for (int j = 0; j < v->problem[i].count; j++)
            if (v->problem[i].candidate[j].median_seconds > 0.0)
                write_candidate(file, &v->problem[i], j, best);
    }
    return duo_output_close(&output, true);
}

/* verify_run.c - the order of work of `duoblas crossover --verify`. */
#include <stdlib.h>

#include "bench/crossover/verify.h"
#include "bench/tool/interrupt.h"

bool duo_verify_run(const duo_verify_options *options, const char *csv, const char *report)
{
    duo_verification v;
    duo_interrupt_watch();
    duo_verification_head(options, "", stdout);
    printf("\n");
    fflush(stdout);
    bool good = duo_verify(options, &v);
    if (good) duo_verification_print(&v, stdout);
    fflush(stdout);
    duo_interrupt_hold();
    /* Figures of a noisy machine are kept, and say that they are. */
    if (good && csv != NULL && v.problems > 0) good = duo_verification_csv(&v, options, csv);
    if (good && v.judged && report != NULL) good = duo_verification_report(&v, options, report);
    duo_interrupt_allow();
    free((void *)v.problem);
    return good && v.judged;
}

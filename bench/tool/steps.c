/* steps.c - see steps.h */
#include "bench/tool/steps.h"

#include <inttypes.h>

const char *duo_steps_name(const duo_step *s, char text[DUO_TEXT])
{
    const bool product = s->kind == DUO_STEP_MULTIPLY || s->kind == DUO_STEP_FETCH;
    const int operand = product ? DUO_C : s->operand;
    int used = 0;
    if (operand == DUO_C)
        used = snprintf(text, DUO_TEXT, "C %" PRId64 " %" PRId64, s->i, s->j);
    else
        used = snprintf(text, DUO_TEXT, "%s%c %" PRId64, s->kind == DUO_STEP_PACK ? "pack " : "",
                        operand == DUO_A ? 'A' : 'B', operand == DUO_A ? s->i : s->j);
    if (s->p > 0 && s->kind != DUO_STEP_FETCH)
        snprintf(text + used, (size_t)(DUO_TEXT - used), " k %" PRId64, s->p);
    return text;
}

void duo_steps_head(FILE *file) { fprintf(file, "device,lane,step,begin_ms,end_ms\n"); }

void duo_steps_line(FILE *file, const duo_step *step, const char *lane, double begin_seconds,
                    double end_seconds)
{
    char name[DUO_TEXT];
    fprintf(file, "%d,%s,%s,%.6f,%.6f\n", step->device, lane, duo_steps_name(step, name),
            1e3 * begin_seconds, 1e3 * end_seconds);
}

void duo_steps_predicted(FILE *file, const duo_plan *plan)
{
    static const char *const lane_of[] = {[DUO_STEP_SEND] = "up",
                                          [DUO_STEP_SHARE] = "peer",
                                          [DUO_STEP_PACK] = "multiply",
                                          [DUO_STEP_MULTIPLY] = "multiply",
                                          [DUO_STEP_FETCH] = "down"};
    duo_steps_head(file);
    for (int i = 0; i < plan->count; i++) {
        const duo_step *const s = &plan->step[i];
        duo_steps_line(file, s, lane_of[s->kind], s->begin, s->end);
    }
}

/* route_one_by_one.c - a batch product by product, each as a call of its own. This is for batches
 * that neither the team nor one launch takes, and for products that fill the machine by
 * themselves. */
#include "call/execution.h"

/* Seconds that a call takes beside its work if its operands may be in regions. */
static const double kCall = 2e-7;

/* A product after the first one, which has made kept arrays current. *other: that changes
 * something. */
static duo_call later_product(const duo_call *call, bool *other)
{
    duo_call later = *call;
    *other = false;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &later.operand[i];
        if (!o->read || !duo_operand_kept(o) || (o->on_host && o->on_device)) continue;
        o->on_host = o->on_device = *other = true;
        o->residence = DUO_AT_KEPT;
    }
    return later;
}

double duo_one_by_one_seconds(const duo_call *call, const duo_conditions *conditions,
                              const duo_algorithm *algorithm, double product)
{
    bool other;
    const duo_call later = later_product(call, &other);
    const double each = other ? duo_predict_one(&later, conditions, algorithm) : product;
    const double count = (double)call->batch->count;
    return product + each * (count - 1.0) + kCall * count;
}

duo_outcome duo_run_one_by_one(duo_execution *e, duo_choice *choice)
{
    duo_status status = DUO_OK;
    if (!e->call->batch->mixed) e->by = choice->algorithm;
    for (int64_t p = 0; p < e->call->batch->count && status == DUO_OK; p++) {
        duo_call one;
        duo_call_products(e->call, p, 1, &one, NULL);
        status = e->run_part(e, &one);
    }
    return status;
}

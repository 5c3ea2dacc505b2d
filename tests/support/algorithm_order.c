/* row_reference.c - see row_reference.h */
#include "support/algorithm_order.h"

#include "choice/algorithm.h"
#include "support/reference_order.h"

#include <string.h>

static const row_reference table[] = {
    {"cpu_lanes", DUO_MATH_ACCURATE, reference_order},
    {"gpu_shuffle", DUO_MATH_ACCURATE, reference_order},
    {"cpu_float64", DUO_MATH_FLOAT64, reference_order_float64},
    {"gpu_float64", DUO_MATH_FLOAT64, reference_order_float64},
};

const row_reference *order_of_algorithm(const duo_algorithm *row)
{
    const char *const algorithm = strchr(row->name, '_') + 1;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].algorithm, algorithm) == 0) return &table[i];
    return NULL;
}

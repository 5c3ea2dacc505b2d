/* algorithm_order.c - see algorithm_order.h */
#include "support/algorithm_order.h"

#include "choice/algorithm.h"
#include "support/reference_order.h"

#include <string.h>

static const algorithm_order table[] = {
    {"cpu_lanes", DUO_MATH_ACCURATE, reference_order},
    {"gpu_shuffle", DUO_MATH_ACCURATE, reference_order},
    {"cpu_float64", DUO_MATH_FLOAT64, reference_order_float64},
    {"gpu_float64", DUO_MATH_FLOAT64, reference_order_float64},
};

const algorithm_order *order_of_algorithm(const duo_algorithm *algorithm)
{
    const char *const name = strchr(algorithm->name, '_') + 1;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].name, name) == 0) return &table[i];
    return NULL;
}

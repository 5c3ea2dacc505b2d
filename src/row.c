/* row.c - names and properties of rows and operations. */
#include "row.h"

const char *duo_row_name(duo_row_id id)
{
    static const char *const names[] = {
#define DUO_ROW_NAME(operation, side, name) #name,
        DUO_ROW_LIST(DUO_ROW_NAME)
#undef DUO_ROW_NAME
    };
    return names[id];
}

bool duo_row_calls_blas(duo_row_id id)
{
    return id == DUO_ROW_sgemm_cpu_openblas || id == DUO_ROW_sgemm_cpu_float64;
}

const char *duo_operation_name(duo_operation operation)
{
    static const char *const names[] = {"sgemm", "sasum", "ssum", "sdot"};
    return operation < DUO_OPERATIONS ? names[operation] : "";
}

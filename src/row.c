/* row.c - names of rows and operations. */
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

const char *duo_operation_name(duo_operation operation)
{
    static const char *const names[] = {"sgemm", "sasum", "ssum", "sdot"};
    return operation < DUO_OPERATIONS ? names[operation] : "";
}

/* algorithms.c - names and facts of the list of algorithms (algorithms.h). */
#include "algorithms.h"

const char *duo_algorithm_name(duo_algorithm_id id)
{
    static const char *const names[] = {
#define NAME(operation, side, maths, name) #name,
        DUO_ALGORITHM_LIST(NAME)
#undef NAME
    };
    return names[id];
}

duo_operation duo_algorithm_operation(duo_algorithm_id id)
{
    static const duo_operation operations[] = {
#define OPERATION(operation, side, maths, name) DUO_##operation,
        DUO_ALGORITHM_LIST(OPERATION)
#undef OPERATION
    };
    return operations[id];
}

duo_side duo_algorithm_side(duo_algorithm_id id)
{
    static const duo_side sides[] = {
#define SIDE(operation, side, maths, name) DUO_SIDE_##side,
        DUO_ALGORITHM_LIST(SIDE)
#undef SIDE
    };
    return sides[id];
}

const char *duo_operation_name(duo_operation operation)
{
    static const char *const names[DUO_OPERATIONS] = {
        [DUO_SGEMM] = "sgemm", [DUO_SASUM] = "sasum", [DUO_SSUM] = "ssum", [DUO_SDOT] = "sdot"};
    return operation < DUO_OPERATIONS ? names[operation] : "";
}

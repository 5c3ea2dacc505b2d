/* explain_print.h - the answer of `duoblas explain`: operands, candidates, and the reason. */
#ifndef DUO_EXPLAIN_PRINT_H
#define DUO_EXPLAIN_PRINT_H

#include "choice/algorithm.h"

/* The names of an operation's operands, DUO_OPERANDS of them. */
const char *const *duo_explain_operands(duo_operation operation);

/* Without a GPU it tells what a machine with one would run, and what runs here. */
void duo_explain_print(const duo_call *call, const duo_conditions *conditions, bool gpu);

#endif

/* credit.h - when a kept array is sent again that the program has changed. */
#ifndef DUO_CREDIT_H
#define DUO_CREDIT_H

#include "choice/select.h"

/*
 * A kept array whose device copy is stale is not sent until that pays. Each call that ran on the
 * CPU for that reason alone credits the array with the time that it lost, so that in all at most
 * twice the least possible time is spent.
 * The call ran by choice[ran].
 */
void duo_credit_earn(const duo_call *call, const duo_choice *choice, int count, int ran,
                     const duo_conditions *conditions);

#endif

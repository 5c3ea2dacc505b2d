/* locate.h - where the operands of a call are. */
#ifndef DUO_LOCATE_H
#define DUO_LOCATE_H

#include "call.h"
#include "host/report.h"

/* Finds out where the operands are and whether they are current there, for a call on this device.
 * DUO_OK, DUO_ERR_RANGE, DUO_ERR_LOST. */
duo_status duo_locate(int device, duo_call *call);

/* Asks the driver about operands that are not registered. DUO_OK, or DUO_ERR_FOREIGN; the report
 * then has the detail. */
duo_status duo_locate_ask(duo_report *report, duo_call *call);

#endif

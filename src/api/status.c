/* status.c - texts of the status codes, and the version. */
#include "duoblas.h"

const char *duo_status_string(duo_status status)
{
    switch (status) {
#define DUO_STATUS_CASE(name, value, text)                                                         \
    case name:                                                                                     \
        return text;
        DUO_STATUS_LIST(DUO_STATUS_CASE)
#undef DUO_STATUS_CASE
    }
    return "unknown status";
}

int duo_version(void) { return DUO_VERSION; }

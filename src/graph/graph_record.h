/* graph_record.h - the work of a part of the device, recorded. */
#ifndef DUO_GRAPH_RECORD_H
#define DUO_GRAPH_RECORD_H

#include "graph/graph.h"

/* Records a part of the device. Its operations are fixed, its lanes are open and have their memory.
 * On failure part->recorded is unchanged. */
duo_status duo_graph_record(duo_graph *graph, duo_graph_part *part);

#endif

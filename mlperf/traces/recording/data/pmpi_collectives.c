/* Operations of all ranks of a communicator; bytes are what the calling rank contributes. */
#include "record.h"
#include "small_counts.h"

#include "collectives.inc"

BOTH(Barrier, Ibarrier, (MPI_Comm comm), (comm), 0, -1)

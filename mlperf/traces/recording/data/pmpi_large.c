/* MPI 4's functions whose counts may be larger than an int: MPI_Send_c and so on. mpi4py calls these where they are there. */
#include "record.h"

#include <string.h>

#if MPI_VERSION >= 4
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define CALL(NAME) MPI_##NAME##_c
#define REAL(NAME) PMPI_##NAME##_c

#include "collectives.inc"
#include "messages.inc"
#include "posts.inc"
#endif

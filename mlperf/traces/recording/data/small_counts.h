/* The functions whose counts are int; see messages.inc. */
#define COUNT int
#define PLACE int
#define CALL(NAME) MPI_##NAME
#define REAL(NAME) PMPI_##NAME

// What generated code and kernels agree on.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
// How a step ended, as bits: it was enabled; 3 bits for a failure and 2 for a violated assertion
// (1 assertion, 2 error, 3 no end in sight, 4 a value has more bits than was thought); its chain may
// run in circles; who goes on, plus 1.
#define DONE 1u
#define FAILED 1u
#define VIOLATED 4u
#define REPEATS 6u
#define NEXT 8u
#define GAVE_UP 3u
#define ESCAPED 4u
// Rounds of a loop after which the card gives up.
#define MOST_ROUNDS 1000000u

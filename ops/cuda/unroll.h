// Loops over registers, which only nvcc has a pragma for.
#pragma once

#ifdef __CUDACC__
#define SWAPADVISOR_UNROLL _Pragma("unroll")
#else
#define SWAPADVISOR_UNROLL
#endif

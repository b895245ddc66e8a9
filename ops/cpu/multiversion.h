// Function multiversioning for loops that the compiler vectorises.
#pragma once

/// Put before a function with a hot loop: it is compiled for AVX-512, AVX2 and the baseline, and the loader
/// picks one. Sanitizer builds get the baseline only, since their runtime is not up yet when the loader
/// picks.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SWAPADVISOR_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SWAPADVISOR_MULTIVERSION
#endif

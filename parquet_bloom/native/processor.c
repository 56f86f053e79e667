/* Which instructions this machine has, and which of them are used; what it does with freed memory. */
#include <stdlib.h>

#include "kernel.h"

static int machine_has(enum code_path path) {
#if defined(__x86_64__)
    if (path >= WITH_AVX2 && !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")))
        return 0;
    if (path >= WITH_AVX512 &&
        !(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
          __builtin_cpu_supports("avx512vl")))
        return 0;
    return 1;
#else
    return path == ANY_PROCESSOR;
#endif
}

/* -1 until the first call has asked the processor. Racing first calls store the same answer. */
static int chosen = -1;

int choose_code_path(enum code_path wanted) {
    if (!machine_has(wanted)) return -1;
    __atomic_store_n(&chosen, (int)wanted, __ATOMIC_RELAXED);
    return 0;
}

enum code_path code_path(void) {
    int answer = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (answer < 0) {
        answer = WITH_AVX512;
        while (!machine_has((enum code_path)answer)) answer--;
        __atomic_store_n(&chosen, answer, __ATOMIC_RELAXED);
    }
    return (enum code_path)answer;
}

/* glibc gives freed memory back to the system from twice the size on of the largest mapping that it has
 * ever seen freed; then each 4 KiB of it that are had again take a fault. */
void keep_freed_memory(size_t size) {
    void *volatile block = malloc(size);
    free(block);
}

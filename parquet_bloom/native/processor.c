/* Which instructions this machine has, and which of them are used; what it does with freed memory. */
#include <stdlib.h>

#include "kernel.h"

/* What a machine can have: each code path, and multiplication without carries. */
enum { CLMUL = NUM_CODE_PATHS };

#if defined(__x86_64__)
#include <cpuid.h>

/* What the system keeps of each thread (XCR0). */
enum { KEEPS_YMM = 0x06, KEEPS_ZMM = 0xe6 };

static int all_of(unsigned bits, unsigned wanted) { return (bits & wanted) == wanted; }

/* Asks the processor: what __builtin_cpu_supports answers comes with the compiler, and Zig's says no to all. */
static unsigned ask_machine(void) {
    unsigned basic = 0, extended = 0, kept = 0, a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d)) basic = c;
    if (basic & bit_OSXSAVE) __asm__("xgetbv" : "=a"(kept), "=d"(d) : "c"(0));
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) extended = b;
    unsigned has = 1 << ANY_PROCESSOR;
    if (basic & bit_PCLMUL) has |= 1 << CLMUL;
    if (!(basic & bit_POPCNT && extended & bit_AVX2 && all_of(kept, KEEPS_YMM))) return has;
    has |= 1 << WITH_AVX2;
    if (all_of(extended, bit_AVX512F | bit_AVX512DQ | bit_AVX512VL) && all_of(kept, KEEPS_ZMM))
        has |= 1 << WITH_AVX512;
    return has;
}
#else
static unsigned ask_machine(void) { return 1 << ANY_PROCESSOR; }
#endif

/* Asked once: on a virtual machine, to ask takes as long as many values. Racing first calls store the same. */
static int machine_has(int what) {
    static unsigned answer = 0;
    unsigned has = __atomic_load_n(&answer, __ATOMIC_RELAXED);
    if (!has) {
        has = ask_machine();
        __atomic_store_n(&answer, has, __ATOMIC_RELAXED);
    }
    return has >> what & 1;
}

int machine_has_clmul(void) { return machine_has(CLMUL); }

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
        while (!machine_has(answer)) answer--;
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

/* Loads a kernel and calls what needs no Python: load_kernel PATH. Prints XXH64 and CRC-32 of "abc". */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int count, char **arguments) {
    void *kernel = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    if (!kernel) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    const uint8_t *abc = (const uint8_t *)"abc";
    uint64_t (*xxh64)(const uint8_t *, size_t), hash;
    uint32_t (*checksum)(const uint8_t *, size_t);
    *(void **)&xxh64 = dlsym(kernel, "xxh64");
    *(void **)&checksum = dlsym(kernel, "checksum");
    hash = xxh64(abc, 3);
    printf("%llx %x\n", (unsigned long long)hash, checksum(abc, 3));
    return 0;
}

/* As an agent, takes the address at which cprof likes its arena to be (LOW in agent/arena/mod.rs); the JVM does not start if that cannot be. */
#include <jni.h>
#include <stdio.h>
#include <sys/mman.h>

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    void *low = (void *)((jlong)256 << 20);
    void *taken = mmap(low, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)vm, (void)options, (void)reserved;
    if (taken == low)
        return JNI_OK;
    fprintf(stderr, "%p is taken already\n", low);
    return JNI_ERR;
}

/* The classical exact call counter, to compare with: a JVMTI agent that asks for every MethodEntry and MethodExit event.
 *
 *   java -agentpath:libentry_exit.so[=FILE] ...
 *
 * Counts per method its calls and its exits by an exception, and at VMDeath writes them to FILE (default: standard
 * error, the total only). HotSpot runs a thread that has these events enabled in the interpreter only, which is where most
 * of the cost comes from.
 */
#include <jvmti.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More methods than any of the benchmarked programs executes (javac: about 12,000). */
#define SLOTS (1u << 18)

struct method {
    _Atomic(jmethodID) id;
    atomic_ullong calls;
    atomic_ullong exceptional;
};

static struct method methods[SLOTS];
static atomic_ullong lost;
static char *out_path;

/* Open addressing; an id, once in its slot, stays there. NULL when the table is full. */
static struct method *find(jmethodID id) {
    uint32_t slot = (uint32_t)(((uintptr_t)id >> 3) * 0x9E3779B97F4A7C15ull >> 46);
    for (uint32_t i = 0; i < SLOTS; i++, slot = (slot + 1) & (SLOTS - 1)) {
        jmethodID seen = atomic_load_explicit(&methods[slot].id, memory_order_acquire);
        if (seen == id) {
            return &methods[slot];
        }
        if (seen == NULL) {
            if (atomic_compare_exchange_strong(&methods[slot].id, &seen, id) || seen == id) {
                return &methods[slot];
            }
        }
    }
    return NULL;
}

static void JNICALL on_entry(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID id) {
    (void)jvmti, (void)jni, (void)thread;
    struct method *method = find(id);
    atomic_fetch_add_explicit(method ? &method->calls : &lost, 1, memory_order_relaxed);
}

static void JNICALL on_exit_event(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID id, jboolean by_exception,
                                  jvalue value) {
    (void)jvmti, (void)jni, (void)thread, (void)value;
    if (by_exception) {
        struct method *method = find(id);
        atomic_fetch_add_explicit(method ? &method->exceptional : &lost, 1, memory_order_relaxed);
    }
}

static void write_method(jvmtiEnv *jvmti, FILE *out, struct method *method) {
    jclass class;
    char *class_name = NULL, *name = NULL, *descriptor = NULL;
    if ((*jvmti)->GetMethodDeclaringClass(jvmti, method->id, &class) == JVMTI_ERROR_NONE &&
        (*jvmti)->GetClassSignature(jvmti, class, &class_name, NULL) == JVMTI_ERROR_NONE &&
        (*jvmti)->GetMethodName(jvmti, method->id, &name, &descriptor, NULL) == JVMTI_ERROR_NONE) {
        fprintf(out, "%llu %llu %s%s%s\n", method->calls, method->exceptional, class_name, name, descriptor);
    } else {
        fprintf(out, "%llu %llu (unloaded)\n", method->calls, method->exceptional);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)class_name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)descriptor);
}

static void JNICALL on_death(jvmtiEnv *jvmti, JNIEnv *jni) {
    (void)jni;
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_DISABLE, JVMTI_EVENT_METHOD_ENTRY, NULL);
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_DISABLE, JVMTI_EVENT_METHOD_EXIT, NULL);
    unsigned long long calls = 0;
    FILE *out = out_path ? fopen(out_path, "w") : NULL;
    if (out_path && !out) {
        fprintf(stderr, "entry-exit: cannot write %s\n", out_path);
    }
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        if (methods[slot].id) {
            calls += methods[slot].calls;
            if (out) {
                write_method(jvmti, out, &methods[slot]);
            }
        }
    }
    if (out) {
        fclose(out);
    }
    fprintf(stderr, "entry-exit: %llu calls, %llu events lost\n", calls, atomic_load(&lost));
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    jvmtiEnv *jvmti;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK) {
        fprintf(stderr, "entry-exit: this JVM has no JVMTI 1.2\n");
        return JNI_ERR;
    }
    out_path = options && *options ? strdup(options) : NULL;
    jvmtiCapabilities capabilities = {.can_generate_method_entry_events = 1, .can_generate_method_exit_events = 1};
    jvmtiEventCallbacks callbacks = {.MethodEntry = on_entry, .MethodExit = on_exit_event, .VMDeath = on_death};
    jvmtiEvent events[] = {JVMTI_EVENT_METHOD_ENTRY, JVMTI_EVENT_METHOD_EXIT, JVMTI_EVENT_VM_DEATH};
    jvmtiError error = (*jvmti)->AddCapabilities(jvmti, &capabilities);
    if (!error) {
        error = (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks);
    }
    for (size_t i = 0; !error && i < sizeof events / sizeof *events; i++) {
        error = (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, events[i], NULL);
    }
    if (error) {
        fprintf(stderr, "entry-exit: JVMTI refused the method events (error %d)\n", error);
        return JNI_ERR;
    }
    return JNI_OK;
}

/* The native side of Attaches.java. */
#include <jni.h>
#include <pthread.h>

struct order {
    JavaVM *vm;
    jclass attaches;
    jmethodID called;
    jint times;
};

static void *run(void *argument) {
    struct order *order = argument;
    for (jint i = 0; i < order->times; i++) {
        JNIEnv *jni;
        /* Names of two kinds, one of which the JVM makes up. */
        JavaVMAttachArgs named = {JNI_VERSION_1_8, "from native code", NULL};
        if ((*order->vm)->AttachCurrentThread(order->vm, (void **)&jni, i % 2 ? &named : NULL))
            break;
        (*jni)->CallStaticVoidMethod(jni, order->attaches, order->called);
        (*order->vm)->DetachCurrentThread(order->vm);
    }
    return NULL;
}

JNIEXPORT void JNICALL Java_Attaches_attach(JNIEnv *jni, jclass attaches, jint times) {
    struct order order = {.attaches = attaches, .times = times};
    order.called = (*jni)->GetStaticMethodID(jni, attaches, "called", "()V");
    pthread_t thread;
    if (order.called && !(*jni)->GetJavaVM(jni, &order.vm) && !pthread_create(&thread, NULL, run, &order))
        pthread_join(thread, NULL);
}

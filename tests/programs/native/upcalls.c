/* The native side of Upcalls.java and Workers.java. */
#include <jni.h>
#include <stdlib.h>
#include <unistd.h>

static jint call(JNIEnv *jni, jclass upcalls, const char *name, jint x) {
    jmethodID id = (*jni)->GetStaticMethodID(jni, upcalls, name, "(I)I");
    return id ? (*jni)->CallStaticIntMethod(jni, upcalls, id, x) : 0;
}

JNIEXPORT jint JNICALL Java_Upcalls_callBack(JNIEnv *jni, jclass upcalls, jint x) {
    return call(jni, upcalls, "called", x);
}

JNIEXPORT jint JNICALL Java_Upcalls_callBackClearing(JNIEnv *jni, jclass upcalls, jint x) {
    jint result = call(jni, upcalls, "called", x);
    if (!(*jni)->ExceptionCheck(jni))
        return result;
    (*jni)->ExceptionClear(jni);
    return -1;
}

JNIEXPORT jint JNICALL Java_Upcalls_recurse(JNIEnv *jni, jclass upcalls, jint depth) {
    return call(jni, upcalls, "bounce", depth);
}

JNIEXPORT jint JNICALL Java_Upcalls_construct(JNIEnv *jni, jobject self, jint x) {
    jclass upcalls = (*jni)->GetObjectClass(jni, self);
    jmethodID constructor = (*jni)->GetMethodID(jni, upcalls, "<init>", "(I)V");
    jobject made = (*jni)->NewObject(jni, upcalls, constructor, x);
    return made ? x : 0;
}

JNIEXPORT void JNICALL Java_Upcalls_throwNew(JNIEnv *jni, jclass upcalls, jstring message) {
    (void)upcalls;
    const char *text = (*jni)->GetStringUTFChars(jni, message, NULL);
    jclass arithmetic = (*jni)->FindClass(jni, "java/lang/ArithmeticException");
    if (text && arithmetic)
        (*jni)->ThrowNew(jni, arithmetic, text);
    if (text)
        (*jni)->ReleaseStringUTFChars(jni, message, text);
}

/* The native side of Workers.java: what a defect in native code ends in, with a process that was forked before and outlives it. */
JNIEXPORT void JNICALL Java_Workers_abort(JNIEnv *jni, jclass workers) {
    (void)jni;
    (void)workers;
    if (fork() == 0) {
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        sleep(30);
        _exit(0);
    }
    abort();
}

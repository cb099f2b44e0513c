/*
 * An independent count to compare cprof with: calls, exceptional exits and executed bytecodes per calling context, by
 * JVMTI events alone. They come from breakpoints on what is executed, since SingleStep is not exact: HotSpot posts none for
 * the second half of a rewritten pair of bytecodes, during constant-pool resolution, and at a handler's first bytecode.
 * An instruction behind one that merely goes on (`merely_goes_on`) is counted with that one, unless something jumps to it:
 * HotSpot takes most of the time looking breakpoints up, in a list per class. With `each`, every instruction has its own.
 * Where an agent can set breakpoints, HotSpot joins no pairs of bytecodes (RewriteFrequentPairs), which would skip one that
 * stands on the second.
 * Nothing here is shared with cprof, the instruction decoder included.
 *
 *   -agentpath:liboracle.so=root=p.Class.method,root=…,out=FILE[,shallow=PREFIX]…[,trace=FILE][,each][,debug]
 *
 * Counts the dynamic extent, in each thread, of the methods named. Definitions:
 *  - a call is counted at its first bytecode: a frame that overflowed the stack before that was no call;
 *  - a bytecode that throws was executed;
 *  - native methods are no contexts: what they call stands below the nearest caller with bytecode;
 *  - an exceptional exit is a frame left otherwise than by a return instruction.
 *
 * Of methods whose class begins with shallow=, calls and exits are counted, their bytecodes are not: breakpoints are slow where a class has
 * thousands (HotSpot looks for the original bytecode in a list per class), and some counts nobody compares.
 *
 * With trace=, every call and exit is written as well, in order, a line each: the number of the thread, what happened (E: entered, R:
 * returned, X: left by an exception, C: goes on in a handler), the context's index in out=, and an opcode: on E of the instruction that called it, 0 where none
 * did (the first of a thread, what native code or the JVM itself calls), else of the instruction executed last. Then out= also has
 * executions by opcode.
 */
#include "bytecode.h"
#include "tree.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROOTS = 256, MAX_SHALLOW = 16, NOTHING_EXECUTED = -1, NOWHERE = -1, WIDE = 0xc4 };

struct frame {
    struct method *method;
    struct node *node; /* for a native frame its caller's */
    int last;          /* opcode executed last */
    int from, at;      /* of what was counted at one breakpoint the first instruction, and the last: where it stands */
    int caught;        /* a handler that was counted when the exception was caught, until a breakpoint is met */
};

struct thread {
    struct frame *frames;
    int depth, room;
    int number;
};

static struct {
    char *class_name, *method;
} roots[MAX_ROOTS];
static int root_count;
static char *shallow[MAX_SHALLOW];
static int shallow_count;
static char *out_path;
static char *trace_path;
static FILE *trace;
static int threads;
static int each;
static int debug;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int dead;
/* Events that contradict the shadow stack. Anything but 0 makes the count worthless, so it is written too. */
static unsigned long long mismatches;

void die(const char *what, jvmtiError error) {
    fprintf(stderr, "oracle: %s failed: JVMTI error %d\n", what, (int)error);
    _Exit(99);
}

static void check(const char *what, jvmtiError error) {
    if (error != JVMTI_ERROR_NONE)
        die(what, error);
}

static void mismatch(const char *event, struct method *seen, struct thread *thread) {
    mismatches++;
    if (!debug)
        return;
    struct method *top = thread->depth > 0 ? thread->frames[thread->depth - 1].method : NULL;
    fprintf(stderr, "oracle: %s of %s.%s%s, but on top is %s.%s (depth %d)\n", event, seen->class_name, seen->name,
            seen->descriptor, top ? top->class_name : "-", top ? top->name : "-", thread->depth);
}

static void note(struct thread *thread, char what, struct node *node, int opcode) {
    if (fprintf(trace, "%d %c %ld %d\n", thread->number, what, node->index, opcode) < 0)
        die("writing trace=", JVMTI_ERROR_NONE);
}

/* The opcode of the instruction that called the method on top, 0 where none did. */
static int called_by(jvmtiEnv *jvmti, struct thread *thread) {
    if (thread->depth < 2)
        return 0;
    struct frame *caller = &thread->frames[thread->depth - 2];
    struct method *in = caller->method, *callee = thread->frames[thread->depth - 1].method;
    if (in->native || caller->last == NOTHING_EXECUTED)
        return 0;
    if (in->pool == NULL) {
        jclass holder;
        jint count;
        check("GetMethodDeclaringClass", (*jvmti)->GetMethodDeclaringClass(jvmti, in->id, &holder));
        check("GetConstantPool", (*jvmti)->GetConstantPool(jvmti, holder, &count, &in->pool_length, &in->pool));
    }
    return call_of(in->code, in->length, caller->at, in->pool, in->pool_length, callee->name, callee->descriptor);
}

static struct thread *current(jvmtiEnv *jvmti) {
    void *thread = NULL;
    check("GetThreadLocalStorage", (*jvmti)->GetThreadLocalStorage(jvmti, NULL, &thread));
    return thread;
}

static int is_shallow(const struct method *m) {
    for (int i = 0; i < shallow_count; i++)
        if (strncmp(m->class_name, shallow[i], strlen(shallow[i])) == 0)
            return 1;
    return 0;
}

/* There is room for what dead code at the end seems to go on with. */
static void mark(struct method *m, int at, enum place what) {
    if (at < 0 || at > m->length)
        die("decoding bytecode", JVMTI_ERROR_INTERNAL);
    m->places[at] |= what;
}

static void mark_first(void *method, int at) {
    mark(method, at, FIRST);
}

/* Whether HotSpot may hide some of its instructions: it posts no events while a thread mounts or unmounts (jvmtiExport.cpp, since JDK 21),
 * which begins and ends in the middle of methods of these classes. */
static int is_hidden_in_part(const struct method *m) {
    return strncmp(m->class_name, "java.lang.VirtualThread", 23) == 0 || strncmp(m->class_name, "jdk.internal.vm.Continuation", 28) == 0;
}

/* What is known of a method's instructions before it runs. */
static void look_through(struct method *m) {
    m->places = calloc((size_t)m->length + 1, 1);
    if (m->places == NULL)
        die("calloc", JVMTI_ERROR_OUT_OF_MEMORY);
    m->shallow = is_shallow(m);
    int apart = each || m->shallow || is_hidden_in_part(m);
    for (int at = 0, length; at < m->length; at += length) {
        if ((length = instruction_length(m->code, m->length, at)) <= 0)
            die("decoding bytecode", JVMTI_ERROR_INTERNAL);
        if (apart)
            mark(m, at, FIRST);
        else if (!merely_goes_on(m->code, m->length, at))
            successors(m->code, m->length, at, mark_first, m);
    }
}

/* A breakpoint on that instruction, once. */
static void arm(jvmtiEnv *jvmti, struct method *m, int at) {
    if (m->places == NULL)
        look_through(m);
    if (at < 0 || at >= m->length)
        die("decoding bytecode", JVMTI_ERROR_INTERNAL);
    if (m->places[at] & ARMED)
        return;
    m->places[at] |= ARMED;
    check("SetBreakpoint", (*jvmti)->SetBreakpoint(jvmti, m->id, at));
}

struct following {
    jvmtiEnv *jvmti;
    struct method *method;
};

static void arm_next(void *data, int at) {
    struct following *following = data;
    arm(following->jvmti, following->method, at);
}

/* The instruction is about to be executed: a breakpoint on all that may follow it. HotSpot takes time for each breakpoint that there is
 * whenever another is set, and whenever one of its class is met, so none stands where nobody comes. Handlers: exception_catch. */
static void reached(jvmtiEnv *jvmti, struct method *m, int at) {
    if (m->shallow || m->places[at] & REACHED)
        return;
    m->places[at] |= REACHED;
    struct following following = {jvmti, m};
    if (!successors(m->code, m->length, at, arm_next, &following))
        die("decoding bytecode", JVMTI_ERROR_INTERNAL);
}

/* A method is entered: its first instruction is all that can come, unless some that come cannot be seen. */
static void arm_entry(jvmtiEnv *jvmti, struct method *m) {
    if (m->native)
        return;
    int all = is_hidden_in_part(m) && !is_shallow(m);
    for (int at = 0, length; at < (all ? m->length : 1); at += length) {
        arm(jvmti, m, at);
        if ((length = instruction_length(m->code, m->length, at)) <= 0)
            die("decoding bytecode", JVMTI_ERROR_INTERNAL);
    }
}

static void push(struct thread *thread, struct method *m) {
    if (thread->depth == thread->room) {
        thread->room = thread->room ? 2 * thread->room : 256;
        thread->frames = realloc(thread->frames, thread->room * sizeof *thread->frames);
        if (thread->frames == NULL)
            die("realloc", JVMTI_ERROR_OUT_OF_MEMORY);
    }
    struct node *parent = thread->depth ? thread->frames[thread->depth - 1].node : tree_root();
    struct frame *frame = &thread->frames[thread->depth++];
    frame->method = m;
    frame->node = m->native ? parent : child_of(parent, m);
    frame->last = NOTHING_EXECUTED;
    frame->caught = NOWHERE;
}

static void frame_events(jvmtiEnv *jvmti, jthread thread, jvmtiEventMode mode) {
    check("SetEventNotificationMode",
          (*jvmti)->SetEventNotificationMode(jvmti, mode, JVMTI_EVENT_METHOD_ENTRY, thread));
    check("SetEventNotificationMode",
          (*jvmti)->SetEventNotificationMode(jvmti, mode, JVMTI_EVENT_METHOD_EXIT, thread));
}

/* A root method is entered by a thread that is in none: its own MethodEntry was not asked for. */
static struct thread *begin(jvmtiEnv *jvmti, jthread jthread, struct thread *thread, struct method *m) {
    if (thread == NULL) {
        thread = calloc(1, sizeof *thread);
        if (thread == NULL)
            die("calloc", JVMTI_ERROR_OUT_OF_MEMORY);
        thread->number = threads++;
        check("SetThreadLocalStorage", (*jvmti)->SetThreadLocalStorage(jvmti, NULL, thread));
    }
    arm_entry(jvmti, m);
    push(thread, m);
    frame_events(jvmti, jthread, JVMTI_ENABLE);
    return thread;
}

/* The instruction is about to be executed in the frame on top, and so are those behind it, up to one that may go elsewhere or has a
 * breakpoint behind it. */
static void executes(jvmtiEnv *jvmti, struct frame *top, int at) {
    struct method *m = top->method;
    top->from = at;
    for (;; at += instruction_length(m->code, m->length, at)) {
        top->at = at;
        top->last = m->code[at];
        top->node->bytecodes++;
        if (trace != NULL) {
            count_opcode(top->node, m->code[at]);
            if (m->code[at] == WIDE)
                count_opcode(top->node, m->code[at + 1]);
        }
        if (!merely_goes_on(m->code, m->length, at) || m->places[at + instruction_length(m->code, m->length, at)] & (FIRST | ARMED))
            break;
    }
    reached(jvmti, m, at);
}

/* Whether the instruction was counted already, with one before it: another thread has since set this breakpoint, for a handler. */
static int is_counted(const struct frame *top, int at) {
    return top->last != NOTHING_EXECUTED && top->from < at && at <= top->at;
}

static void JNICALL breakpoint(jvmtiEnv *jvmti, JNIEnv *jni, jthread jthread, jmethodID id, jlocation at) {
    (void)jni;
    struct thread *thread = current(jvmti);
    pthread_mutex_lock(&lock);
    if (!dead) {
        struct method *m = method_of(jvmti, id);
        if ((thread == NULL || thread->depth == 0) && m->root && at == 0)
            thread = begin(jvmti, jthread, thread, m);
        if (thread != NULL && thread->depth > 0) {
            struct frame *top = &thread->frames[thread->depth - 1];
            if (top->method == m) {
                if (top->last == NOTHING_EXECUTED) {
                    top->node->calls++;
                    if (trace != NULL)
                        note(thread, 'E', top->node, called_by(jvmti, thread));
                }
                int caught = top->caught == (int)at;
                top->caught = NOWHERE;
                if (!caught && !is_counted(top, (int)at))
                    executes(jvmti, top, (int)at);
            } else {
                mismatch("breakpoint", m, thread);
            }
        }
    }
    pthread_mutex_unlock(&lock);
}

static void JNICALL method_entry(jvmtiEnv *jvmti, JNIEnv *jni, jthread jthread, jmethodID id) {
    (void)jni, (void)jthread;
    struct thread *thread = current(jvmti);
    if (thread == NULL || thread->depth == 0)
        return;
    pthread_mutex_lock(&lock);
    if (!dead) {
        struct method *m = method_of(jvmti, id);
        arm_entry(jvmti, m);
        push(thread, m);
    }
    pthread_mutex_unlock(&lock);
}

static void JNICALL method_exit(jvmtiEnv *jvmti, JNIEnv *jni, jthread jthread, jmethodID id, jboolean by_exception,
                                jvalue value) {
    (void)jni, (void)value;
    struct thread *thread = current(jvmti);
    if (thread == NULL || thread->depth == 0)
        return;
    pthread_mutex_lock(&lock);
    if (!dead) {
        struct method *m = method_of(jvmti, id);
        struct frame *top = &thread->frames[thread->depth - 1];
        if (top->method != m) {
            mismatch("exit", m, thread);
        } else {
            if (!m->native && top->last != NOTHING_EXECUTED) {
                int thrown = m->shallow ? by_exception : !is_return(top->last);
                if (thrown)
                    top->node->thrown++;
                if (trace != NULL)
                    note(thread, thrown ? 'X' : 'R', top->node, top->last);
                if (thrown != by_exception)
                    mismatch(by_exception ? "exit by exception" : "normal exit", m, thread);
            }
            thread->depth--;
        }
        if (thread->depth == 0)
            frame_events(jvmti, jthread, JVMTI_DISABLE);
    }
    pthread_mutex_unlock(&lock);
}

static void JNICALL exception_catch(jvmtiEnv *jvmti, JNIEnv *jni, jthread jthread, jmethodID id, jlocation at, jobject thrown) {
    (void)jni, (void)jthread, (void)thrown;
    struct thread *thread = current(jvmti);
    if (thread == NULL || thread->depth == 0)
        return;
    pthread_mutex_lock(&lock);
    struct frame *top = &thread->frames[thread->depth - 1];
    if (!dead && top->method == method_of(jvmti, id)) {
        if (trace != NULL && top->last != NOTHING_EXECUTED)
            note(thread, 'C', top->node, top->last);
        int first = top->method->places[at] & FIRST, armed = top->method->places[at] & ARMED;
        if (top->method->shallow || (first && armed)) {
            top->from = top->at = (int)at;
        } else {
            /* A breakpoint from now on; this time HotSpot has read the bytecode already (interpreterRuntime.cpp,
             * exception_handler_for_exception), and executes it without. It may even where there was a breakpoint, if another thread set it
             * meanwhile; if not, it is met, and nothing else leads to it. */
            arm(jvmti, top->method, (int)at);
            executes(jvmti, top, (int)at);
            top->caught = first ? NOWHERE : (int)at;
        }
    }
    pthread_mutex_unlock(&lock);
}

static void JNICALL class_prepare(jvmtiEnv *jvmti, JNIEnv *jni, jthread jthread, jclass prepared) {
    (void)jni, (void)jthread;
    char *signature;
    check("GetClassSignature", (*jvmti)->GetClassSignature(jvmti, prepared, &signature, NULL));
    size_t length = strlen(signature) - 2;
    for (size_t i = 0; signature[i]; i++)
        if (signature[i] == '/')
            signature[i] = '.';
    for (int r = 0; r < root_count; r++) {
        if (strlen(roots[r].class_name) != length || strncmp(roots[r].class_name, signature + 1, length) != 0)
            continue;
        jint count;
        jmethodID *ids;
        check("GetClassMethods", (*jvmti)->GetClassMethods(jvmti, prepared, &count, &ids));
        for (jint i = 0; i < count; i++) {
            pthread_mutex_lock(&lock);
            struct method *m = method_of(jvmti, ids[i]);
            if (strcmp(m->name, roots[r].method) == 0 && !m->native && !m->root) {
                m->root = 1;
                arm(jvmti, m, 0);
            }
            pthread_mutex_unlock(&lock);
        }
        (*jvmti)->Deallocate(jvmti, (unsigned char *)ids);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
}

static void JNICALL vm_death(jvmtiEnv *jvmti, JNIEnv *jni) {
    (void)jvmti, (void)jni;
    pthread_mutex_lock(&lock);
    dead = 1;
    FILE *out = fopen(out_path, "w");
    if (out == NULL)
        die("opening out=", JVMTI_ERROR_NONE);
    write_tree(out);
    fprintf(out, "mismatches,%llu\n", mismatches);
    if (fclose(out) != 0)
        die("writing out=", JVMTI_ERROR_NONE);
    if (trace != NULL && fclose(trace) != 0)
        die("writing trace=", JVMTI_ERROR_NONE);
    pthread_mutex_unlock(&lock);
}

static int parse(char *options) {
    for (char *rest = options, *option; (option = strtok_r(rest, ",", &rest)) != NULL;) {
        if (strncmp(option, "root=", 5) == 0 && root_count < MAX_ROOTS) {
            char *dot = strrchr(option + 5, '.');
            if (dot == NULL)
                return 0;
            *dot = 0;
            roots[root_count].class_name = strdup(option + 5);
            roots[root_count++].method = strdup(dot + 1);
        } else if (strncmp(option, "shallow=", 8) == 0 && shallow_count < MAX_SHALLOW) {
            shallow[shallow_count++] = strdup(option + 8);
        } else if (strncmp(option, "out=", 4) == 0) {
            out_path = strdup(option + 4);
        } else if (strncmp(option, "trace=", 6) == 0) {
            trace_path = strdup(option + 6);
        } else if (strcmp(option, "each") == 0) {
            each = 1;
        } else if (strcmp(option, "debug") == 0) {
            debug = 1;
        } else {
            return 0;
        }
    }
    return root_count > 0 && out_path != NULL;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    char *copy = strdup(options ? options : "");
    if (!parse(copy)) {
        fprintf(stderr,
                "oracle: options are root=Class.method (up to %d), shallow=PREFIX (up to %d), out=FILE, trace=FILE, each, debug; got '%s'\n",
                MAX_ROOTS, MAX_SHALLOW, options ? options : "");
        return JNI_ERR;
    }
    free(copy);
    if (trace_path != NULL && (trace = fopen(trace_path, "w")) == NULL)
        die("opening trace=", JVMTI_ERROR_NONE);
    jvmtiEnv *jvmti;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK)
        return JNI_ERR;
    jvmtiCapabilities want = {0};
    want.can_generate_breakpoint_events = 1;
    want.can_generate_method_entry_events = 1;
    want.can_generate_method_exit_events = 1;
    want.can_get_bytecodes = 1;
    want.can_get_constant_pool = 1;
    want.can_generate_exception_events = 1;
#ifdef JNI_VERSION_21 /* JVMTI_VERSION_21 is an enumerator, invisible to the preprocessor */
    want.can_support_virtual_threads = 1;
#endif
    check("AddCapabilities", (*jvmti)->AddCapabilities(jvmti, &want));
    jvmtiEventCallbacks on = {0};
    on.Breakpoint = breakpoint;
    on.MethodEntry = method_entry;
    on.MethodExit = method_exit;
    on.ExceptionCatch = exception_catch;
    on.ClassPrepare = class_prepare;
    on.VMDeath = vm_death;
    check("SetEventCallbacks", (*jvmti)->SetEventCallbacks(jvmti, &on, sizeof on));
    jvmtiEvent everywhere[] = {JVMTI_EVENT_BREAKPOINT, JVMTI_EVENT_EXCEPTION_CATCH, JVMTI_EVENT_CLASS_PREPARE, JVMTI_EVENT_VM_DEATH};
    for (size_t i = 0; i < sizeof everywhere / sizeof *everywhere; i++)
        check("SetEventNotificationMode",
              (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, everywhere[i], NULL));
    return JNI_OK;
}

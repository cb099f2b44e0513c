#include "tree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 16, OPCODES = 256 };

static struct method *methods[BUCKETS];
static struct node *nodes[BUCKETS];
static struct node root;
static struct node *youngest = &root;

static unsigned bucket(uintptr_t a, uintptr_t b) {
    uint64_t h = (a >> 3) * 0x9e3779b97f4a7c15u ^ (b >> 3) * 0xc2b2ae3d27d4eb4fu;
    return (unsigned)(h >> 32) % BUCKETS;
}

static void *allocate(size_t size) {
    void *memory = calloc(1, size);
    if (memory == NULL)
        die("calloc", JVMTI_ERROR_OUT_OF_MEMORY);
    return memory;
}

static void check(const char *what, jvmtiError error) {
    if (error != JVMTI_ERROR_NONE)
        die(what, error);
}

static char *duplicate(const char *text, size_t length) {
    char *copy = allocate(length + 1);
    memcpy(copy, text, length);
    return copy;
}

/* `Lp/C;` as `p.C`. In the signature of a hidden class `Lp/C.0x7f;` the dot is the JVM's own. */
static char *dotted(const char *signature) {
    char *name = duplicate(signature + 1, strlen(signature) - 2);
    for (char *c = name; *c; c++)
        if (*c == '/')
            *c = '.';
    return name;
}

struct method *method_of(jvmtiEnv *jvmti, jmethodID id) {
    struct method **head = &methods[bucket((uintptr_t)id, 0)];
    for (struct method *m = *head; m != NULL; m = m->next)
        if (m->id == id)
            return m;
    struct method *m = allocate(sizeof *m);
    m->id = id;
    char *name, *descriptor, *signature;
    jclass holder;
    jboolean native;
    check("GetMethodName", (*jvmti)->GetMethodName(jvmti, id, &name, &descriptor, NULL));
    check("GetMethodDeclaringClass", (*jvmti)->GetMethodDeclaringClass(jvmti, id, &holder));
    check("GetClassSignature", (*jvmti)->GetClassSignature(jvmti, holder, &signature, NULL));
    check("IsMethodNative", (*jvmti)->IsMethodNative(jvmti, id, &native));
    m->class_name = dotted(signature);
    m->name = duplicate(name, strlen(name));
    m->descriptor = duplicate(descriptor, strlen(descriptor));
    m->native = native;
    if (!native)
        check("GetBytecodes", (*jvmti)->GetBytecodes(jvmti, id, &m->length, &m->code));
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)descriptor);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    m->next = *head;
    *head = m;
    return m;
}

struct node *tree_root(void) {
    return &root;
}

struct node *child_of(struct node *parent, struct method *method) {
    struct node **head = &nodes[bucket((uintptr_t)parent, (uintptr_t)method)];
    for (struct node *n = *head; n != NULL; n = n->next)
        if (n->parent == parent && n->method == method)
            return n;
    struct node *n = allocate(sizeof *n);
    n->parent = parent;
    n->method = method;
    n->next = *head;
    n->index = youngest->index + 1;
    *head = n;
    youngest->younger = n;
    youngest = n;
    return n;
}

void count_opcode(struct node *node, int opcode) {
    if (node->opcodes == NULL)
        node->opcodes = allocate(OPCODES * sizeof *node->opcodes);
    node->opcodes[opcode]++;
}

void write_tree(FILE *out) {
    fprintf(out, "index,parent,class,method,descriptor,calls,exceptional_exits,bytecodes,code_length,opcodes\n");
    for (struct node *n = root.younger; n != NULL; n = n->younger) {
        fprintf(out, "%ld,%ld,%s,%s,%s,%llu,%llu,%llu,%d,", n->index, n->parent->index, n->method->class_name,
                n->method->name, n->method->descriptor, n->calls, n->thrown, n->bytecodes, (int)n->method->length);
        const char *between = "";
        for (int opcode = 0; n->opcodes != NULL && opcode < OPCODES; opcode++) {
            if (n->opcodes[opcode] == 0)
                continue;
            fprintf(out, "%s%d:%llu", between, opcode, n->opcodes[opcode]);
            between = " ";
        }
        fputc('\n', out);
    }
}

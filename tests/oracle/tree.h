/* The methods seen and the calling context tree. Not thread-safe: the caller holds the oracle's lock. */
#ifndef ORACLE_TREE_H
#define ORACLE_TREE_H

#include <jvmti.h>
#include <stdio.h>

struct method {
    jmethodID id;
    char *class_name; /* dotted; hidden classes as the JVM names them */
    char *name;
    char *descriptor;
    unsigned char *code; /* original bytecode */
    jint length;
    unsigned char *pool; /* constant pool; NULL until a call of the method's is looked at */
    jint pool_length;
    int native;
    unsigned char *places; /* what is known of each bytecode: `enum place` */
    int root;    /* named by root= */
    int shallow; /* its bytecodes are not counted */
    struct method *next;
};

/* A breakpoint stands there; it was reached, so that one stands on all that can follow it; it is not counted with the one before it. */
enum place { ARMED = 1, REACHED = 2, FIRST = 4 };

struct node {
    struct node *parent;
    struct method *method; /* NULL: the tree's root */
    struct node *next;     /* of the same hash */
    struct node *younger;  /* in order of creation, for writing: parents come first */
    long index;
    unsigned long long calls, thrown, bytecodes;
    unsigned long long *opcodes; /* executions by opcode, a widened instruction's under wide and under what it widens; or NULL */
};

/* The method of that id; described on first sight by JVMTI. Ends the process when JVMTI refuses. */
struct method *method_of(jvmtiEnv *jvmti, jmethodID id);

/* The tree's root. */
struct node *tree_root(void);

/* The child of `parent` for `method`, made on first use. */
struct node *child_of(struct node *parent, struct method *method);

/* An opcode was executed in that context. */
void count_opcode(struct node *node, int opcode);

/* Writes `index,parent,class,method,descriptor,calls,exceptional_exits,bytecodes,code_length,opcodes`, one context a line, parents
 * first; opcodes as `opcode:executions` with spaces between. */
void write_tree(FILE *out);

/* Reports a broken oracle and ends the process: an oracle that guesses is none. */
void die(const char *what, jvmtiError error);

#endif

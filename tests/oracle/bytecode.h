/* JVM bytecode: instruction boundaries (JVMS 6.5), what follows, which instructions return, and which method a call names (JVMS 4.4.2). */
#ifndef ORACLE_BYTECODE_H
#define ORACLE_BYTECODE_H

/* Length in bytes of the instruction at `at` of `code`, which is `length` bytes long; 0 if there is no instruction. */
int instruction_length(const unsigned char *code, int length, int at);

/* Calls `each` with `data` and where control may go on after the instruction at `at`, exceptions aside. Subroutines return behind whoever
 * called them, which is one of the answers for jsr, and there is none for ret. 0 if there is no instruction. */
int successors(const unsigned char *code, int length, int at, void (*each)(void *data, int at), void *data);

/* Whether the next instruction follows the one at `at` whatever happens: it neither jumps nor returns, throws nothing, and calls and
 * resolves nothing (JVMS 6.5). */
int merely_goes_on(const unsigned char *code, int length, int at);

/* Whether the opcode leaves the method normally: ireturn .. return. */
int is_return(int opcode);

/* The opcode of the call instruction at `at`, if it names a method of that name and descriptor in its constant pool, or is an
 * invokedynamic, which names none; else 0: then the instruction called nothing, and what runs now was called by the JVM itself. */
int call_of(const unsigned char *code, int length, int at, const unsigned char *pool, int pool_length, const char *name,
            const char *descriptor);

#endif

/* Instruction boundaries of JVM bytecode (JVMS 6.5), and which instructions return. */
#ifndef ORACLE_BYTECODE_H
#define ORACLE_BYTECODE_H

/* Length in bytes of the instruction at `at` of `code`, which is `length` bytes long; 0 if there is no instruction. */
int instruction_length(const unsigned char *code, int length, int at);

/* Whether the opcode leaves the method normally: ireturn .. return. */
int is_return(int opcode);

#endif

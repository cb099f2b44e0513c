#include "bytecode.h"

enum {
    TABLESWITCH = 0xaa,
    LOOKUPSWITCH = 0xab,
    IRETURN = 0xac,
    RETURN = 0xb1,
    WIDE = 0xc4,
    IINC = 0x84,
    LAST_STANDARD = 0xc9, /* jsr_w; what follows is reserved or internal to a JVM */
};

/* Lengths of the opcodes 0x00 .. 0xc9, one row per sixteen; 0: depends on the operands. */
static const unsigned char LENGTHS[LAST_STANDARD + 1] = {
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* 00 nop .. dconst_1 */
    2, 3, 2, 3, 3, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, /* 10 bipush .. lload_1 */
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* 20 lload_2 .. laload */
    1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, /* 30 faload .. lstore_0 */
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* 40 lstore_1 .. iastore */
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* 50 lastore .. swap */
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* 60 iadd .. ddiv */
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* 70 irem .. land */
    1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* 80 ior .. d2l */
    1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, /* 90 d2f .. if_icmpeq */
    3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 0, 0, 1, 1, 1, 1, /* a0 if_icmpne .. dreturn */
    1, 1, 3, 3, 3, 3, 3, 3, 3, 5, 5, 3, 2, 3, 1, 1, /* b0 areturn .. athrow */
    3, 3, 1, 1, 0, 4, 3, 3, 5, 5,                   /* c0 checkcast .. jsr_w */
};

static int s4(const unsigned char *code, int length, int at) {
    if (at < 0 || at + 4 > length)
        return 0;
    return (int)((unsigned)code[at] << 24 | (unsigned)code[at + 1] << 16 | (unsigned)code[at + 2] << 8 | code[at + 3]);
}

int instruction_length(const unsigned char *code, int length, int at) {
    if (at < 0 || at >= length || code[at] > LAST_STANDARD)
        return 0;
    int opcode = code[at];
    int padded = (at + 4) & ~3; /* operands of a switch begin at the next multiple of four (JVMS 6.5) */
    switch (opcode) {
    case TABLESWITCH:
        return padded + 12 + 4 * (s4(code, length, padded + 8) - s4(code, length, padded + 4) + 1) - at;
    case LOOKUPSWITCH:
        return padded + 8 + 8 * s4(code, length, padded + 4) - at;
    case WIDE:
        return at + 1 < length && code[at + 1] == IINC ? 6 : 4;
    default:
        return LENGTHS[opcode];
    }
}

int is_return(int opcode) {
    return opcode >= IRETURN && opcode <= RETURN;
}

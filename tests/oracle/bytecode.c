#include "bytecode.h"

#include <string.h>

enum {
    SIPUSH = 0x11,
    ILOAD = 0x15,
    ALOAD_3 = 0x2d,
    ISTORE = 0x36,
    ASTORE_3 = 0x4e,
    POP = 0x57,
    IDIV = 0x6c,
    LDIV = 0x6d,
    IREM = 0x70,
    LREM = 0x71,
    DCMPG = 0x98,
    TABLESWITCH = 0xaa,
    LOOKUPSWITCH = 0xab,
    IRETURN = 0xac,
    RETURN = 0xb1,
    INVOKEVIRTUAL = 0xb6,
    INVOKEDYNAMIC = 0xba,
    WIDE = 0xc4,
    IINC = 0x84,
    IFEQ = 0x99,
    GOTO = 0xa7,
    JSR = 0xa8,
    RET = 0xa9,
    ATHROW = 0xbf,
    IFNULL = 0xc6,
    IFNONNULL = 0xc7,
    GOTO_W = 0xc8,
    JSR_W = 0xc9,
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

int successors(const unsigned char *code, int length, int at, void (*each)(void *data, int at), void *data) {
    int size = instruction_length(code, length, at);
    if (size <= 0)
        return 0;
    int opcode = code[at];
    int padded = (at + 4) & ~3;
    int wide_ret = opcode == WIDE && code[at + 1] == RET;
    if (opcode == TABLESWITCH || opcode == LOOKUPSWITCH) {
        each(data, at + s4(code, length, padded));
        /* Behind the default and low and high, or behind the default, the count and the first match. */
        for (int target = padded + 12; target < at + size; target += opcode == TABLESWITCH ? 4 : 8)
            each(data, at + s4(code, length, target));
    } else if (opcode == GOTO_W || opcode == JSR_W) {
        each(data, at + s4(code, length, at + 1));
    } else if ((opcode >= IFEQ && opcode <= JSR) || opcode == IFNULL || opcode == IFNONNULL) {
        each(data, at + (short)(code[at + 1] << 8 | code[at + 2]));
    }
    int goes_on = opcode != TABLESWITCH && opcode != LOOKUPSWITCH && opcode != GOTO && opcode != GOTO_W && opcode != RET && !wide_ret &&
                  opcode != ATHROW && !is_return(opcode);
    if (goes_on)
        each(data, at + size);
    return 1;
}

int merely_goes_on(const unsigned char *code, int length, int at) {
    int opcode = code[at];
    if (opcode == WIDE)
        return at + 1 < length && code[at + 1] != RET;
    return opcode <= SIPUSH || (opcode >= ILOAD && opcode <= ALOAD_3) || (opcode >= ISTORE && opcode <= ASTORE_3) ||
           (opcode >= POP && opcode <= DCMPG && opcode != IDIV && opcode != LDIV && opcode != IREM && opcode != LREM);
}

int is_return(int opcode) {
    return opcode >= IRETURN && opcode <= RETURN;
}

/* Tags of constants (JVMS 4.4) that are not three or five bytes long. */
enum { UTF8 = 1, LONG = 5, DOUBLE = 6, CLASS = 7, STRING = 8, METHOD_HANDLE = 15, METHOD_TYPE = 16, MODULE = 19, PACKAGE = 20 };

static int u2(const unsigned char *bytes, int at) {
    return bytes[at] << 8 | bytes[at + 1];
}

/* Where the entry of that index begins; -1 if there is none. */
static int entry(const unsigned char *pool, int length, int index) {
    int at = 0;
    for (int i = 1; at + 3 <= length; i++) {
        if (i == index)
            return at;
        switch (pool[at]) {
        case UTF8:
            at += 3 + u2(pool, at + 1);
            break;
        case LONG:
        case DOUBLE:
            at += 9;
            i++; /* takes two indices */
            break;
        case CLASS:
        case STRING:
        case METHOD_TYPE:
        case MODULE:
        case PACKAGE:
            at += 3;
            break;
        case METHOD_HANDLE:
            at += 4;
            break;
        default:
            at += 5;
        }
    }
    return -1;
}

static int is_text(const unsigned char *pool, int length, int index, const char *text) {
    int at = entry(pool, length, index), size = (int)strlen(text);
    return at >= 0 && pool[at] == UTF8 && u2(pool, at + 1) == size && at + 3 + size <= length &&
           memcmp(pool + at + 3, text, (size_t)size) == 0;
}

int call_of(const unsigned char *code, int length, int at, const unsigned char *pool, int pool_length, const char *name,
            const char *descriptor) {
    if (at < 0 || at + 3 > length || code[at] < INVOKEVIRTUAL || code[at] > INVOKEDYNAMIC)
        return 0;
    if (code[at] == INVOKEDYNAMIC)
        return INVOKEDYNAMIC;
    int method = entry(pool, pool_length, u2(code, at + 1));
    int both = method < 0 ? -1 : entry(pool, pool_length, u2(pool, method + 3));
    int same = both >= 0 && is_text(pool, pool_length, u2(pool, both + 1), name) &&
               is_text(pool, pool_length, u2(pool, both + 3), descriptor);
    return same ? code[at] : 0;
}

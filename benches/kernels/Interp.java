package kernels;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A stack machine's interpreter: one method, one loop, one switch. It runs a Collatz search and a bubble sort. */
final class Interp implements Kernel {
    private static final String[] OPERATIONS = {
        "push", "load", "store", "add", "sub", "mul", "shr", "and", "jump", "jumpzero", "less", "get", "put", "halt",
    };
    private static final int PUSH = 0;
    private static final int LOAD = 1;
    private static final int STORE = 2;
    private static final int ADD = 3;
    private static final int SUB = 4;
    private static final int MUL = 5;
    private static final int SHR = 6;
    private static final int AND = 7;
    private static final int JUMP = 8;
    private static final int JUMP_ZERO = 9;
    private static final int LESS = 10;
    private static final int GET = 11;
    private static final int PUT = 12;
    private static final int HALT = 13;

    /** The longest Collatz sequence from a start below 20000. Locals: 0 n, 1 x, 2 length, 3 best. */
    private static final String COLLATZ = "push 1 store 0"
            + " start: load 0 push 20000 less jumpzero done"
            + " load 0 store 1 push 0 store 2"
            + " step: push 1 load 1 less jumpzero compare"
            + " load 2 push 1 add store 2"
            + " load 1 push 1 and jumpzero even"
            + " load 1 push 3 mul push 1 add store 1 jump step"
            + " even: load 1 push 1 shr store 1 jump step"
            + " compare: load 3 load 2 less jumpzero next load 2 store 3"
            + " next: load 0 push 1 add store 0 jump start"
            + " done: load 3 halt";

    /** Sorts 500 pseudo-random numbers and answers the median. Locals: 0 i, 1 j, 2 seed. */
    private static final String SORT = "push 1 store 2"
            + " fill: load 0 push 500 less jumpzero filled"
            + " load 2 push 75 mul push 74 add push 65535 and store 2"
            + " load 2 load 0 put load 0 push 1 add store 0 jump fill"
            + " filled: push 499 store 0"
            + " outer: push 0 load 0 less jumpzero sorted push 0 store 1"
            + " inner: load 1 load 0 less jumpzero passed"
            + " load 1 push 1 add get load 1 get less jumpzero ordered"
            + " load 1 get load 1 push 1 add get load 1 put load 1 push 1 add put"
            + " ordered: load 1 push 1 add store 1 jump inner"
            + " passed: load 0 push 1 sub store 0 jump outer"
            + " sorted: push 250 get halt";

    private final int[] collatz = assemble(COLLATZ);
    private final int[] sort = assemble(SORT);

    private static int[] assemble(String source) {
        List<String> items = new ArrayList<>();
        Map<String, Integer> values = new HashMap<>();
        for (int i = 0; i < OPERATIONS.length; i++) {
            values.put(OPERATIONS[i], i);
        }
        for (String item : source.split(" ")) {
            if (item.endsWith(":")) {
                values.put(item.substring(0, item.length() - 1), items.size());
            } else {
                items.add(item);
            }
        }
        return items.stream().mapToInt(item -> values.containsKey(item) ? values.get(item) : Integer.parseInt(item)).toArray();
    }

    private static int execute(int[] code, int[] memory) {
        int[] stack = new int[16];
        int[] locals = new int[8];
        int top = 0;
        int pc = 0;
        while (true) {
            switch (code[pc++]) {
                case PUSH:
                    stack[top++] = code[pc++];
                    break;
                case LOAD:
                    stack[top++] = locals[code[pc++]];
                    break;
                case STORE:
                    locals[code[pc++]] = stack[--top];
                    break;
                case ADD:
                    top--;
                    stack[top - 1] += stack[top];
                    break;
                case SUB:
                    top--;
                    stack[top - 1] -= stack[top];
                    break;
                case MUL:
                    top--;
                    stack[top - 1] *= stack[top];
                    break;
                case SHR:
                    top--;
                    stack[top - 1] >>>= stack[top];
                    break;
                case AND:
                    top--;
                    stack[top - 1] &= stack[top];
                    break;
                case JUMP:
                    pc = code[pc];
                    break;
                case JUMP_ZERO:
                    pc = stack[--top] == 0 ? code[pc] : pc + 1;
                    break;
                case LESS:
                    top--;
                    stack[top - 1] = stack[top - 1] < stack[top] ? 1 : 0;
                    break;
                case GET:
                    stack[top - 1] = memory[stack[top - 1]];
                    break;
                case PUT:
                    top -= 2;
                    memory[stack[top + 1]] = stack[top];
                    break;
                case HALT:
                    return stack[top - 1];
                default:
                    throw new IllegalStateException("no such operation: " + code[pc - 1] + " at " + (pc - 1));
            }
        }
    }

    @Override
    public long run() {
        int[] memory = new int[512];
        long longest = execute(collatz, memory);
        return longest * 65536 + execute(sort, memory);
    }
}

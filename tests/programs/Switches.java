// Shows: tableswitch and lookupswitch at every padding, sparse and dense, on strings, with fall-through and default, nested in loops.
// expect: Switches.dense(I)I calls=20000 thrown=0
class Switches {
    static int dense(int x) {
        switch (x) {
            case 0: return 7;
            case 1:
            case 2: x += 5;
            case 3: x++; break;
            case 5: return -1;
            default: x = 0;
        }
        return x;
    }

    static int sparse(int x) {
        switch (x) {
            case -1000000: return 1;
            case 10: return 2;
            case 100: x *= 2; // falls through
            case 1000: return x;
            case Integer.MAX_VALUE: return 4;
        }
        return 5;
    }

    // One, two and three leading single-byte instructions move the operands through all paddings.
    static int padded1(int x) { x++; switch (x) { case 1: return 1; case 2: return 3; default: return 2; } }
    static int padded2(int x) { int y = x; switch (y) { case 1: return 1; case 2: return 3; default: return 2; } }
    static int padded3(int x) { long y = x; switch ((int) y) { case 1: return 1; case 2: return 3; default: return 2; } }
    static int padded4(int x) { int y = -x; switch (-y) { case 1: return 1; case 900: return 3; default: return 2; } }
    static int padded5(int x) { switch (x) { default: return 2; } }

    static int name(String s) {
        return switch (s) {
            case "Aa", "BB" -> 1; // one hash code
            case "C" -> 2;
            default -> { int n = 0; for (char c : s.toCharArray()) n += c; yield n; }
        };
    }

    static int interpret(byte[] code) {
        int a = 0, pc = 0, left = 3000;
        while (true) {
            switch (code[pc++]) {
                case 0: a++; break;
                case 1: a += a & 3; break;
                case 2: if (--left == 0) return a; pc = 0; break;
                case 3: a ^= 5; continue;
                default: throw new IllegalStateException();
            }
        }
    }

    static int measured() {
        int sum = 0;
        int[] keys = {-1000000, 10, 100, 1000, Integer.MAX_VALUE, 0, 11};
        String[] names = {"Aa", "BB", "C", "D", "", "Ab"};
        for (int i = 0; i < 20000; i++) {
            sum += dense(i % 8 - 1) + sparse(keys[i % keys.length]);
            sum += padded1(i % 3) + padded2(i % 4) + padded3(i % 4) + padded4(i % 4) + padded5(i);
        }
        for (int i = 0; i < 3000; i++) sum += name(names[i % names.length]);
        return sum + interpret(new byte[] {0, 1, 3, 0, 2});
    }

    public static void main(String[] args) {
        System.out.println("Switches " + measured());
    }
}

// Shows: methods over 8000 bytes, and as large as the class file allows, hot enough to be compiled. The oracle would take minutes.
// Per call 4 bytecodes outside the three rounds, then per round A + B increments, 3 for its end, 8 for the division or 6 when it
// throws (x % 64 = 0), and 2 jumps back: A, B = 1499, 1497 for huge and 10833, 10830 for limit, of which 48 and 19 rounds throw.
// alone
// self-checking
// expect: AssembledHuge.huge(I)I calls=1000 thrown=0 bytecodes=9026904
// expect: AssembledLimit.limit(I)I calls=400 thrown=0 bytecodes=26011162
class Huge {
    static int measured() {
        int sum = 0;
        for (int i = 0; i < 1000; i++) sum += AssembledHuge.huge(i);
        for (int i = 0; i < 400; i++) sum += AssembledLimit.limit(i);
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("Huge " + measured());
    }
}

// Shows: the whole count derived by hand.
// leaf: iload_0 iload_1 iadd ireturn = 4 bytecodes.
// measured: iconst_0 istore_0 iconst_0 istore_1, 30000 x (iload_1 sipush if_icmpge iload_0 iload_1 invokestatic istore_0 iinc goto),
// then iload_1 sipush if_icmpge iload_0 ireturn: 4 + 9 * 30000 + 5.
// expect: Straight.leaf(II)I calls=30000 thrown=0 bytecodes=120000
// expect: Straight.measured()I calls=1 thrown=0 bytecodes=270009
class Straight {
    static int leaf(int a, int b) {
        return a + b;
    }

    static int measured() {
        int sum = 0;
        for (int i = 0; i < 30000; i++) sum = leaf(sum, i);
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("Straight " + measured());
    }
}

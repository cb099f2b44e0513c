// Shows: threads that run one after the other, so that even caches which all threads share see one order of calls.
// expect: Relay.measured(I)I calls=5
class Relay {
    static int small(int x) {
        return x + 1;
    }

    static int large(int x) {
        int a = x * 3 + 1, b = x * 5 + 2, c = x * 7 + 3, d = x * 11 + 4, e = x * 13 + 5;
        a ^= b << 1; b ^= c << 2; c ^= d << 3; d ^= e << 4; e ^= a << 5;
        a += b * c; b += c * d; c += d * e; d += e * a; e += a * b;
        a ^= b << 1; b ^= c << 2; c ^= d << 3; d ^= e << 4; e ^= a << 5;
        a += b * c; b += c * d; c += d * e; d += e * a; e += a * b;
        return small(a ^ b ^ c ^ d ^ e);
    }

    static int other(int x) {
        int sum = small(x);
        for (int i = 0; i < x % 4; i++) sum += i % 2 == 0 ? small(i) : large(i);
        if (x % 7 == 0) throw FIXED;
        return sum;
    }

    static final RuntimeException FIXED = new RuntimeException("fixed");

    static int measured(int rounds) {
        int sum = 0;
        for (int i = 0; i < rounds; i++) {
            try {
                sum += large(i) + other(i);
            } catch (RuntimeException e) {
                sum += small(i);
            }
        }
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        int[] sum = {measured(500)};
        for (int i = 1; i < 5; i++) {
            int rounds = 500 + i * 100;
            Thread thread = new Thread(() -> sum[0] += measured(rounds));
            thread.start();
            thread.join();
        }
        System.out.println("Relay " + sum[0]);
    }
}

// Shows: many virtual threads at once on few carriers, each on a core of its own with an empty method cache.
// expect: VirtualCores.measured(I)I calls=40
import java.util.ArrayList;
import java.util.List;

class VirtualCores {
    static int small(int x) {
        return x + 1;
    }

    static int large(int x) {
        int a = x * 3 + 1, b = x * 5 + 2, c = x * 7 + 3, d = x * 11 + 4;
        a ^= b << 1; b ^= c << 2; c ^= d << 3; d ^= a << 4;
        a += b * c; b += c * d; c += d * a; d += a * b;
        a ^= b << 1; b ^= c << 2; c ^= d << 3; d ^= a << 4;
        a += b * c; b += c * d; c += d * a; d += a * b;
        return small(a ^ b ^ c ^ d);
    }

    static int fib(int n) {
        return n < 2 ? small(n) : fib(n - 1) + fib(n - 2);
    }

    static int measured(int n) {
        int sum = 0;
        for (int i = 0; i < 200; i++) sum += large(i) + fib(i % 5 + n % 3);
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        int[] sums = new int[40];
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < sums.length; i++) {
            int n = i;
            threads.add(Thread.startVirtualThread(() -> {
                Thread.yield();
                sums[n] = measured(n);
            }));
        }
        int sum = 0;
        for (int i = 0; i < sums.length; i++) {
            threads.get(i).join();
            sum += sums[i];
        }
        System.out.println("VirtualCores " + sum);
    }
}

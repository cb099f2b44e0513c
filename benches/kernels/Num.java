package kernels;

/** Counted loops over arrays: a sieve, a matrix product, and a stencil. */
final class Num implements Kernel {
    private static final int LIMIT = 4_000_000;
    private static final int SIZE = 300;

    private static int primes(int limit) {
        boolean[] composite = new boolean[limit + 1];
        int count = 0;
        for (int i = 2; i <= limit; i++) {
            if (composite[i]) {
                continue;
            }
            count++;
            for (long j = (long) i * i; j <= limit; j += i) {
                composite[(int) j] = true;
            }
        }
        return count;
    }

    private static double[][] multiply(double[][] a, double[][] b) {
        int n = a.length;
        double[][] product = new double[n][n];
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < n; k++) {
                double factor = a[i][k];
                for (int j = 0; j < n; j++) {
                    product[i][j] += factor * b[k][j];
                }
            }
        }
        return product;
    }

    private static void relax(double[][] grid) {
        for (int i = 1; i < grid.length - 1; i++) {
            for (int j = 1; j < grid.length - 1; j++) {
                grid[i][j] = (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]) / 4;
            }
        }
    }

    @Override
    public long run() {
        double[][] a = new double[SIZE][SIZE];
        for (int i = 0; i < SIZE; i++) {
            for (int j = 0; j < SIZE; j++) {
                a[i][j] = (i * 7 + j * 3) % 11;
            }
        }
        double[][] product = multiply(a, a);
        for (int i = 0; i < 60; i++) {
            relax(product);
        }
        double trace = 0;
        for (int i = 0; i < SIZE; i++) {
            trace += product[i][i];
        }
        return 31L * primes(LIMIT) + Double.doubleToLongBits(trace);
    }
}

// Shows: Math methods for which the interpreter has machine code of its own (sin, sqrt, pow, fma ...), hot and cold.
// expect: Trigonometry.all(D)D calls=20000 thrown=0
class Trigonometry {
    static double all(double x) {
        double y = Math.sin(x) + Math.cos(x) + Math.tan(x) + Math.sqrt(x) + Math.exp(-x) + Math.log(x + 1) + Math.log10(x + 1);
        return y + Math.pow(x, 0.5) + Math.abs(-x) + Math.fma(x, y, 1) + Math.fma(1f, 2f, 3f) + Math.floor(x) + Math.rint(x) + Math.round(x);
    }

    static long measured() {
        double sum = 0;
        for (int i = 0; i < 20000; i++) sum += all(i * 0.001);
        return (long) sum;
    }

    public static void main(String[] args) {
        System.out.println("Trigonometry " + measured());
    }
}

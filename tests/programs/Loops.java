// Shows: counted, nested and labelled loops in one method without calls.
// expect: Loops.triangle(I)I calls=40000 thrown=0
// expect: Loops.measured()I calls=1 thrown=0
class Loops {
    static int triangle(int n) {
        int sum = 0;
        outer:
        for (int i = 0; i < (n & 3) + 1; i++) {
            for (int j = 0; j <= i; j++) {
                if (j == 2) continue outer;
                if (sum > 100) break outer;
                sum += j * i + 1;
            }
        }
        do {
            sum--;
        } while (sum > 5);
        return sum;
    }

    static int measured() {
        int sum = 0;
        for (int i = 0; i < 40000; i++) sum += triangle(i);
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("Loops " + measured());
    }
}

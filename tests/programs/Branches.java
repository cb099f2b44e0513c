// Shows: branches, switches and exceptions whose outcomes follow from n; tests/tests/whole/annotate.rs and the documentation know them.
// expect: Branches.counted(I)I calls=1 thrown=0
// expect: Branches.third(I)I calls=1000 thrown=334
class Branches {
    static int counted(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) sum += i;
        return sum;
    }

    static int cases(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            switch (i % 10) {
                case 0: sum++; break;
                case 1:
                case 2: sum += 2; break;
                default: sum--;
            }
        }
        return sum;
    }

    static int third(int i) {
        if (i % 3 == 0) throw new IllegalStateException();
        return i;
    }

    static int thrown(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            try {
                sum += third(i);
            } catch (IllegalStateException e) {
                sum--;
            }
        }
        return sum;
    }

    static int measured() {
        return counted(1000) + cases(1000) + thrown(1000);
    }

    public static void main(String[] args) {
        System.out.println("Branches " + measured());
    }

    static int never(int n) {
        return -n;
    }
}

// Shows: records (equals, hashCode, toString by ObjectMethods), enums with bodies, values(), switch on enums, EnumMap, inner,
// local and anonymous classes, captured variables, nested access.
// expect: Records$Point.<init>(II)V calls=6000 thrown=1000
import java.util.EnumMap;

class Records {
    record Point(int x, int y) {
        Point {
            if (x % 6 == 5) throw new IllegalArgumentException();
        }

        int norm() {
            return Math.abs(x) + Math.abs(y);
        }
    }

    enum Op {
        ADD { int apply(int a, int b) { return a + b; } },
        SUB { int apply(int a, int b) { return a - b; } },
        NOP { int apply(int a, int b) { return a; } };

        abstract int apply(int a, int b);
    }

    private int secret = 1;

    class Inner {
        int peek() { return secret++; }
    }

    static int cost(Op op) {
        switch (op) {
            case ADD: return 1;
            case SUB: return 2;
            default: return 0;
        }
    }

    static int body() {
        int sum = 0;
        Point last = new Point(0, 0);
        for (int i = 1; i < 6000; i++) {
            try {
                Point p = new Point(i, i & 7);
                if (p.equals(last)) sum++;
                sum += p.hashCode() + p.norm();
                if (i % 100 == 0) sum += p.toString().length();
                last = p;
            } catch (IllegalArgumentException e) {
                sum--;
            }
        }
        EnumMap<Op, Integer> counts = new EnumMap<>(Op.class);
        Op[] all = Op.values();
        for (int i = 0; i < 10000; i++) {
            Op op = all[i % 3];
            sum = op.apply(sum, i) + cost(op);
            if (i % 10 == 0) counts.merge(op, 1, Integer::sum);
        }
        Records r = new Records();
        Inner inner = r.new Inner();
        int captured = sum & 3;
        Object local = new Object() {
            @Override
            public int hashCode() {
                return inner.peek() + captured;
            }
        };
        for (int i = 0; i < 5000; i++) sum += local.hashCode();
        return sum + counts.get(Op.ADD);
    }

    static int measured() {
        return body();
    }

    public static void main(String[] args) {
        body(); // loads and links: Cold, Lambdas and MethodHandles show that
        System.out.println("Records " + measured());
    }
}

// Shows: constructors that throw before super(), in the arguments of super(), in super() itself, after it; this() chains;
// initialisers; a constructor that is caught by its own try after super(); instances that leak from one that throws.
// expect: Constructors$Base.<init>(I)V calls=4500 thrown=1650
// Base is reached by case 0 unless x = 1 (1200, of which 300 with x = 2 throw), by 1 and 3 unless x is 1 or 4 (1800, 600) and by 2 (1500,
// half of them with x = 2); it throws in its body, since check(1, 0) never does.
class Constructors {
    static Object leaked;

    static int check(int x, int bad) {
        if (x == bad) throw new IllegalArgumentException();
        return x;
    }

    static class Base {
        final int x;
        int y = check(1, 0);

        Base(int x) {
            leaked = this;
            this.x = check(x, 2);
        }
    }

    static class Derived extends Base {
        int z;

        { z = 5; }

        Derived(int x) {
            super(check(x, 1));
            z += check(x, 3);
        }

        Derived(int x, String s) {
            this(x + s.length());
            z++;
        }

        Derived(int[] a, boolean b) {
            super(b ? a[9] : a.length); // AIOOBE before super
            try {
                z = a[x];
            } catch (ArrayIndexOutOfBoundsException e) {
                z = -1;
            } finally {
                z++;
            }
        }
    }

    static class Outer {
        int v = 3;

        class Inner {
            int w = v;

            Inner() throws Exception {
                if (v++ % 2 == 0) throw new Exception("odd");
            }
        }
    }

    static int measured() {
        int sum = 0;
        for (int i = 0; i < 9000; i++) {
            try {
                Derived d = switch (i % 6) {
                    case 0 -> new Derived(i % 5);
                    case 1, 3 -> new Derived(i % 5, i % 5 == 4 ? null : "");
                    case 2 -> new Derived(new int[i % 4], false);
                    default -> new Derived(new int[3], true);
                };
                sum += d.z + d.y;
            } catch (IllegalArgumentException e) {
                sum += leaked == null ? 1 : 2;
            } catch (ArrayIndexOutOfBoundsException | NullPointerException e) {
                sum += 3;
            }
        }
        Outer o = new Outer();
        for (int i = 0; i < 100; i++) {
            try {
                sum += o.new Inner().w;
            } catch (Exception e) {
                sum--;
            }
        }
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("Constructors " + measured());
    }
}

// Shows: string concatenation by invokedynamic (linked cold, then hot), hot StringBuilder chains (OptimizeStringConcat), and
// the methods C2 replaces: equals, hashCode, compareTo, indexOf, charAt, substring, intern, UTF-16 strings.
// expect: Strings.chain(ILjava/lang/String;)Ljava/lang/String; calls=4000 thrown=0
class Strings {
    static String chain(int i, String s) {
        return new StringBuilder().append("a").append(i).append(s).append('c').toString();
    }

    static String buffer(int i) {
        return new StringBuffer("x").append(i).append(true).reverse().toString();
    }

    static String concat(int i, String s, long l, char c) {
        return "k" + i + s + l + c;
    }

    static int body() {
        int sum = 0;
        String[] some = {"alpha", "beta", "alphb", "alp", "\u0436\u0437", "\u0436\u0438", ""};
        for (int i = 0; i < 4000; i++) {
            String a = some[i % some.length], b = some[(i * 3 + 1) % some.length];
            sum += chain(i, a).length();
            if (a.equals(b)) sum++;
            sum += a.compareTo(b) + a.indexOf('a') + b.indexOf("h") + a.hashCode();
            if (i % 4 == 0) sum += concat(i, a, i, 'q').length() + buffer(i).charAt(0);
            if (a.startsWith("al")) sum += a.substring(1).hashCode();
        }
        return sum + "in".concat("tern").intern().length() + String.format("%d", 42).length();
    }

    static int measured() {
        return body();
    }

    public static void main(String[] args) {
        body(); // loads and links: Cold, Lambdas and MethodHandles show that
        System.out.println("Strings " + measured());
    }
}

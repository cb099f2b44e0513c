// Shows: everything at first use inside the measured code: class loading by the application's loader, linkage of lambdas, string
// concatenation, records' methods, switch on enum, regular expressions.
// alone
class Cold {
    enum Colour { RED, GREEN }

    record Named(String name, Colour colour) { }

    static int measured() {
        java.util.function.Function<Integer, String> f = i -> "n" + i + Colour.GREEN;
        int sum = f.apply(3).length();
        sum += new Named("x", Colour.RED).hashCode() == new Named("x", Colour.RED).hashCode() ? 1 : 0;
        switch (Colour.valueOf("RED")) {
            case RED -> sum++;
            case GREEN -> sum += 2;
        }
        sum += java.util.regex.Pattern.compile("(a+)(b|c)*").matcher("aaabcb").replaceAll("$1-").length();
        sum += String.join(",", java.util.List.of("a", "b")).length();
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("Cold " + measured());
    }
}

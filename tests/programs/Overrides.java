// Shows: calls through Object of a native method that a class overrides, and of one that no class does. Where the overriding methods are not below
// their callers, the rest of the first cannot be told.
// expect: Overrides$Named.hashCode()I calls=1000
class Overrides {
    static class Named {
        @Override
        public int hashCode() {
            return 3;
        }
    }

    static int measured() {
        int named = 0;
        for (int i = 0; i < 1010; i++) {
            Object o = i < 1000 ? new Named() : new Object();
            named += o.hashCode() == 3 ? 1 : 0;
        }
        for (int i = 0; i < 7; i++) {
            named += Runtime.getRuntime().maxMemory() > 0 ? 1 : 0;
        }
        return named;
    }

    public static void main(String[] args) {
        System.out.println("Overrides " + measured());
    }
}

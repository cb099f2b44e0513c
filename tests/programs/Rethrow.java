// Shows: nested handlers, rethrow through several frames, wrapping with causes, exceptions thrown by handlers, polymorphic catch,
// a handler that covers itself (finally), getStackTrace and fillInStackTrace overridden, stackless exceptions.
// expect: Rethrow.down(II)I calls=28000 thrown=16000
class Rethrow {
    static class Stackless extends RuntimeException {
        Stackless(Throwable cause) {
            super("s", cause, false, false);
        }
    }

    static class Own extends Exception {
        @Override
        public synchronized Throwable fillInStackTrace() {
            return this;
        }
    }

    // Even rounds: Own leaves levels 0 to 3, level 4 returns: 4 of 7 calls. Odd ones: Stackless leaves 0 to 2, Own leaves level 3,
    // level 4 returns. So 7 * 4000 calls and 4 * 4000 exceptional exits.
    static int down(int level, int i) throws Exception {
        if (level == 0) {
            if (i % 2 == 0) throw new Own();
            throw new Stackless(null);
        }
        try {
            return down(level - 1, i);
        } catch (Stackless e) {
            if (level < 3) throw e;
            if (level == 3) throw new Own();
            throw new Stackless(e);
        } catch (Own e) {
            if (level == 4) return level;
            throw e;
        }
    }

    static int chain(int n) {
        try {
            try {
                try {
                    throw new Stackless(null);
                } catch (Stackless e) {
                    throw new IllegalStateException(e);
                } finally {
                    n++;
                }
            } catch (IllegalStateException e) {
                throw new Error(e);
            } finally {
                n += 2;
            }
        } catch (Error e) {
            Throwable t = e;
            while (t.getCause() != null) {
                t = t.getCause();
                n++;
            }
        }
        return n;
    }

    static int measured() {
        int sum = 0;
        for (int i = 0; i < 4000; i++) {
            try {
                sum += down(6, i);
            } catch (Exception e) {
                sum--;
            }
            sum += chain(i);
        }
        sum += new Throwable().getStackTrace().length > 0 ? 1 : 0;
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("Rethrow " + measured());
    }
}

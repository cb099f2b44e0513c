// Shows: hidden classes whose initialisers take a while, so that they are still being defined when cprof leaves, and one that calls a
// method which waits.
// not-run
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.invoke.MethodHandles;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.SynchronousQueue;
import java.util.function.IntUnaryOperator;

class Hides {
    static final CountDownLatch BEGUN = new CountDownLatch(1);
    static final CountDownLatch MAY_END = new CountDownLatch(1);
    static long patience;

    static void initialise() throws InterruptedException {
        BEGUN.countDown();
        if (patience > 0) {
            Thread.sleep(patience);
        } else {
            MAY_END.await();
        }
    }

    static class Template implements IntUnaryOperator {
        static {
            try {
                initialise();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public int applyAsInt(int i) {
            return i * i;
        }
    }

    static class Waiting implements IntUnaryOperator {
        @Override
        public int applyAsInt(int i) {
            int length = String.valueOf(i).length();
            await();
            return length;
        }
    }

    static final SynchronousQueue<String> WORDS = new SynchronousQueue<>();

    static void await() {
        try {
            WORDS.put("waits");
            WORDS.put("goes on");
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static IntUnaryOperator define(String template) {
        try (InputStream in = Hides.class.getResourceAsStream(template + ".class")) {
            Class<?> hidden = MethodHandles.lookup().defineHiddenClass(in.readAllBytes(), true).lookupClass();
            return (IntUnaryOperator) hidden.getDeclaredConstructor().newInstance();
        } catch (IOException | ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    static int requested(IntUnaryOperator hidden, int times) {
        int sum = 0;
        for (int i = 0; i < times; i++) sum += hidden.applyAsInt(i);
        return sum;
    }

    public static void main(String[] args) throws Exception {
        IntUnaryOperator[] hidden = new IntUnaryOperator[1];
        Thread definer = new Thread(() -> hidden[0] = define("Hides$Template"));
        IntUnaryOperator waiting = null;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "define" -> {
                    patience = Long.parseLong(words[1]);
                    definer.start();
                    BEGUN.await();
                    System.out.println("begun");
                }
                case "collect" -> {
                    System.gc();
                    System.out.println("collected");
                }
                case "finish" -> {
                    MAY_END.countDown();
                    definer.join();
                    System.out.println("finished");
                }
                case "prepare" -> {
                    waiting = define("Hides$Waiting");
                    System.out.println("prepared");
                }
                case "wait" -> {
                    IntUnaryOperator waits = waiting;
                    new Thread(() -> waits.applyAsInt(12)).start();
                    System.out.println(WORDS.take());
                }
                case "go" -> System.out.println(WORDS.take());
                default -> System.out.println(requested(hidden[0], Integer.parseInt(words[0])));
            }
        }
    }
}

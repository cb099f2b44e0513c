import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Runs the codec on a fixed input. Only {@link #measure} is recorded: cprof run --root CodecBenchmark.measure. */
public final class CodecBenchmark {
    private CodecBenchmark() {}

    public static void main(String[] args) {
        List<String> words = words();
        // Once outside what is measured: classes are loaded and initialised, lambdas are linked.
        int expected = warmUp(words);
        int result = measure(words);
        if (result != expected) {
            throw new AssertionError(result + " instead of " + expected);
        }
        System.out.println(result);
    }

    private static int warmUp(List<String> words) {
        return new Codec().encode(words).hashCode();
    }

    static int measure(List<String> words) {
        return new Codec().encode(words).hashCode();
    }

    /** Two thousand words, the same in every run. */
    private static List<String> words() {
        Random random = new Random(42);
        List<String> words = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            words.add(" Id" + random.nextInt(300));
        }
        return words;
    }
}

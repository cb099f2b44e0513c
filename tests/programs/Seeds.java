// Shows: nothing by itself: prints what depends on seeds that the JDK takes from clocks. See tests/tests/whole/determinism.rs.
// not-run
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;

class Seeds {
    public static void main(String[] args) {
        System.out.println(Set.of("a", "b", "c", "d", "e", "f", "g") + " " + Map.of(1, 2, 3, 4, 5, 6, 7, 8).keySet());
        System.out.println(new Random().nextLong() + " " + Math.random() + " " + ThreadLocalRandom.current().nextLong());
        System.out.println(new SplittableRandom().nextLong());
    }
}

// Shows: streams over the whole library stack, collectors, sorting with comparators, iterators, optional, flatMap.
// expect: Streams.keep(I)Z calls=20000 thrown=0
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

class Streams {
    static boolean keep(int x) {
        return x % 3 != 0;
    }

    static int body() {
        int sum = IntStream.range(0, 20000).filter(Streams::keep).map(x -> x * 2).sum();
        List<String> words = new ArrayList<>();
        for (int i = 0; i < 600; i++) words.add("w" + i * 7919 % 601);
        words.sort(Comparator.comparing(String::length).thenComparing(Comparator.reverseOrder()));
        TreeMap<Integer, Long> byLength =
            words.stream().collect(Collectors.groupingBy(String::length, TreeMap::new, Collectors.counting()));
        sum += byLength.hashCode() + words.get(5).hashCode();
        sum += words.stream().flatMap(w -> w.chars().boxed()).mapToInt(Integer::intValue).max().getAsInt();
        sum += words.stream().skip(3).limit(50).map(String::toUpperCase).distinct().collect(Collectors.joining(",")).length();
        return sum;
    }

    static int measured() {
        return body();
    }

    public static void main(String[] args) {
        body(); // loads and links: Cold, Lambdas and MethodHandles show that
        System.out.println("Streams " + measured());
    }
}

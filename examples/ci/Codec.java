import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Encodes words as numbers in a dictionary: what a library might do that must not become slower. */
public final class Codec {
    private final Map<String, Integer> dictionary = new HashMap<>();

    /** One number per word, and a checksum at the end. */
    public List<Integer> encode(List<String> words) {
        List<Integer> codes = new ArrayList<>();
        words.forEach(word -> codes.add(dictionary.computeIfAbsent(normalised(word), w -> dictionary.size())));
        codes.add(checksum(codes));
        return codes;
    }

    private static String normalised(String word) {
        return word.strip().toLowerCase(java.util.Locale.ROOT);
    }

    private static int checksum(List<Integer> codes) {
        int sum = 0;
        for (int code : codes) {
            sum = sum * 31 + code;
        }
        return sum;
    }
}

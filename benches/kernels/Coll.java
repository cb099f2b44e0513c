package kernels;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The JDK's collections: shortest paths over a map of lists, word counts, sorting, streams. */
final class Coll implements Kernel {
    private static final int TOWNS = 2500;

    static final class Road {
        final Integer to;
        final int length;

        Road(Integer to, int length) {
            this.to = to;
            this.length = length;
        }

        int length() {
            return length;
        }
    }

    private final Map<Integer, List<Road>> roads = new HashMap<>();
    private final List<String> words = new ArrayList<>();

    Coll() {
        long seed = 99;
        for (int town = 0; town < TOWNS; town++) {
            List<Road> from = roads.computeIfAbsent(town, key -> new ArrayList<>());
            for (int i = 0; i < 6; i++) {
                seed = seed * 6364136223846793005L + 1442695040888963407L;
                int draw = (int) (seed >>> 33);
                from.add(new Road(draw % TOWNS, 1 + draw % 97));
                words.add("w" + draw % 1700);
            }
        }
    }

    /** Dijkstra's algorithm with lazy deletion. */
    private long distances(Integer start) {
        Map<Integer, Integer> best = new HashMap<>();
        PriorityQueue<Road> frontier = new PriorityQueue<>(Comparator.comparingInt(Road::length));
        frontier.add(new Road(start, 0));
        while (!frontier.isEmpty()) {
            Road next = frontier.poll();
            if (best.putIfAbsent(next.to, next.length) != null) {
                continue;
            }
            for (Road road : roads.get(next.to)) {
                if (!best.containsKey(road.to)) {
                    frontier.add(new Road(road.to, next.length + road.length));
                }
            }
        }
        long sum = 0;
        for (int distance : best.values()) {
            sum += distance;
        }
        return sum;
    }

    private long wordCounts() {
        Map<String, Integer> counts = new TreeMap<>();
        for (String word : words) {
            counts.merge(word, 1, Integer::sum);
        }
        List<Map.Entry<String, Integer>> entries = new ArrayList<>(counts.entrySet());
        entries.sort(Map.Entry.<String, Integer>comparingByValue().reversed().thenComparing(Map.Entry.comparingByKey()));
        Map<String, Integer> ranked = new LinkedHashMap<>();
        for (Map.Entry<String, Integer> entry : entries.subList(0, 200)) {
            ranked.put(entry.getKey(), entry.getValue());
        }
        return ranked.hashCode();
    }

    private long streams() {
        Map<Integer, Long> byLength = words.stream()
                .filter(word -> word.charAt(word.length() - 1) != '7')
                .collect(Collectors.groupingBy(String::length, TreeMap::new, Collectors.counting()));
        List<String> sorted = words.stream().distinct().sorted(Collections.reverseOrder()).collect(Collectors.toList());
        return byLength.hashCode() * 31L + sorted.hashCode();
    }

    private long rotations() {
        ArrayDeque<Integer> ring = new ArrayDeque<>();
        for (int i = 0; i < 20000; i++) {
            ring.add(i);
        }
        while (ring.size() > 1) {
            ring.add(ring.poll());
            ring.poll();
        }
        return ring.peek();
    }

    @Override
    public long run() {
        long sum = 0;
        for (int start = 0; start < 24; start++) {
            sum = sum * 31 + distances(start * 100);
        }
        return ((sum * 31 + wordCounts()) * 31 + streams()) * 31 + rotations();
    }
}

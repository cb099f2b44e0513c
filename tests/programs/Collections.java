// Shows: hash maps with colliding and resizing keys, tree maps, deques, priority queues, iteration, concurrent modification.
// expect: Collections$Key.hashCode()I calls=12000 thrown=0
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.PriorityQueue;

class Collections {
    record Key(int v) implements Comparable<Key> {
        @Override public int hashCode() { return v % 97; }
        @Override public boolean equals(Object o) { return o instanceof Key k && k.v == v; }
        @Override public int compareTo(Key k) { return Integer.compare(v, k.v); }
    }

    static int body() {
        HashMap<Key, Integer> map = new HashMap<>();
        for (int i = 0; i < 8000; i++) map.put(new Key(i % 1500), i);
        int sum = 0;
        for (int i = 0; i < 4000; i++) sum += map.getOrDefault(new Key(i), -1);
        PriorityQueue<Integer> queue = new PriorityQueue<>((a, b) -> b - a);
        ArrayDeque<Integer> deque = new ArrayDeque<>();
        for (int i = 0; i < 3000; i++) {
            queue.add(i * 7919 % 3001);
            deque.addFirst(i);
            if (i % 3 == 0) sum += queue.poll() + deque.pollLast();
        }
        ArrayList<Integer> list = new ArrayList<>(deque);
        try {
            for (Integer i : list) if (i == 2500) list.remove(i);
        } catch (ConcurrentModificationException e) {
            sum++;
        }
        return sum + list.size();
    }

    static int measured() {
        return body();
    }

    public static void main(String[] args) {
        body(); // loads and links: Cold, Lambdas and MethodHandles show that
        System.out.println("Collections " + measured());
    }
}

// Shows: what the tests of attaching need: a program that runs until its standard input ends, and does known work for each request.
// A line "COUNT SIZE" is COUNT requests; with the argument "threads" or "virtual" each in a thread of its own.
// not-run
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

class Serve {
    interface Shape {
        int area();
    }

    static final class Square implements Shape {
        final int side;

        Square(int side) {
            this.side = side;
        }

        @Override
        public int area() {
            return side * side;
        }
    }

    static final class Strip implements Shape {
        final int length;

        Strip(int length) {
            this.length = length;
        }

        @Override
        public int area() {
            return Math.max(length, 3);
        }
    }

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static int refuse(int i) {
        if (i % 3 == 0) throw new IllegalStateException();
        return i;
    }

    static int work(int size) {
        Map<Integer, Shape> shapes = new HashMap<>();
        for (int i = 0; i < size; i++) shapes.put(i, i % 2 == 0 ? new Square(i) : new Strip(i));
        int sum = fib(size);
        List<Integer> areas = new ArrayList<>();
        for (int i = 0; i < size; i++) areas.add(shapes.get(i).area());
        for (int area : areas) sum += area;
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < size; i++) {
            try {
                sum += refuse(i);
            } catch (IllegalStateException e) {
                text.append(i).append(' ');
            }
        }
        return sum + text.length();
    }

    static int request(int size) {
        return work(size);
    }

    static volatile int result;

    static void serve(int count, int size, Method startVirtual, String how) throws Exception {
        for (int i = 0; i < count; i++) {
            if (how.equals("")) {
                result += request(size);
                continue;
            }
            Runnable one = () -> result += request(size);
            Thread thread;
            if (startVirtual != null) {
                thread = (Thread) startVirtual.invoke(null, one);
            } else {
                thread = new Thread(one);
                thread.start();
            }
            thread.join();
        }
    }

    public static void main(String[] args) throws Exception {
        String how = args.length > 0 ? args[0] : "";
        Method startVirtual = how.equals("virtual") ? Thread.class.getMethod("startVirtualThread", Runnable.class) : null;
        // What is done once only is done by now, with sizes that the tests use.
        for (int i = 0; i < 300; i++) result += work(12);
        result = 0;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int space = line.indexOf(' ');
            serve(Integer.parseInt(line.substring(0, space)), Integer.parseInt(line.substring(space + 1)), startVirtual, how);
            System.out.println(result);
        }
    }
}

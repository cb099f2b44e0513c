// Shows: recursion in a new thread, whose stack has a size that is asked for (0: none is named) and is so deep; 0: until it overflows.
// not-run
import java.io.BufferedReader;
import java.io.InputStreamReader;

public class Stacks {
    static int deepest;

    static int down(int left) {
        deepest++;
        return left == 0 ? 0 : 1 + down(left - 1);
    }

    static String descend(int depth) {
        deepest = 0;
        try {
            down(depth == 0 ? Integer.MAX_VALUE : depth);
            return "fits";
        } catch (StackOverflowError e) {
            return Integer.toString(deepest);
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] asked = line.split(" ");
            String[] answer = new String[1];
            Thread thread = new Thread(null, () -> answer[0] = descend(Integer.parseInt(asked[1])), "deep", Long.parseLong(asked[0]));
            thread.start();
            thread.join();
            System.out.println(answer[0]);
        }
    }
}

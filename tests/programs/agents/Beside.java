// Shows: nothing by itself: a program beside whose profiler other agents are at work, until its standard input ends. See tests/tests/whole/agents.rs.
// Each line read is answered by one: "serve N": N requests of Serve; "choose N": one of three branches; "events FILE N": N events of JFR and
// readings of the file; "coverage": what JaCoCo has seen since it was last asked; "advice": what Byte Buddy's advice has.
// not-run
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.TreeSet;
import jdk.jfr.Event;
import jdk.jfr.Name;
import org.jacoco.core.data.ExecutionDataReader;

class Beside {
    static final int SIZE = 12;

    @Name("Served")
    static final class Served extends Event {
        int number;
    }

    static int serve(int count) {
        int sum = 0;
        for (int i = 0; i < count; i++) sum += Serve.request(SIZE);
        return sum;
    }

    static int choose(int n) {
        if (n > 3) return n * 2;
        return n < 0 ? -n : n + 1;
    }

    static int events(String file, int count) throws IOException {
        int sum = 0;
        for (int i = 0; i < count; i++) {
            Served event = new Served();
            event.begin();
            try (InputStream in = new FileInputStream(file)) {
                sum += in.read();
            }
            event.number = i;
            event.commit();
        }
        return sum;
    }

    /** Class, id and probes of each class, in order; JaCoCo forgets them. */
    static String coverage() throws ReflectiveOperationException, IOException {
        Object agent = Class.forName("org.jacoco.agent.rt.RT").getMethod("getAgent").invoke(null);
        byte[] data = (byte[]) Class.forName("org.jacoco.agent.rt.IAgent").getMethod("getExecutionData", boolean.class).invoke(agent, true);
        TreeSet<String> classes = new TreeSet<>();
        ExecutionDataReader reader = new ExecutionDataReader(new ByteArrayInputStream(data));
        reader.setSessionInfoVisitor(info -> { });
        reader.setExecutionDataVisitor(seen -> {
            StringBuilder probes = new StringBuilder();
            for (boolean probe : seen.getProbes()) probes.append(probe ? '1' : '0');
            classes.add(seen.getName() + ":" + Long.toHexString(seen.getId()) + ":" + probes);
        });
        reader.read();
        return String.join(" ", classes);
    }

    static String answer(String[] words) throws Exception {
        return switch (words[0]) {
            case "serve" -> Integer.toString(serve(Integer.parseInt(words[1])));
            case "choose" -> Integer.toString(choose(Integer.parseInt(words[1])));
            case "events" -> Integer.toString(events(words[1], Integer.parseInt(words[2])));
            case "coverage" -> coverage();
            case "advice" -> Advised.seen();
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    public static void main(String[] args) throws Exception {
        // What is done once only is done by now.
        for (int i = 0; i < 300; i++) Serve.work(SIZE);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) System.out.println(answer(line.split(" ")));
    }
}

// Shows: nothing by itself: has the JVM's management load the agent, on threads of the program's; tests/tests/whole/attach.rs runs it.
// "two LIBRARY FOLDER": two threads attach at the same time; "told LIBRARY FOLDER": attaches, and takes a snapshot that cannot be written.
import cprof.CProf;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.concurrent.CyclicBarrier;
import javax.management.ObjectName;

class Commands {
    static String library;
    static Path folder;

    static int step(int i) {
        return i ^ 3;
    }

    static int work(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) sum += step(i);
        return sum;
    }

    /** The answer goes to a file of this name. */
    static void command(String options, String reply) throws Exception {
        // In quotes, or the command's parser takes what is behind the first = for something else.
        String[] arguments = {library, "\"" + options + ",reply=" + folder.resolve(reply) + "\""};
        ObjectName commands = new ObjectName("com.sun.management:type=DiagnosticCommand");
        String[] signature = {String[].class.getName()};
        ManagementFactory.getPlatformMBeanServer().invoke(commands, "jvmtiAgentLoad", new Object[] {arguments}, signature);
    }

    static void attach(String name) throws Exception {
        command("out=" + folder.resolve(name + ".cprof"), name + ".reply");
    }

    static void two() throws Exception {
        CyclicBarrier both = new CyclicBarrier(2);
        Thread[] threads = new Thread[2];
        for (int i = 0; i < 2; i++) {
            String name = "two-" + i;
            threads[i] = new Thread(() -> {
                try {
                    both.await();
                    attach(name);
                } catch (Exception e) {
                    System.out.println(e);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println(work(100_000));
        command("command=detach", "detach.reply");
    }

    public static void main(String[] arguments) throws Exception {
        library = arguments[1];
        folder = Path.of(arguments[2]);
        // So that what this takes is there.
        command("command=status", "status.reply");
        if (arguments[0].equals("two")) {
            two();
        } else {
            attach("told");
            System.out.println(CProf.snapshot("/nonexistent/x.cprof"));
        }
    }
}

// Shows: nothing by itself: clients of DatabaseServe, in a JVM of their own, until its standard input ends. See tests/src/servers.rs.
// Arguments: the server's port, clients, milliseconds between two queries of a client. Each line read is answered by one:
// "start": the clients begin; "answered": queries answered so far; "longest": the longest that one took, in microseconds, since last asked;
// "stop": when all clients have ended, the queries answered, or what failed; "ask N": N queries, one after the other.
// not-run
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

class DatabaseLoad {
    // 5 rows of fib(8), which is 21.
    static final long ANSWER = 5 * 21;
    static final int PARTS = 40;
    // No client sends more.
    static final int MOST = 1_000_000;

    final String url;
    // Opened before anything is counted: it asks the server for settings.
    final PreparedStatement own;
    final long pause;
    final AtomicLong answered = new AtomicLong();
    final AtomicLong longest = new AtomicLong();
    final List<Thread> clients = new ArrayList<>();
    volatile boolean stop;
    volatile Throwable failure;

    DatabaseLoad(String port, String pause) throws SQLException {
        url = "jdbc:h2:tcp://127.0.0.1:" + port + "/mem:work";
        own = prepare(DriverManager.getConnection(url));
        this.pause = Long.parseLong(pause);
    }

    static void query(PreparedStatement statement, int i) throws SQLException {
        statement.setInt(1, i % PARTS);
        try (ResultSet rows = statement.executeQuery()) {
            if (!rows.next() || rows.getLong(1) != ANSWER || rows.next()) throw new SQLException("a wrong answer");
        }
    }

    static PreparedStatement prepare(Connection connection) throws SQLException {
        return connection.prepareStatement("select sum(fib(n)) from parts where part = ?");
    }

    void client() {
        try (Connection connection = DriverManager.getConnection(url); PreparedStatement statement = prepare(connection)) {
            for (int i = 0; i < MOST && !stop; i++) {
                long begin = System.nanoTime();
                query(statement, i);
                longest.accumulateAndGet((System.nanoTime() - begin) / 1000, Math::max);
                answered.incrementAndGet();
                if (pause > 0) Thread.sleep(pause);
            }
        } catch (SQLException | InterruptedException e) {
            failure = e;
        }
    }

    String ask(int queries) throws SQLException {
        for (int i = 0; i < queries; i++) query(own, i);
        return Integer.toString(queries);
    }

    String start(int count) {
        stop = false;
        for (int i = 0; i < count; i++) {
            Thread client = new Thread(this::client);
            clients.add(client);
            client.start();
        }
        return "started";
    }

    String stop() throws InterruptedException {
        stop = true;
        for (Thread client : clients) client.join();
        clients.clear();
        return failure == null ? answered.toString() : failure.toString();
    }

    public static void main(String[] args) throws Exception {
        DatabaseLoad load = new DatabaseLoad(args[0], args[2]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            System.out.println(switch (words[0]) {
                case "start" -> load.start(Integer.parseInt(args[1]));
                case "answered" -> load.answered.toString();
                case "longest" -> Long.toString(load.longest.getAndSet(0));
                case "stop" -> load.stop();
                case "ask" -> load.ask(Integer.parseInt(words[1]));
                default -> throw new IllegalArgumentException(line);
            });
        }
        // Its clients may be waiting for a server that is not there any more.
        System.exit(0);
    }
}

// Shows: nothing by itself: the database H2 as a TCP server, on a port that the system chooses, until its standard input ends. See
// tests/tests/whole/servers.rs. "select sum(fib(n)) from parts where part = ?" calls fib(n) for ROWS rows. Each line read answers the port.
// not-run
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.Statement;
import org.h2.tools.Server;

public class DatabaseServe {
    static final int PARTS = 40;
    static final int ROWS = 5;
    static final int N = 8;

    public static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    private static void fill(Connection database) throws Exception {
        try (Statement statement = database.createStatement()) {
            statement.execute("create alias fib for 'DatabaseServe.fib'");
            statement.execute("create table parts (id int primary key, part int, n int)");
            statement.execute("create index by_part on parts (part)");
        }
        try (PreparedStatement insert = database.prepareStatement("insert into parts values (?, ?, ?)")) {
            for (int id = 0; id < PARTS * ROWS; id++) {
                insert.setInt(1, id);
                insert.setInt(2, id % PARTS);
                insert.setInt(3, N);
                insert.executeUpdate();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        try (Connection database = DriverManager.getConnection("jdbc:h2:mem:work")) {
            fill(database);
            Server server = Server.createTcpServer("-tcpPort", "0").start();
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
            System.out.println("ready");
            while (in.readLine() != null) System.out.println(server.getPort());
            server.stop();
        }
    }
}

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** H2 in memory: tables, an index, transactions, joins, aggregates, a constraint that is broken on purpose. */
public class SqlQueries {
    private static final int CUSTOMERS = 300;
    private static final int ORDERS = 4000;

    public static void main(String[] args) throws SQLException {
        try (Connection database = DriverManager.getConnection("jdbc:h2:mem:shop")) {
            fill(database);
            print(database, "select c.region, count(*), sum(o.amount), max(o.placed) from orders o join customers c"
                    + " on o.customer = c.id group by c.region order by 1");
            print(database, "select name, (select count(*) from orders where customer = c.id and amount > 700) as large"
                    + " from customers c order by large desc, name fetch first 5 rows only");
            print(database, "with recursive days(d) as (select 0 union all select d + 1 from days where d < 6)"
                    + " select d, coalesce(sum(amount), 0) from days left join orders on mod(placed, 7) = d group by d order by d");
            try (Statement statement = database.createStatement()) {
                System.out.println("updated " + statement.executeUpdate("update orders set amount = amount + 1 where mod(id, 3) = 0"));
                statement.execute("insert into orders values (1, 1, 1, 1)");
            } catch (SQLException e) {
                System.out.println("refused: " + e.getSQLState());
            }
            print(database, "select sum(amount), avg(placed), string_agg(distinct mod(amount, 10), ',' order by mod(amount, 10)) from orders");
        }
    }

    private static void fill(Connection database) throws SQLException {
        database.setAutoCommit(false);
        try (Statement statement = database.createStatement()) {
            statement.execute("create table customers (id int primary key, name varchar(40), region varchar(10))");
            statement.execute("create table orders (id int primary key, customer int references customers, placed int, amount int)");
            statement.execute("create index by_amount on orders (amount)");
        }
        try (PreparedStatement insert = database.prepareStatement("insert into customers values (?, ?, ?)")) {
            for (int i = 1; i <= CUSTOMERS; i++) {
                insert.setInt(1, i);
                insert.setString(2, "customer-" + i * 7919 % 1000);
                insert.setString(3, new String[] {"north", "east", "south", "west"}[i * 31 % 4]);
                insert.executeUpdate();
            }
        }
        try (PreparedStatement insert = database.prepareStatement("insert into orders values (?, ?, ?, ?)")) {
            for (int i = 1; i <= ORDERS; i++) {
                insert.setInt(1, i);
                insert.setInt(2, 1 + i * 17 % CUSTOMERS);
                insert.setInt(3, i * 13 % 365);
                insert.setInt(4, i * 7907 % 1000);
                insert.addBatch();
            }
            insert.executeBatch();
        }
        database.commit();
        database.setAutoCommit(true);
    }

    private static void print(Connection database, String query) throws SQLException {
        try (Statement statement = database.createStatement(); ResultSet rows = statement.executeQuery(query)) {
            int columns = rows.getMetaData().getColumnCount();
            while (rows.next()) {
                StringBuilder line = new StringBuilder();
                for (int column = 1; column <= columns; column++) {
                    line.append(column > 1 ? " | " : "").append(rows.getString(column));
                }
                System.out.println(line);
            }
            System.out.println();
        }
    }
}

// pgjdbc.

import java.io.StringReader;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.*;
import java.util.Properties;
import org.postgresql.PGConnection;
import org.postgresql.util.PSQLException;

public class Pgjdbc {
    interface Item {
        void run(Connection conn) throws Exception;
    }

    static Connection connect(String... more) throws SQLException {
        Properties how = new Properties();
        how.setProperty("user", System.getenv("PGUSER"));
        how.setProperty("password", System.getenv("PGPASSWORD"));
        how.setProperty("sslmode", "verify-full");
        how.setProperty("sslrootcert", System.getenv("PGSSLROOTCERT"));
        how.setProperty("channelBinding", "require");
        for (int at = 0; at < more.length; at += 2) how.setProperty(more[at], more[at + 1]);
        return DriverManager.getConnection("jdbc:postgresql://localhost:" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE"), how);
    }

    static void check(boolean holds, Object what) {
        if (!holds) throw new AssertionError(what);
    }

    static void fails(String code, Item item, Connection conn) throws Exception {
        try {
            item.run(conn);
        } catch (SQLException error) {
            check(code.equals(error.getSQLState()), error);
            return;
        }
        throw new AssertionError("expected " + code);
    }

    static void execute(Connection conn, String sql) throws SQLException {
        try (Statement statement = conn.createStatement()) {
            statement.execute(sql);
        }
    }

    static String one(Connection conn, String sql) throws SQLException {
        try (Statement statement = conn.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getString(1);
        }
    }

    static void login(Connection conn) throws Exception {
        check(conn.getMetaData().getDatabaseMajorVersion() >= 15, "version");
        fails("28P01", none -> connect("password", "wrong"), conn);
    }

    static void types(Connection conn) throws Exception {
        // Binary from the fifth execution on, and from the first.
        for (String[] how : new String[][] {{"prepareThreshold", "0"}, {"prepareThreshold", "-1"}}) {
            try (Connection other = connect(how)) {
                for (String line : Files.readAllLines(Path.of(System.getenv("CAIRN_SCRIPTS"), "types.tsv"))) {
                    type(other, line.substring(0, line.indexOf('\t')), line.substring(line.indexOf('\t') + 1));
                }
            }
        }
    }

    static void type(Connection conn, String of, String text) throws SQLException {
        String literal = "'" + text.replace("'", "''") + "'::" + of;
        Object value, values;
        try (PreparedStatement asked = conn.prepareStatement("SELECT " + literal + ", ARRAY[" + literal + ", NULL]"); ResultSet row = asked.executeQuery()) {
            row.next();
            value = row.getObject(1);
            values = row.getArray(2);
            check(((Object[]) ((Array) values).getArray())[1] == null, of);
        }
        String same = "SELECT (?::" + of + ")::text = (" + literal + ")::text, (?::" + of + "[])::text = (ARRAY[" + literal + ", NULL])::text, (?::" + of + ") IS NULL";
        try (PreparedStatement asked = conn.prepareStatement(same)) {
            asked.setObject(1, value);
            asked.setObject(2, values);
            asked.setNull(3, Types.NULL);
            for (int turn = 0; turn < 2; turn++) {
                try (ResultSet row = asked.executeQuery()) {
                    row.next();
                    // Java's times of day and moments have no more than milliseconds, or another zone.
                    check(row.getBoolean(1) || of.equals("time") || of.equals("timetz"), of + " " + value);
                    check(row.getBoolean(2) && row.getBoolean(3), of + "[] " + values);
                }
            }
        }
    }

    static void ten(Connection conn) throws Exception {
        execute(conn, "CREATE TABLE ten (id int PRIMARY KEY, name text)");
        try (PreparedStatement insert = conn.prepareStatement("INSERT INTO ten VALUES (?, ?)");
                PreparedStatement select = conn.prepareStatement("SELECT name, id FROM ten WHERE id = ?")) {
            for (int id = 0; id < 10; id++) {
                insert.setInt(1, id);
                insert.setString(2, "name " + id);
                check(insert.executeUpdate() == 1, id);
                select.setInt(1, id);
                try (ResultSet rows = select.executeQuery()) {
                    check(rows.next() && rows.getString(1).equals("name " + id) && rows.getInt(2) == id, id);
                }
            }
        }
        conn.setAutoCommit(false);
        try (Statement statement = conn.createStatement()) {
            statement.setFetchSize(3);
            int count = 0;
            try (ResultSet rows = statement.executeQuery("SELECT id FROM ten ORDER BY id")) {
                while (rows.next()) check(rows.getInt(1) == count++, count);
            }
            check(count == 10, count);
        }
        conn.commit();
        conn.setAutoCommit(true);
        execute(conn, "CREATE FUNCTION twice(a int) RETURNS int LANGUAGE sql AS 'SELECT 2 * a'");
        execute(conn, "CREATE FUNCTION more(a int, OUT b int, OUT c text) LANGUAGE sql AS 'SELECT 2 * a, ''x''::text'");
        calls(conn, "{? = call twice(?)}", 2, 1);
        calls(conn, "{call more(?, ?, ?)}", 1, 2, 3);
        execute(conn, "CREATE PROCEDURE does(a int, OUT b int) LANGUAGE plpgsql AS 'BEGIN b := 2 * a; END'");
        calls(conn, "call does(?, ?)", 1, 2);
    }

    static void calls(Connection conn, String text, int in, int... outs) throws SQLException {
        try (CallableStatement call = conn.prepareCall(text)) {
            call.setInt(in, 21);
            for (int at = 0; at < outs.length; at++) call.registerOutParameter(outs[at], at == 0 ? Types.INTEGER : Types.VARCHAR);
            for (int turn = 0; turn < 6; turn++) {
                call.execute();
                check(call.getInt(outs[0]) == 42, text);
            }
        }
    }

    static void batch(Connection conn) throws Exception {
        execute(conn, "CREATE TABLE batch (id int PRIMARY KEY, name text)");
        try (PreparedStatement insert = conn.prepareStatement("INSERT INTO batch (id) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
            for (int id = 0; id < 300; id++) {
                insert.setInt(1, id);
                insert.addBatch();
            }
            check(insert.executeBatch().length == 300, "batch");
        }
        try (Connection other = connect("reWriteBatchedInserts", "true"); PreparedStatement insert = other.prepareStatement("INSERT INTO batch VALUES (?, ?)")) {
            for (int id = 300; id < 400; id++) {
                insert.setInt(1, id);
                insert.setString(2, "x");
                insert.addBatch();
            }
            insert.executeBatch();
        }
        check(one(conn, "SELECT count(*) FROM batch").equals("400"), "count");
    }

    static void copy(Connection conn) throws Exception {
        execute(conn, "CREATE TABLE copied (id int, name text)");
        StringBuilder lines = new StringBuilder();
        for (int id = 0; id < 1000; id++) lines.append(id).append('\t').append(id % 7 == 0 ? "\\N" : "n " + id).append('\n');
        var copies = conn.unwrap(PGConnection.class).getCopyAPI();
        check(copies.copyIn("COPY copied FROM STDIN", new StringReader(lines.toString())) == 1000, "in");
        StringWriter out = new StringWriter();
        copies.copyOut("COPY (SELECT * FROM copied ORDER BY id) TO STDOUT", out);
        check(out.toString().contentEquals(lines), "out");
    }

    static void cancel(Connection conn) throws Exception {
        try (Statement statement = conn.createStatement()) {
            new Thread(() -> {
                try {
                    Thread.sleep(1000);
                    statement.cancel();
                } catch (Exception error) {
                    error.printStackTrace();
                }
            }).start();
            fails("57014", none -> statement.execute("SELECT count(*) FROM generate_series(1, 100000000000)"), conn);
        }
    }

    static void errors(Connection conn) throws Exception {
        execute(conn, "CREATE TABLE failing (id int CONSTRAINT one_only PRIMARY KEY); INSERT INTO failing VALUES (1)");
        try {
            execute(conn, "INSERT INTO failing VALUES (1)");
            check(false, "it is accepted");
        } catch (PSQLException error) {
            var said = error.getServerErrorMessage();
            check("23505".equals(said.getSQLState()) && "one_only".equals(said.getConstraint()) && "failing".equals(said.getTable()), said);
            check("Key (id)=(1) already exists.".equals(said.getDetail()) && "public".equals(said.getSchema()), said);
        }
        try {
            execute(conn, "SELECT 1 + nope");
        } catch (PSQLException error) {
            check(error.getServerErrorMessage().getPosition() == 12, error);
        }
    }

    static void retry(Connection conn) throws Exception {
        execute(conn, "CREATE TABLE account (id int PRIMARY KEY, n int); INSERT INTO account VALUES (1, 0)");
        conn.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        conn.setAutoCommit(false);
        int turns = 0;
        while (true) {
            turns++;
            try {
                int n = Integer.parseInt(one(conn, "SELECT n FROM account WHERE id = 1"));
                if (turns == 1) {
                    try (Connection other = connect()) {
                        execute(other, "UPDATE account SET n = n + 10 WHERE id = 1");
                    }
                }
                execute(conn, "UPDATE account SET n = " + (n + 1) + " WHERE id = 1");
                conn.commit();
                break;
            } catch (SQLException error) {
                check("40001".equals(error.getSQLState()), error);
                conn.rollback();
            }
        }
        conn.setAutoCommit(true);
        check(turns == 2 && one(conn, "SELECT n FROM account").equals("11"), turns);
    }

    static void listen(Connection conn) throws Exception {
        execute(conn, "LISTEN news");
        try (Connection other = connect()) {
            execute(other, "NOTIFY news, 'at last'");
        }
        var heard = conn.unwrap(PGConnection.class).getNotifications(5000);
        check(heard != null && heard.length == 1 && heard[0].getParameter().equals("at last"), "nothing is heard");
    }

    static void pool(Connection conn) throws Exception {
        execute(conn, "SET work_mem = '1MB'");
        execute(conn, "DISCARD ALL");
        check(!one(conn, "SHOW work_mem").equals("1MB") && conn.isValid(5), "reset");
    }

    static void tables(Connection conn) throws Exception {
        execute(conn, "CREATE TABLE parent (id serial PRIMARY KEY, name varchar(20) NOT NULL UNIQUE); CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent)");
        DatabaseMetaData of = conn.getMetaData();
        try (ResultSet rows = of.getTables(null, "public", "parent", new String[] {"TABLE"})) {
            check(rows.next() && rows.getString("TABLE_NAME").equals("parent"), "tables");
        }
        try (ResultSet rows = of.getColumns(null, "public", "parent", "%")) {
            check(rows.next() && rows.getString("TYPE_NAME").equals("serial") && rows.getString("IS_AUTOINCREMENT").equals("YES"), "serial");
            check(rows.next() && rows.getInt("COLUMN_SIZE") == 20 && rows.getString("IS_NULLABLE").equals("NO"), "varchar");
        }
        try (ResultSet rows = of.getPrimaryKeys(null, "public", "child")) {
            check(rows.next() && rows.getString("COLUMN_NAME").equals("id"), "key");
        }
        try (ResultSet rows = of.getImportedKeys(null, "public", "child")) {
            check(rows.next() && rows.getString("PKTABLE_NAME").equals("parent"), "reference");
        }
        try (ResultSet rows = of.getIndexInfo(null, "public", "parent", true, false)) {
            check(rows.next(), "indexes");
        }
        try (PreparedStatement insert = conn.prepareStatement("INSERT INTO parent (name) VALUES ('a')", Statement.RETURN_GENERATED_KEYS)) {
            insert.executeUpdate();
            try (ResultSet keys = insert.getGeneratedKeys()) {
                check(keys.next() && keys.getInt("id") == 1, "keys");
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        try (Connection conn = connect()) {
            String[] names = {"login", "types", "ten", "batch", "copy", "cancel", "errors", "retry", "listen", "pool", "tables"};
            Item[] items = {Pgjdbc::login, Pgjdbc::types, Pgjdbc::ten, Pgjdbc::batch, Pgjdbc::copy, Pgjdbc::cancel, Pgjdbc::errors, Pgjdbc::retry, Pgjdbc::listen, Pgjdbc::pool, Pgjdbc::tables};
            for (int at = 0; at < items.length; at++) {
                items[at].run(conn);
                System.out.println("ok " + names[at]);
            }
        }
    }
}

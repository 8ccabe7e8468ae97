import jakarta.persistence.*;
import java.math.BigDecimal;
import java.time.*;
import java.util.*;
import org.hibernate.*;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.cfg.Configuration;
import org.hibernate.exception.ConstraintViolationException;
import org.hibernate.type.SqlTypes;

/** Hibernate over pgjdbc: tables that it makes, checks and alters, and the models that it keeps in them. */
public class Models {
    enum Mood { SAD, OK, FINE }

    @Entity(name = "Author")
    @Table(name = "author", uniqueConstraints = @UniqueConstraint(name = "one_of_a_name", columnNames = "name"))
    static class Author {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Integer id;
        @Column(length = 40, nullable = false) String name;
        @Enumerated(EnumType.STRING) Mood mood;
        @jakarta.persistence.Version int version;
        @OneToMany(mappedBy = "author", cascade = CascadeType.ALL) @OrderBy("id") List<Book> books = new ArrayList<>();
    }

    @Entity(name = "Book")
    @Table(name = "book", indexes = @Index(name = "book_title", columnList = "title"))
    static class Book {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) Long id;
        @ManyToOne(optional = false) Author author;
        String title;
    }

    @Entity(name = "Every")
    @Table(name = "every")
    static class Every {
        @Id int id;
        Boolean flag;
        Short small;
        Long big;
        Float real;
        Double wide;
        @Column(precision = 12, scale = 2) BigDecimal number;
        String text;
        LocalDate day;
        LocalTime time;
        LocalDateTime clock;
        Instant moment;
        UUID uuid;
        byte[] bytes;
        Duration length;
        @JdbcTypeCode(SqlTypes.JSON) Map<String, String> json;
        Integer[] ints;
        String[] texts;
        @Lob String much;
    }

    static SessionFactory factory(String schema) {
        Configuration how = new Configuration();
        for (Class<?> of : List.of(Author.class, Book.class, Every.class)) how.addAnnotatedClass(of);
        String url = "jdbc:postgresql://localhost:" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
        how.setProperty("hibernate.connection.url", url + "?sslmode=verify-full&sslrootcert=" + System.getenv("PGSSLROOTCERT"));
        how.setProperty("hibernate.connection.username", System.getenv("PGUSER"));
        how.setProperty("hibernate.connection.password", System.getenv("PGPASSWORD"));
        how.setProperty("hibernate.hbm2ddl.auto", schema);
        how.setProperty("hibernate.hbm2ddl.halt_on_error", "true");
        how.setProperty("hibernate.jdbc.batch_size", "20");
        how.setProperty("hibernate.type.json_format_mapper", Json.class.getName());
        return how.buildSessionFactory();
    }

    /** Flat objects of texts are enough, and bring no library. */
    public static class Json implements org.hibernate.type.format.FormatMapper {
        @Override
        @SuppressWarnings("unchecked")
        public <T> T fromString(CharSequence text, org.hibernate.type.descriptor.java.JavaType<T> type, org.hibernate.type.descriptor.WrapperOptions options) {
            Map<String, String> map = new TreeMap<>();
            var pairs = java.util.regex.Pattern.compile("\"([^\"]*)\": ?\"([^\"]*)\"").matcher(text);
            while (pairs.find()) map.put(pairs.group(1), pairs.group(2));
            return (T) map;
        }

        @Override
        public <T> String toString(T value, org.hibernate.type.descriptor.java.JavaType<T> type, org.hibernate.type.descriptor.WrapperOptions options) {
            StringJoiner pairs = new StringJoiner(",", "{", "}");
            ((Map<?, ?>) value).forEach((name, of) -> pairs.add("\"" + name + "\":\"" + of + "\""));
            return pairs.toString();
        }
    }

    static SessionFactory db;

    static void check(boolean holds, Object what) {
        if (!holds) throw new AssertionError(String.valueOf(what));
    }

    static void login() {
        factory("create").close();
        // What it has made is what it looks for, and nothing is missing.
        factory("validate").close();
        db = factory("update");
    }

    static void types() {
        Every one = new Every();
        one.id = 1;
        one.flag = true;
        one.small = -3;
        one.big = 1L << 62;
        one.real = 1.5f;
        one.wide = -2.25;
        one.number = new BigDecimal("12345.67");
        one.text = "Ä'\\😀";
        one.day = LocalDate.of(2024, 2, 29);
        one.time = LocalTime.of(23, 59, 59);
        one.clock = LocalDateTime.of(1999, 12, 31, 23, 59, 59, 123456000);
        one.moment = Instant.parse("2026-11-29T07:00:00.5Z");
        one.uuid = UUID.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
        one.bytes = new byte[] { 0, -1 };
        one.length = Duration.ofMillis(90_061_001);
        one.json = new TreeMap<>(Map.of("a", "x", "b", "Ä"));
        one.ints = new Integer[] { 1, null, 3 };
        one.texts = new String[] { "a", "\"{,}" };
        Every empty = new Every();
        empty.id = 2;
        db.inTransaction(session -> {
            session.persist(one);
            session.persist(empty);
        });
        db.inSession(session -> {
            Every found = session.find(Every.class, 1);
            check(found != one && found.flag && found.small == -3 && found.big == 1L << 62 && found.real == 1.5f && found.wide == -2.25, found);
            check(found.number.equals(one.number) && found.text.equals(one.text) && found.day.equals(one.day), found.text);
            check(found.time.equals(one.time) && found.clock.equals(one.clock) && found.moment.equals(one.moment), found.moment);
            check(found.uuid.equals(one.uuid) && Arrays.equals(found.bytes, one.bytes) && found.length.equals(one.length), found.length);
            check(found.json.equals(one.json) && Arrays.equals(found.ints, one.ints) && Arrays.equals(found.texts, one.texts), found.json);
            Every nothing = session.find(Every.class, 2);
            check(nothing.flag == null && nothing.number == null && nothing.json == null && nothing.ints == null, nothing);
        });
    }

    static void ten() {
        for (int turn = 0; turn < 10; turn++) {
            db.inSession(session -> check(session.find(Every.class, 1).text.equals("Ä'\\😀"), "ten"));
        }
    }

    static void batch() {
        db.inTransaction(session -> {
            Author ada = new Author();
            ada.name = "Ada";
            ada.mood = Mood.FINE;
            for (int n = 0; n < 50; n++) {
                Book book = new Book();
                book.author = ada;
                book.title = "book " + n;
                ada.books.add(book);
            }
            session.persist(ada);
        });
        db.inTransaction(session -> {
            var titles = session.createSelectionQuery("select b.title from Book b join b.author a where a.mood = :mood order by b.id", String.class)
                .setParameter("mood", Mood.FINE).setFirstResult(48).setMaxResults(5).getResultList();
            check(titles.equals(List.of("book 48", "book 49")), titles);
            Object[] counted = session.createSelectionQuery(
                "select a.name, count(b), max(length(b.title)) from Author a left join a.books b group by a.name having count(b) > 1", Object[].class).getSingleResult();
            check(counted[0].equals("Ada") && counted[1].equals(50L) && counted[2].equals(7), Arrays.toString(counted));
            int changed = session.createMutationQuery("update Book set title = upper(title) where title like 'book 4%'").executeUpdate();
            check(changed == 11, changed);
            var ranked = session.createSelectionQuery(
                "select b.title, row_number() over (order by b.title desc) from Book b order by b.title desc fetch first 1 rows only", Object[].class).getSingleResult();
            check(ranked[1].equals(1L), ranked[1]);
        });
    }

    static void errors() {
        try {
            db.inTransaction(session -> {
                Author again = new Author();
                again.name = "Ada";
                session.persist(again);
            });
            throw new AssertionError("a name is there twice");
        } catch (ConstraintViolationException error) {
            check("one_of_a_name".equals(error.getConstraintName()) && "23505".equals(error.getSQLState()), error);
        }
    }

    static void retry() {
        int turns = 0;
        while (true) {
            int turn = ++turns;
            try {
                db.inTransaction(session -> {
                    Author ada = session.createSelectionQuery("from Author", Author.class).getSingleResult();
                    if (turn == 1) db.inTransaction(other -> other.createNativeMutationQuery("UPDATE author SET mood = 'SAD'").executeUpdate());
                    ada.name += " L.";
                });
                break;
            } catch (PersistenceException error) {
                Throwable cause = error;
                while (!(cause instanceof java.sql.SQLException) && cause.getCause() != null) cause = cause.getCause();
                check(cause instanceof java.sql.SQLException of && of.getSQLState().equals("40001"), error);
            }
        }
        check(turns == 2, turns);
        db.inSession(session -> {
            Author ada = session.createSelectionQuery("from Author", Author.class).getSingleResult();
            check(ada.name.equals("Ada L.") && ada.mood == Mood.SAD && ada.version == 1, ada.name + ada.version);
        });
    }

    static void versions() {
        Author stale = db.fromSession(session -> session.createSelectionQuery("from Author", Author.class).getSingleResult());
        db.inTransaction(session -> session.createSelectionQuery("from Author", Author.class).getSingleResult().mood = Mood.OK);
        try {
            stale.mood = Mood.FINE;
            db.inTransaction(session -> session.merge(stale));
            throw new AssertionError("it was changed meanwhile");
        } catch (OptimisticLockException | StaleStateException error) {
            // As it should.
        }
        db.inTransaction(session -> session.find(Author.class, stale.id, LockModeType.PESSIMISTIC_WRITE));
    }

    public static void main(String[] arguments) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        Map<String, Runnable> items = new LinkedHashMap<>();
        items.put("login", Models::login);
        items.put("types", Models::types);
        items.put("ten", Models::ten);
        items.put("batch", Models::batch);
        items.put("errors", Models::errors);
        items.put("retry", Models::retry);
        items.put("versions", Models::versions);
        items.forEach((name, item) -> {
            item.run();
            System.out.println("ok " + name);
        });
        db.close();
    }
}

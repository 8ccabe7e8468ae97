// pgx, and its pool.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

var ctx = context.Background()

func check(holds bool, what ...any) {
	if !holds {
		panic(fmt.Sprintln(what...))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func code(err error) string {
	var of *pgconn.PgError
	if errors.As(err, &of) {
		return of.Code
	}
	return fmt.Sprint(err)
}

func connect() *pgx.Conn {
	return must(pgx.Connect(ctx, "sslmode=verify-full channel_binding=require"))
}

func execute(conn *pgx.Conn, sql string, values ...any) pgconn.CommandTag {
	return must(conn.Exec(ctx, sql, values...))
}

func one[T any](conn *pgx.Conn, sql string, values ...any) T {
	var value T
	if err := conn.QueryRow(ctx, sql, values...).Scan(&value); err != nil {
		panic(fmt.Sprint(sql, ": ", err))
	}
	return value
}

func login(conn *pgx.Conn) {
	_, err := pgx.Connect(ctx, "sslmode=verify-full password=wrong")
	check(code(err) == "28P01", err)
	// The names of the server's own types are loaded.
	mood := must(conn.LoadType(ctx, "mood"))
	conn.TypeMap().RegisterType(mood)
	conn.TypeMap().RegisterType(must(conn.LoadType(ctx, "mood[]")))
}

func types(conn *pgx.Conn) {
	for _, line := range strings.Split(strings.TrimRight(string(must(os.ReadFile(os.Getenv("CAIRN_SCRIPTS")+"/types.tsv"))), "\n"), "\n") {
		of, text, _ := strings.Cut(line, "\t")
		literal := "'" + strings.ReplaceAll(text, "'", "''") + "'::" + of
		// JSON that was taken apart has other blanks.
		seen := of
		if of == "json" {
			seen = "jsonb"
		}
		same := "SELECT ($1::" + of + ")::" + seen + "::text = (" + literal + ")::" + seen + "::text, ($2::" + of + "[])::" + seen +
			"[]::text = (ARRAY[" + literal + ", NULL])::" + seen + "[]::text, ($3::" + of + ") IS NULL"
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec} {
			values := must(row(conn.Query(ctx, "SELECT "+literal+", ARRAY["+literal+", NULL]", mode)))
			// What pgx has no type for comes and goes as text.
			array, known := values[1].([]any)
			check(!known || array[1] == nil, of)
			check(known || of == "timetz", of)
			var a, b, c bool
			err := conn.QueryRow(ctx, same, mode, values[0], values[1], nil).Scan(&a, &b, &c)
			check(err == nil && a && b && c, of, mode, values, err, a, b, c)
		}
	}
}

func row(rows pgx.Rows, err error) ([]any, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
}

func ten(conn *pgx.Conn) {
	execute(conn, "CREATE TABLE ten (id int PRIMARY KEY, name text)")
	must(conn.Prepare(ctx, "insert", "INSERT INTO ten VALUES ($1, $2)"))
	for id := range 10 {
		execute(conn, "insert", id, fmt.Sprint("name ", id))
		check(one[string](conn, "SELECT name FROM ten WHERE id = $1", id) == fmt.Sprint("name ", id), id)
	}
}

func batch(conn *pgx.Conn) {
	batch := &pgx.Batch{}
	for id := range 100 {
		batch.Queue("INSERT INTO ten VALUES ($1)", 1000+id)
	}
	batch.Queue("SELECT count(*) FROM ten")
	results := conn.SendBatch(ctx, batch)
	for range 100 {
		must(results.Exec())
	}
	var count int
	check(results.QueryRow().Scan(&count) == nil && count == 110, count)
	check(results.Close() == nil)
	batch = &pgx.Batch{}
	batch.Queue("INSERT INTO ten VALUES (2000)")
	batch.Queue("INSERT INTO ten VALUES (1)")
	check(code(conn.SendBatch(ctx, batch).Close()) == "23505")
	check(one[int](conn, "SELECT count(*) FROM ten WHERE id = 2000") == 0, "a batch is one transaction")
}

func copies(conn *pgx.Conn) {
	execute(conn, "CREATE TABLE copied (id bigint, name text, at timestamptz)")
	var rows [][]any
	for id := range 1000 {
		rows = append(rows, []any{id, nil, time.Unix(int64(id), 0)})
	}
	count := must(conn.CopyFrom(ctx, pgx.Identifier{"copied"}, []string{"id", "name", "at"}, pgx.CopyFromRows(rows)))
	check(count == 1000, count)
	var out bytes.Buffer
	tag := must(conn.PgConn().CopyTo(ctx, &out, "COPY (SELECT id FROM copied ORDER BY id) TO STDOUT"))
	check(tag.RowsAffected() == 1000 && strings.HasPrefix(out.String(), "0\n1\n2\n"), tag)
	must(conn.PgConn().CopyFrom(ctx, &out, "COPY copied (id) FROM STDIN"))
	check(one[int](conn, "SELECT count(*) FROM copied") == 2000)
}

func cancel(*pgx.Conn) {
	conn := connect()
	defer conn.Close(ctx)
	running := make(chan error)
	go func() {
		_, err := conn.Exec(ctx, "SELECT count(*) FROM generate_series(1, 100000000000)")
		running <- err
	}()
	time.Sleep(time.Second)
	check(conn.PgConn().CancelRequest(ctx) == nil)
	check(code(<-running) == "57014")
	check(one[int](conn, "SELECT 1") == 1)
}

func failures(conn *pgx.Conn) {
	execute(conn, "CREATE TABLE failing (id int CONSTRAINT one_only PRIMARY KEY)")
	execute(conn, "INSERT INTO failing VALUES (1)")
	_, err := conn.Exec(ctx, "INSERT INTO failing VALUES ($1)", 1)
	var of *pgconn.PgError
	check(errors.As(err, &of), err)
	check(of.SchemaName == "public" && of.TableName == "failing" && of.ConstraintName == "one_only" && of.Detail == "Key (id)=(1) already exists.", of)
	_, err = conn.Exec(ctx, "SELECT 1 + nope")
	check(errors.As(err, &of) && of.Code == "42703" && of.Position == 12, of)
}

func retry(conn *pgx.Conn) {
	execute(conn, "CREATE TABLE account (id int PRIMARY KEY, n int)")
	execute(conn, "INSERT INTO account VALUES (1, 0)")
	turns := 0
	for {
		turns++
		err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(tx pgx.Tx) error {
			var n int
			if err := tx.QueryRow(ctx, "SELECT n FROM account WHERE id = 1").Scan(&n); err != nil {
				return err
			}
			if turns == 1 {
				other := connect()
				execute(other, "UPDATE account SET n = n + 10 WHERE id = 1")
				other.Close(ctx)
			}
			_, err := tx.Exec(ctx, "UPDATE account SET n = $1 WHERE id = 1", n+1)
			return err
		})
		if err == nil {
			break
		}
		check(code(err) == "40001", err)
	}
	check(turns == 2 && one[int](conn, "SELECT n FROM account") == 11, turns)
}

func listen(conn *pgx.Conn) {
	execute(conn, "LISTEN news")
	go func() {
		other := connect()
		time.Sleep(100 * time.Millisecond)
		execute(other, "SELECT pg_notify('news', $1)", "at last")
		other.Close(ctx)
	}()
	limited, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	heard := must(conn.WaitForNotification(limited))
	check(heard.Channel == "news" && heard.Payload == "at last", heard)
}

func pool(*pgx.Conn) {
	config := must(pgxpool.ParseConfig("sslmode=verify-full pool_max_conns=1"))
	config.AfterRelease = func(conn *pgx.Conn) bool {
		_, err := conn.Exec(ctx, "DISCARD ALL", pgx.QueryExecModeSimpleProtocol)
		return err == nil && conn.DeallocateAll(ctx) == nil
	}
	pool := must(pgxpool.NewWithConfig(ctx, config))
	defer pool.Close()
	must(pool.Exec(ctx, "SET work_mem = '1MB'"))
	var is string
	check(pool.QueryRow(ctx, "SHOW work_mem").Scan(&is) == nil && is != "1MB", is)
}

func main() {
	conn := connect()
	for _, item := range []struct {
		name string
		run  func(*pgx.Conn)
	}{
		{"login", login}, {"types", types}, {"ten", ten}, {"batch", batch}, {"copy", copies}, {"cancel", cancel},
		{"errors", failures}, {"retry", retry}, {"listen", listen}, {"pool", pool},
	} {
		item.run(conn)
		fmt.Println("ok", item.name)
	}
	check(conn.Close(ctx) == nil)
}

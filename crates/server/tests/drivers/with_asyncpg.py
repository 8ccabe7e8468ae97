"""asyncpg, which speaks binary, and its pool."""

import asyncio
import ssl

import asyncpg

from said import TYPES, ok, quoted


def tls():
    import os

    return ssl.create_default_context(cafile=os.environ["PGSSLROOTCERT"])


async def connect(**more):
    return await asyncpg.connect(host="localhost", ssl=tls(), **more)


async def login():
    conn = await connect()
    assert conn.get_server_version().major >= 15
    await conn.close()
    try:
        await connect(password="wrong")
    except asyncpg.InvalidPasswordError as error:
        assert error.sqlstate == "28P01"
    else:
        raise AssertionError("a wrong password is accepted")


async def types(conn):
    for of, text in TYPES:
        literal = f"{quoted(text)}::{of}"
        value = await conn.fetchval(f"SELECT {literal}")
        same = f"SELECT ($1::{of})::text = ({literal})::text"
        assert await conn.fetchval(same, value), (of, value)
        assert await conn.fetchval(f"SELECT ($1::{of}) IS NULL", None), of
        values = await conn.fetchval(f"SELECT ARRAY[{literal}, NULL, {literal}]")
        assert values == [value, None, value], (of, values)
        same = f"SELECT ($1::{of}[])::text = (ARRAY[{literal}, NULL, {literal}])::text"
        assert await conn.fetchval(same, values), (of, values)
    made = await conn.fetchval("SELECT ROW(7, 'seven')::pair")
    assert tuple(made) == (7, "seven") and await conn.fetchval("SELECT ($1::pair).b", (8, "eight")) == "eight"


async def ten(conn):
    await conn.execute("CREATE TABLE ten (id int PRIMARY KEY, name text)")
    insert = await conn.prepare("INSERT INTO ten VALUES ($1, $2)")
    select = await conn.prepare("SELECT name FROM ten WHERE id = $1")
    for turn in range(10):
        await insert.fetch(turn, f"name {turn}")
        assert await select.fetchval(turn) == f"name {turn}"
    # What is not what it was prepared as is prepared anew, which the driver does where it is told in PostgreSQL's way.
    one = "SELECT * FROM ten WHERE id = 1"
    assert tuple(await conn.fetchrow(one)) == (1, "name 1")
    await conn.execute("ALTER TABLE ten ADD COLUMN more int DEFAULT 7")
    assert tuple(await conn.fetchrow(one)) == (1, "name 1", 7)


async def batch(conn):
    await conn.execute("CREATE TABLE batch (id int PRIMARY KEY)")
    await conn.executemany("INSERT INTO batch VALUES ($1)", [(id,) for id in range(100)])
    assert await conn.fetchval("SELECT count(*) FROM batch") == 100
    try:
        await conn.executemany("INSERT INTO batch VALUES ($1)", [(1000,), (1,), (1001,)])
    except asyncpg.UniqueViolationError:
        pass
    # They are one transaction.
    assert await conn.fetchval("SELECT count(*) FROM batch") == 100
    async with conn.transaction():
        seen = [row["id"] async for row in conn.cursor("SELECT id FROM batch ORDER BY id", prefetch=7)]
    assert seen == list(range(100))


async def copy(conn):
    await conn.execute("CREATE TABLE copied (id int8, name text)")
    rows = [(id, None if id % 7 == 0 else f"n\t{id}") for id in range(1000)]
    assert await conn.copy_records_to_table("copied", records=rows) == "COPY 1000"
    out = bytearray()

    async def take(data):
        out.extend(data)

    said = await conn.copy_from_query("SELECT * FROM copied ORDER BY id", output=take, format="csv")
    assert said == "COPY 1000" and out.startswith(b'0,\n1,n\t1\n')


async def cancel(conn):
    try:
        await conn.fetchval("SELECT count(*) FROM generate_series(1, 100000000000)", timeout=1)
    except asyncio.TimeoutError:
        pass
    else:
        raise AssertionError("it was not cancelled")
    assert await conn.fetchval("SELECT 1") == 1


async def errors(conn):
    await conn.execute("CREATE TABLE failing (id int CONSTRAINT one_only PRIMARY KEY)")
    await conn.execute("INSERT INTO failing VALUES (1)")
    try:
        await conn.execute("INSERT INTO failing VALUES ($1)", 1)
    except asyncpg.UniqueViolationError as error:
        assert (error.schema_name, error.table_name, error.constraint_name) == ("public", "failing", "one_only")
        assert error.detail == "Key (id)=(1) already exists."
    try:
        await conn.execute("SELECT 1 + nope")
    except asyncpg.UndefinedColumnError as error:
        assert error.position == "12"


async def retry(conn):
    await conn.execute("CREATE TABLE account (id int PRIMARY KEY, n int); INSERT INTO account VALUES (1, 0)")
    turns = 0
    while True:
        turns += 1
        try:
            async with conn.transaction(isolation="serializable"):
                n = await conn.fetchval("SELECT n FROM account WHERE id = 1")
                if turns == 1:
                    other = await connect()
                    await other.execute("UPDATE account SET n = n + 10 WHERE id = 1")
                    await other.close()
                await conn.execute("UPDATE account SET n = $1 WHERE id = 1", n + 1)
            break
        except asyncpg.SerializationError:
            continue
    assert turns == 2 and await conn.fetchval("SELECT n FROM account") == 11


async def listen(conn):
    heard = asyncio.get_running_loop().create_future()

    def hear(conn, process, channel, payload):
        heard.set_result((process, channel, payload))

    await conn.add_listener("news", hear)
    other = await connect()
    await other.execute("SELECT pg_notify('news', 'at last')")
    assert await asyncio.wait_for(heard, 5) == (other.get_server_pid(), "news", "at last")
    await other.close()
    await conn.remove_listener("news", hear)


async def pool():
    async with asyncpg.create_pool(host="localhost", ssl=tls(), min_size=1, max_size=1) as pool:
        async with pool.acquire() as conn:
            await conn.execute("SET work_mem = '1MB'")
            await conn.execute("LISTEN gone")
        async with pool.acquire() as conn:
            assert await conn.fetchval("SHOW work_mem") != "1MB"
            assert await conn.fetch("SELECT pg_listening_channels()") == []


async def main():
    await login()
    ok("login")
    conn = await connect()
    await conn.execute("CREATE TYPE pair AS (a int, b text)")
    for item in (types, ten, batch, copy, cancel, errors, retry, listen):
        await item(conn)
        ok(item.__name__)
    await conn.close()
    await pool()
    ok("pool")


asyncio.run(main())

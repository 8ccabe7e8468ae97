"""SQLAlchemy over the driver that is named: psycopg or asyncpg."""

import asyncio
import datetime
import decimal
import os
import ssl
import sys
import uuid

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, INTERVAL, JSONB
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from said import ok, url


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(40), unique=True)
    mood: Mapped[str] = mapped_column(sa.Enum("sad", "ok", "fine", name="mood", create_type=False))
    books: Mapped[list["Book"]] = relationship(back_populates="author", cascade="all, delete-orphan")


class Book(Base):
    __tablename__ = "book"
    __table_args__ = (sa.CheckConstraint("price > 0", name="not_free"), sa.Index("by_price", "price"))
    id: Mapped[int] = mapped_column(sa.BigInteger, sa.Identity(), primary_key=True)
    author_id: Mapped[int] = mapped_column(sa.ForeignKey("author.id", ondelete="CASCADE"))
    title: Mapped[str]
    price: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(12, 2))
    author: Mapped[Author] = relationship(back_populates="books")


EVERY = sa.Table(
    "every",
    Base.metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("flag", sa.Boolean),
    sa.Column("small", sa.SmallInteger),
    sa.Column("big", sa.BigInteger),
    sa.Column("real", sa.REAL),
    sa.Column("double", sa.Double),
    sa.Column("number", sa.Numeric(20, 5)),
    sa.Column("text", sa.Text),
    sa.Column("bytes", BYTEA),
    sa.Column("day", sa.Date),
    sa.Column("time", sa.Time),
    sa.Column("moment", sa.DateTime(timezone=True)),
    sa.Column("long", INTERVAL),
    sa.Column("uuid", sa.Uuid),
    sa.Column("json", JSONB),
    sa.Column("ints", ARRAY(sa.Integer)),
    sa.Column("texts", ARRAY(sa.Text)),
)

VALUES = dict(
    flag=True,
    small=-3,
    big=2**62,
    real=1.5,
    double=-2.25,
    number=decimal.Decimal("12345.67890"),
    text="Ä'\\😀",
    bytes=b"\x00\xff",
    day=datetime.date(2024, 2, 29),
    time=datetime.time(23, 59, 59, 999999),
    moment=datetime.datetime(2026, 11, 29, 7, tzinfo=datetime.timezone.utc),
    long=datetime.timedelta(days=3, seconds=5, microseconds=7),
    uuid=uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    json={"a": [1, None, "x"]},
    ints=[1, None, 3],
    texts=["a", None, '"{,}'],
)


def types(conn):
    conn.execute(EVERY.insert(), [dict(id=1, **VALUES), dict(id=2, **dict.fromkeys(VALUES))])
    row, empty = conn.execute(EVERY.select().order_by(EVERY.c.id)).mappings().all()
    for name, value in VALUES.items():
        assert row[name] == value and empty[name] is None, (name, row[name])
        if name != "json":
            assert conn.execute(sa.select(EVERY.c.id).where(EVERY.c[name] == value)).scalars().all() == [1], name
    conn.commit()


def ten(conn):
    for turn in range(10):
        assert conn.execute(sa.select(sa.literal(turn) + 1)).scalar_one() == turn + 1
    conn.commit()


def batch(conn):
    """The unit of work: many rows by one statement, with their keys."""
    with Session(conn) as session:
        author = Author(id=1, name="Ada", mood="fine")
        author.books = [Book(title=f"book {n}", price=n + 1) for n in range(50)]
        session.add(author)
        session.commit()
        assert len({book.id for book in author.books}) == 50
        found = session.scalars(sa.select(Book).join(Author).where(Author.name == "Ada", Book.price > 48)).all()
        assert sorted(book.title for book in found) == ["book 48", "book 49"]
        session.delete(author)
        session.commit()
        assert session.scalar(sa.select(sa.func.count()).select_from(Book)) == 0


def reflect(conn):
    found = sa.MetaData()
    found.reflect(conn)
    assert set(found.tables) >= {"author", "book", "every"}
    for table in Base.metadata.sorted_tables:
        seen = found.tables[table.name]
        for column in table.columns:
            assert seen.c[column.name].nullable == column.nullable, column
            ours, theirs = (str(of.type.compile(conn.dialect)) for of in (column, seen.c[column.name]))
            assert ours == theirs, (column, ours, theirs)
    asked = sa.inspect(conn)
    assert [of["name"] for of in asked.get_indexes("book")] == ["by_price"]
    assert [of["name"] for of in asked.get_check_constraints("book")] == ["not_free"]
    (key,) = asked.get_foreign_keys("book")
    assert (key["referred_table"], key["options"]) == ("author", {"ondelete": "CASCADE"})
    assert asked.get_unique_constraints("author")[0]["column_names"] == ["name"]
    assert [(of["name"], of["labels"]) for of in asked.get_enums()] == [("mood", ["sad", "ok", "fine"])]
    conn.rollback()


def errors(conn):
    for turn in range(2):
        try:
            conn.execute(sa.insert(Author).values(id=2, name="Bob", mood="ok"))
            conn.commit()
        except IntegrityError as error:
            assert turn == 1 and (getattr(error.orig, "sqlstate", None) or error.orig.pgcode) == "23505"
            conn.rollback()


def retry(conn, other):
    conn.execute(sa.text("CREATE TABLE account (id int PRIMARY KEY, n int)"))
    conn.execute(sa.text("INSERT INTO account VALUES (1, 0)"))
    conn.commit()
    turns = 0
    while True:
        turns += 1
        try:
            n = conn.execute(sa.text("SELECT n FROM account")).scalar_one()
            if turns == 1:
                other()
            conn.execute(sa.text("UPDATE account SET n = :n WHERE id = 1"), dict(n=n + 1))
            conn.commit()
            break
        except DBAPIError as error:
            conn.rollback()
            assert (getattr(error.orig, "sqlstate", None) or error.orig.pgcode) == "40001"
    assert turns == 2 and conn.execute(sa.text("SELECT n FROM account")).scalar_one() == 11
    conn.commit()


def everything(conn, other):
    Base.metadata.create_all(conn)
    conn.commit()
    ok("login")
    # asyncpg takes int2vector in binary only, which is not sent yet.
    reflects = [reflect] if conn.dialect.driver == "psycopg" else []
    for item in (types, ten, batch, *reflects, errors):
        item(conn)
        ok(item.__name__)
    retry(conn, other)
    ok("retry")
    Base.metadata.drop_all(conn)
    conn.commit()


UPDATE = "UPDATE account SET n = n + 10"


def over_psycopg():
    engine = sa.create_engine(url("postgresql+psycopg"), isolation_level="SERIALIZABLE", pool_size=1)

    def other():
        with engine.connect() as conn:
            conn.execute(sa.text(UPDATE))
            conn.commit()

    with engine.connect() as conn:
        everything(conn, other)
    engine.dispose()


async def over_asyncpg():
    tls = ssl.create_default_context(cafile=os.environ["PGSSLROOTCERT"])
    engine = create_async_engine(url("postgresql+asyncpg"), connect_args={"ssl": tls})

    def other():
        import asyncpg

        from sqlalchemy.util import await_only

        async def update():
            conn = await asyncpg.connect(host="localhost", ssl=tls)
            await conn.execute(UPDATE)
            await conn.close()

        await_only(update())

    async with engine.connect() as conn:
        await conn.run_sync(everything, other)
    await engine.dispose()


if sys.argv[1] == "psycopg":
    over_psycopg()
else:
    asyncio.run(over_asyncpg())

"""SQLAlchemy's asynchronous dialect."""

import asyncio
import time

import pytest

sa = pytest.importorskip("sqlalchemy")
pytest.importorskip("greenlet")
from sqlalchemy import orm  # noqa: E402
from sqlalchemy.ext import asyncio as sa_asyncio  # noqa: E402

import pycairndb  # noqa: E402


class Base(sa_asyncio.AsyncAttrs, orm.DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"
    id: orm.Mapped[int] = orm.mapped_column(sa.Identity(), primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(unique=True)
    books: orm.Mapped[list["Book"]] = orm.relationship(back_populates="author")


class Book(Base):
    __tablename__ = "book"
    id: orm.Mapped[int] = orm.mapped_column(sa.Identity(), primary_key=True)
    title: orm.Mapped[str]
    author_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("author.id"))
    author: orm.Mapped[Author] = orm.relationship(back_populates="books")


def run(work, url):
    async def whole():
        engine = sa_asyncio.create_async_engine(url)
        try:
            async with engine.begin() as connection:
                await connection.run_sync(Base.metadata.create_all)
            await work(engine)
        finally:
            await engine.dispose()

    asyncio.run(asyncio.wait_for(whole(), 60))


@pytest.fixture(params=["cairndb:///{}", "cairndb+aio:///{}", "cairndb+aio://"])
def url(request, path):
    return request.param.format(path)


def test_objects_are_awaited(url):
    async def work(engine):
        session = sa_asyncio.async_sessionmaker(engine, expire_on_commit=False)
        async with session.begin() as first:
            first.add(Author(name="Ada", books=[Book(title="One"), Book(title="Two")]))
        async with session() as second:
            author = (await second.scalars(sa.select(Author))).one()
            assert [book.title for book in await author.awaitable_attrs.books] == ["One", "Two"]
            author.name = "Grace"
            await second.commit()
            found = await second.scalars(sa.select(Book).options(orm.selectinload(Book.author)).order_by(Book.id))
            assert [book.author.name for book in found] == ["Grace", "Grace"]
        with pytest.raises(sa.exc.IntegrityError) as raised:
            async with session.begin() as third:
                third.add_all([Author(name="Grace")])
        assert raised.value.orig.sqlstate == "23505"
        async with engine.connect() as connection:
            assert await connection.scalar(sa.select(sa.func.count()).select_from(Author)) == 1
            assert (await connection.run_sync(lambda sync: sa.inspect(sync).get_table_names())) == ["author", "book"]

    run(work, url)


def test_rows_are_streamed(url):
    async def work(engine):
        async with engine.begin() as connection:
            await connection.execute(sa.insert(Author), [{"name": str(n)} for n in range(3000)])
        async with engine.connect() as connection:
            result = await connection.stream(sa.select(Author.id).order_by(Author.id))
            assert [row.id async for row in result] == list(range(1, 3001))
            endless = await connection.stream(sa.text("SELECT n FROM generate_series(1, 100000000000) n"))
            assert (await endless.fetchmany(3)) == [(1,), (2,), (3,)]
            await endless.close()
            assert (await connection.execute(sa.text("SELECT 1"))).scalar() == 1

    run(work, url)


def test_tasks_do_not_wait_for_each_other(url):
    async def work(engine):
        async def one(n):
            async with engine.connect() as connection:
                await connection.execute(sa.text("SELECT pg_sleep(0.2)"))
                return (await connection.execute(sa.text("SELECT :n + 0"), {"n": n})).scalar()

        begun = time.monotonic()
        assert await asyncio.gather(*(one(n) for n in range(12))) == list(range(12))
        assert time.monotonic() - begun < 1.5

    run(work, url)


def test_a_task_that_is_cancelled_stops_its_statement(url):
    async def work(engine):
        async def forever():
            async with engine.connect() as connection:
                await connection.execute(sa.text("SELECT count(*) FROM generate_series(1, 100000000000)"))

        task = asyncio.create_task(forever())
        await asyncio.sleep(0.2)
        begun = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with engine.connect() as connection:
            assert (await connection.execute(sa.text("SELECT 1"))).scalar() == 1
        assert time.monotonic() - begun < 5

    run(work, url)


def test_levels_and_the_drivers_connection(url):
    async def work(engine):
        async with engine.connect() as connection:
            autocommit = await connection.execution_options(isolation_level="AUTOCOMMIT")
            await autocommit.execute(sa.insert(Author).values(name="kept"))
            raw = (await connection.get_raw_connection()).driver_connection
            assert isinstance(raw, pycairndb.Connection) and raw.autocommit
        async with engine.connect() as connection:
            assert await connection.get_isolation_level() == "SERIALIZABLE"
            assert await connection.scalar(sa.select(Author.name)) == "kept"
            with pytest.raises(sa.exc.ProgrammingError):
                await connection.execute(sa.text("SELECT nothing"))

    run(work, url)


def test_the_file_is_free_at_the_end(path):
    async def work(engine):
        async with engine.connect() as connection:
            await connection.execute(sa.select(Author))

    run(work, f"cairndb:///{path}")
    again = pycairndb.connect(path, read_only=True)
    again.close()

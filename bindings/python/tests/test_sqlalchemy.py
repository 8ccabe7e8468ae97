"""SQLAlchemy: what its own suite (tests/sqlalchemy) does not ask; Alembic."""

import datetime
import decimal
import enum
import uuid

import pytest

sa = pytest.importorskip("sqlalchemy")
from sqlalchemy import orm  # noqa: E402
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert  # noqa: E402


class Base(orm.DeclarativeBase):
    pass


class Mood(enum.Enum):
    sad = 1
    happy = 2


class Every(Base):
    __tablename__ = "every"
    id: orm.Mapped[int] = orm.mapped_column(sa.Identity(), primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(20), unique=True)
    price: orm.Mapped[decimal.Decimal | None] = orm.mapped_column(sa.Numeric(10, 2))
    doc: orm.Mapped[dict | None] = orm.mapped_column(JSONB)
    tags: orm.Mapped[list[str] | None] = orm.mapped_column(ARRAY(sa.String))
    at: orm.Mapped[datetime.datetime | None] = orm.mapped_column(sa.DateTime(timezone=True))
    key: orm.Mapped[uuid.UUID | None]
    mood: orm.Mapped[Mood | None]
    long: orm.Mapped[datetime.timedelta | None]
    raw: orm.Mapped[bytes | None]


@pytest.fixture(params=["memory", "file"])
def engine(request, path):
    made = sa.create_engine("cairndb://" if request.param == "memory" else f"cairndb:///{path}")
    Base.metadata.create_all(made)
    yield made
    made.dispose()


def test_objects_come_back_as_they_went(engine):
    moment = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc)
    given = dict(
        name="a", price=decimal.Decimal("1.50"), doc={"a": [1, None]}, tags=["x", "y"], at=moment, key=uuid.uuid4(),
        mood=Mood.happy, long=datetime.timedelta(days=1, seconds=2), raw=b"\0\xff",
    )
    with orm.Session(engine) as session:
        session.add_all([Every(**given), Every(name="b")])
        session.commit()
    with orm.Session(engine) as session:
        found = session.scalars(sa.select(Every).order_by(Every.id)).all()
        assert {name: getattr(found[0], name) for name in given} == given
        assert found[1].doc is None and found[1].id == 2
        assert session.scalar(sa.select(Every.name).where(Every.doc["a"][0].as_integer() == 1)) == "a"
        assert session.scalar(sa.select(Every.name).where(Every.tags.any("y"))) == "a"
        assert session.scalar(sa.select(Every.name).where(Every.mood == Mood.happy)) == "a"


def test_upserts_and_returning(engine):
    with engine.begin() as connection:
        statement = insert(Every).values([{"name": "a"}, {"name": "b"}]).returning(Every.id)
        assert connection.execute(statement).scalars().all() == [1, 2]
        upsert = insert(Every).values(name="a", price=2)
        upsert = upsert.on_conflict_do_update(index_elements=["name"], set_={"price": upsert.excluded.price}).returning(Every.price)
        assert connection.execute(upsert).scalar() == decimal.Decimal("2.00")
        changed = connection.execute(sa.update(Every).where(Every.name == "b").values(price=3))
        assert changed.rowcount == 1


def test_a_transaction_is_taken_back(engine):
    with pytest.raises(sa.exc.IntegrityError) as error, engine.begin() as connection:
        connection.execute(sa.insert(Every), [{"name": "a"}])
        with connection.begin_nested() as point:
            connection.execute(sa.insert(Every), [{"name": "b"}])
            point.rollback()
        connection.execute(sa.insert(Every), [{"name": "a"}])
    assert error.value.orig.sqlstate == "23505"
    with engine.connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(Every)) == 0


def test_a_schema_that_was_changed_by_another_connection(engine):
    with engine.connect() as first, engine.connect() as second:
        first.exec_driver_sql("CREATE TABLE t (n int)")
        first.commit()
        assert second.exec_driver_sql("SELECT * FROM t").all() == []
        second.commit()
        first.exec_driver_sql("ALTER TABLE t ADD COLUMN m text DEFAULT 'x'")
        first.exec_driver_sql("INSERT INTO t VALUES (1)")
        first.commit()
        assert second.exec_driver_sql("SELECT * FROM t").all() == [(1, "x")]


def test_addresses_of_no_file_are_refused():
    with pytest.raises(sa.exc.ArgumentError):
        sa.create_engine("cairndb://host/file").connect()


def test_alembic_migrates_and_finds_what_changed(path, tmp_path):
    alembic = pytest.importorskip("alembic")
    from alembic.autogenerate import compare_metadata, produce_migrations
    from alembic.migration import MigrationContext
    from alembic.operations import Operations

    engine = sa.create_engine(f"cairndb:///{path}")
    with engine.begin() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "target_metadata": Base.metadata})
        made = produce_migrations(context, Base.metadata)
        with Operations.context(context):
            run(made.upgrade_ops, Operations(context))
    with engine.begin() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
        later = sa.MetaData()
        sa.Table("every", later, *(column.copy() if hasattr(column, "copy") else column._copy() for column in Every.__table__.columns), sa.Column("more", sa.Integer))
        kinds = {found[0] if isinstance(found, tuple) else found[0][0] for found in compare_metadata(context, later)}
        assert "add_column" in kinds
    engine.dispose()
    assert alembic is not None


def run(operations, by):
    for operation in operations.ops:
        if hasattr(operation, "ops"):
            run(operation, by)
        else:
            by.invoke(operation)

"""Collections of documents."""

import asyncio
import itertools
import threading
import uuid

import pytest

import pycairndb
from pycairndb import aio


@pytest.fixture
def notes(db):
    return db.create_collection("notes")


def test_a_document_comes_and_goes(db, notes):
    written = notes.insert({"title": "Tides", "tags": ["sea"]})
    assert notes.get(written.id) == (written.id, written.version, {"title": "Tides", "tags": ["sea"]})
    assert notes.get("nothing") is None
    assert db.execute("SELECT doc ->> 'title' FROM notes").fetchone() == ("Tides",)
    second = notes.update(written.id, {"read": True, "tags": None}, version=written.version)
    assert second > written.version and notes.get(written.id).doc == {"title": "Tides", "read": True}
    assert notes.update(written.id, {"read": False}, version=written.version) is None
    third = notes.patch(written.id, [{"op": "add", "path": "/n", "value": 1.5}], version=second)
    assert notes.replace(written.id, [1, "two", None], version=second) is None and notes.get(written.id).doc["n"] == 1.5
    assert notes.replace(written.id, [1, "two", None], version=third) > third
    assert notes.get(written.id).doc == [1, "two", None]
    assert notes.delete(written.id, version=third) is False
    assert (notes.delete(written.id), notes.delete(written.id)) == (True, False)
    assert notes.replace("a", {}) is None and notes.put("a", "text") > 0 and notes.get("a").doc == "text"
    assert notes.insert({}, id="b").id == "b"


def test_ids_are_of_the_collections_type(db):
    numbered = db.create_collection("numbered", ids="bigint")
    assert numbered.id_type == "bigint" and numbered.insert({}).id == 1 and numbered.put(7, {}) and numbered.get(7).id == 7
    named = db.create_collection("named", ids="uuid", change_feed=False)
    written = named.insert({})
    assert isinstance(written.id, uuid.UUID) and named.get(written.id).id == written.id == named.get(str(written.id)).id
    assert named.insert_many([{"a": 1}, {"a": 2}], ids=[uuid.UUID(int=1), uuid.UUID(int=2)]) == 2 and named.get(uuid.UUID(int=2)).doc == {"a": 2}
    assert db.create_collection("numbered", ids="bigint").count() == 2


def test_documents_are_found(notes):
    assert notes.insert_many(({"n": n, "even": n % 2 == 0, "deep": {"a": n, "b": 0}} for n in range(1000)), ids=map(str, range(1000))) == 1000
    assert [found.doc["n"] for found in notes.find({"n": {"$lt": 10}, "even": True}, sort="-n", limit=3)] == [8, 6, 4]
    assert [found.doc for found in notes.find({"n": 5}, fields=["deep.a"])] == [{"deep": {"a": 5}}]
    assert sum(1 for _ in notes.find()) == notes.count() == 1000 and notes.count({"even": False}) == 500
    assert notes.find_one({"n": 17}).id == "17" and notes.find_one({"n": -1}) is None and notes.find_one(sort=["-n"]).id == "999"
    pages, after = [], None
    while True:
        page = notes.page({"even": True}, sort=["n"], limit=200, after=after, fields="n")
        pages.append([found.doc["n"] for found in page.documents])
        if (after := page.next) is None:
            break
    assert list(itertools.chain(*pages)) == list(range(0, 1000, 2)) and [len(page) for page in pages] == [200, 200, 100]
    some = notes.find()
    next(some)
    some.close()
    assert list(some) == []


def test_groups(notes):
    notes.insert_many([{"to": "Oslo", "price": 2.5}, {"to": "Oslo", "price": 4}, {"to": "Bergen", "price": 1}, {"price": 7, "of": "x"}])
    assert notes.aggregate(group={"city": "to"}, count="n", sum={"total": "price"}, having={"total": {"$gt": 1}}, sort="-total") == [
        {"n": 1, "total": 7}, {"city": "Oslo", "n": 2, "total": 6.5}]
    (all_of_them,) = notes.aggregate({"price": {"$gt": 1}}, count_of={"said": "of"}, avg={"mean": "price"}, min={"least": "price"}, max={"most": "price"})
    assert all_of_them == {"said": 1, "mean": 4.5, "least": 2.5, "most": 7}
    assert len(notes.aggregate(group={"city": "to"}, count="n", limit=1)) == 1


def test_documents_are_in_the_transaction(path):
    db = pycairndb.connect(path)
    notes = db.create_collection("notes")
    db.commit()
    other = db.again().collection("notes")
    notes.insert_many([{"n": n} for n in range(3000)])
    assert db.in_transaction and other.count() == 0
    other.connection.rollback()
    db.commit()
    assert other.count() == 3000
    # What was found outlives its transaction.
    found = notes.find(sort="n")
    assert next(found).doc == {"n": 0}
    notes.delete(next(found).id)
    db.rollback()
    assert [document.doc["n"] for document in found] == list(range(2, 3000))
    assert notes.count() == 3000
    left = notes.find()
    db.close()
    with pytest.raises(pycairndb.OperationalError) as raised:
        next(left)
    assert raised.value.sqlstate == "08003"


def test_schemas_and_indexes(notes):
    notes.set_schema({"required": ["title"]})
    assert notes.schema == {"required": ["title"]}
    with pytest.raises(pycairndb.IntegrityError) as raised:
        notes.insert({})
    assert raised.value.sqlstate == "23514"
    notes.set_schema(None)
    assert notes.schema is None
    notes.create_index("title")
    notes.create_index("mail", unique=True)
    notes.create_elements_index("tags")
    notes.insert({"mail": "a", "tags": ["sea"]})
    with pytest.raises(pycairndb.IntegrityError):
        notes.insert({"mail": "a"})
    assert notes.count({"tags": {"$elemMatch": {"$eq": "sea"}}}) == 1


def test_errors_are_by_their_code(db, notes):
    def code(work):
        with pytest.raises(pycairndb.Error) as raised:
            work()
        return type(raised.value), raised.value.sqlstate

    db.execute("CREATE TABLE plain (id int)")
    notes.insert({}, id="a")
    assert code(lambda: db.collection("none")) == (pycairndb.ProgrammingError, "42P01")
    assert code(lambda: db.collection("plain")) == (pycairndb.ProgrammingError, "42809")
    assert code(lambda: db.create_collection("other", ids="date")) == (pycairndb.DataError, "22023")
    assert code(lambda: notes.insert({}, id="a")) == (pycairndb.IntegrityError, "23505")
    assert code(lambda: notes.insert({"a": float("nan")}))[0] is pycairndb.DataError
    assert code(lambda: notes.insert({"a": object()})) == (pycairndb.DataError, "22023")
    assert code(lambda: notes.insert({"a": "\ud800"}))[0] is pycairndb.DataError
    assert code(lambda: notes.find({"$where": 1})) == (pycairndb.DataError, "22023")
    assert code(lambda: notes.find("text")) == (pycairndb.DataError, "22023")
    assert code(lambda: notes.page(after="nonsense")) == (pycairndb.DataError, "22023")
    assert code(lambda: notes.patch("a", [{"op": "remove", "path": "/x"}])) == (pycairndb.DataError, "22023")
    assert code(lambda: notes.insert_many([{}], ids=[])) == (pycairndb.DataError, "22023")
    # All or none.
    assert code(lambda: notes.insert_many([{}, {}], ids=["b", "a"])) == (pycairndb.IntegrityError, "23505")
    assert notes.count() == 1
    with pytest.raises(TypeError):
        notes.find(sort=1)
    with pytest.raises(ZeroDivisionError):
        notes.insert_many({} for _ in [1 / 0])
    db.execute("DROP TABLE notes")
    assert code(lambda: notes.count()) == (pycairndb.ProgrammingError, "42P01")


def test_documents_are_watched(db, notes):
    notes.put("a", {"open": True})
    with notes.watch({"open": True}) as watched, notes.changes() as feed:
        first = next(watched)
        assert first.is_first and [found.id for found in first.added] == ["a"] and first.added[0].doc == {"open": True}
        db.execute("CREATE TABLE t (id int PRIMARY KEY) WITH (change_feed = on)")
        db.execute("INSERT INTO t VALUES (1)")
        notes.update("a", {"open": True, "n": 1})
        ((old, new),) = watched.next(10).updated
        assert new.doc == {"open": True, "n": 1} and old.version < new.version
        notes.update("a", {"open": False})
        assert [found.id for found in watched.next(10).removed] == ["a"]
        change = feed.next(10)
        assert (change.kind, change.old.doc, change.new.doc) == ("update", {"open": True}, {"open": True, "n": 1})
        # A token goes on from where it was taken, and is a text that says nothing.
        token = feed.token
        assert isinstance(token, str)
        notes.delete("a")
        assert [change.kind for change in (feed.next(10), feed.next(10))] == ["update", "delete"]
        with notes.changes(token) as again:
            assert again.next(10).new.doc == {"open": False, "n": 1}
        with pytest.raises(TimeoutError):
            feed.next(0.05)
    silent = db.create_collection("silent", change_feed=False)
    with pytest.raises(pycairndb.OperationalError) as raised:
        silent.changes()
    assert raised.value.sqlstate == "55000"


def test_threads_change_one_document(path):
    db = pycairndb.connect(path, autocommit=True)
    db.create_collection("notes").put("a", {"n": 0})

    def work(number):
        notes = db.again().collection("notes")
        for _ in range(50):
            while True:
                now = notes.get("a")
                if notes.replace("a", {"n": now.doc["n"] + 1}, version=now.version) is not None:
                    break

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert db.collection("notes").get("a").doc == {"n": 150}
    db.close()


def test_tasks_have_documents(path):
    async def work():
        async with await aio.connect(path, connections=2) as db:
            notes = await db.create_collection("notes")
            assert await notes.insert_many([{"n": n} for n in range(2500)], ids=map(str, range(2500))) == 2500
            assert [found.doc["n"] async for found in notes.find({"n": {"$gte": 10}}, sort="n")] == list(range(10, 2500))
            async for _ in notes.find():
                break
            assert await notes.count({"n": {"$lt": 10}}) == 10 and (await notes.get("7")).doc == {"n": 7}
            found = await asyncio.gather(*(notes.get(str(n)) for n in range(64)))
            assert [one.doc["n"] for one in found] == list(range(64))
            assert (await notes.find_one({"n": 3})).id == "3" and len((await notes.page(limit=5)).documents) == 5
            assert (await notes.aggregate(count="all")) == [{"all": 2500}]
            written = await notes.insert({"new": True})
            assert await notes.update(written.id, {"x": 1}, version=written.version) and await notes.patch(written.id, [{"op": "remove", "path": "/x"}])
            assert await notes.replace(written.id, {}) and await notes.put("z", {}) and await notes.delete("z")

            async def move(tx):
                inside = tx.collection("notes")
                await inside.put("moved", {"from": (await inside.get("1")).doc})
                await inside.delete("1")
                return [one.id async for one in inside.find({"from": {"n": 1}})]

            assert await db.transaction(move) == ["moved"] and await notes.get("1") is None
            watched, feed = await notes.watch({"n": 5}), await notes.changes()
            assert [one.id for one in (await anext(watched)).added] == ["5"]
            await notes.delete("5")
            assert [one.id for one in (await asyncio.wait_for(anext(watched), 20)).removed] == ["5"]
            assert (await asyncio.wait_for(anext(feed), 20)).old.id == "5"
            with pytest.raises(pycairndb.ProgrammingError):
                await db.collection("none")
        with pytest.raises(pycairndb.OperationalError):
            await notes.get("2")

    asyncio.run(asyncio.wait_for(work(), 60))


def test_a_page_has_what_its_documents_name(db, notes):
    people = db.create_collection("people")
    people.insert_many([{"name": "Ada"}, {"name": "Bob"}], ids=["ada", "bob"])
    notes.insert_many([{"by": "ada"}, {"by": ["bob", "nobody"]}, {}, {"by": "nobody"}], ids=["a", "b", "c", "d"])
    page = notes.page(sort="id", expand={"by": people})
    of_a, of_b, of_c, of_d = page.expanded["by"]
    assert of_a.id == "ada" and of_a.doc == {"name": "Ada"} and [found.id for found in of_b] == ["bob"]
    assert of_c is None and of_d is None and notes.page().expanded == {}
    with pytest.raises(pycairndb.Error):
        notes.page(expand={"by": db.again().collection("people")})
    with pytest.raises(TypeError):
        notes.page(expand={"by": "people"})


def test_who_comes_with_claims_sees_what_the_rules_say(db, notes):
    assert notes.rules == {}
    with pytest.raises(pycairndb.ProgrammingError) as error:
        db.collection("notes", claims={"sub": "ada"})
    assert error.value.sqlstate == "42501"
    own = "doc -> 'owner' = claims -> 'sub'"
    with pytest.raises(pycairndb.ProgrammingError):
        notes.set_rules(view="nothing = claims")
    notes.set_rules(list=own, view=own, create=own)
    assert notes.rules == {"list": own, "view": own, "create": own}
    notes.put("b", {"owner": "bob"})
    of_ada = db.collection("notes", claims={"sub": "ada"})
    with of_ada.watch() as seen:
        assert next(seen).added == []
        of_ada.insert({"owner": "ada"}, id="a")
        assert [found.id for found in seen.next(10).added] == ["a"]
    assert [found.id for found in of_ada.find()] == ["a"] and of_ada.count() == 1 and of_ada.get("b") is None
    for refused in (lambda: of_ada.insert({"owner": "bob"}), lambda: of_ada.delete("a")):
        with pytest.raises(pycairndb.ProgrammingError) as error:
            refused()
        assert error.value.sqlstate == "42501"
    with pytest.raises(pycairndb.NotSupportedError):
        of_ada.changes()
    # What is expanded is seen by the claims of its own collection.
    notes.put("c", {"owner": "ada", "beside": ["a", "b"]})
    (beside,) = notes.page({"beside": {"$exists": True}}, expand={"beside": of_ada}).expanded["beside"]
    assert [found.id for found in beside] == ["a"]
    notes.set_rules()
    assert notes.rules == {}


def test_tasks_come_with_claims(path):
    async def work():
        async with await aio.connect(path) as db:
            notes = await db.create_collection("notes")
            await notes.set_rules(list="doc -> 'owner' = claims -> 'sub'", view="true")
            assert list(await notes.rules()) == ["list", "view"]
            await notes.insert_many([{"owner": "ada", "by": "1"}, {"owner": "bob"}], ids=["1", "2"])
            of_ada = await db.collection("notes", claims={"sub": "ada"})
            assert [found.id async for found in of_ada.find()] == ["1"] and await of_ada.count() == 1
            page = await of_ada.page(expand={"by": notes})
            assert [found.id for found in page.expanded["by"]] == ["1"]

            async def within(tx):
                return await tx.collection("notes", claims={"sub": "bob"}).count()

            assert await db.transaction(within) == 1

    asyncio.run(work())

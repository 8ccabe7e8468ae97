"""Django: its own applications are migrated and used, and models of every kind."""

import datetime
import decimal
import os
import uuid

import django
from django.conf import settings

from said import ok

settings.configure(
    SECRET_KEY="of the tests",
    USE_TZ=True,
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.messages",
        "django.contrib.postgres",
        "django.contrib.sessions",
    ],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": os.environ["PGDATABASE"],
            "USER": os.environ["PGUSER"],
            "PASSWORD": os.environ["PGPASSWORD"],
            "HOST": "localhost",
            "PORT": os.environ["PGPORT"],
            "OPTIONS": {"pool": {"min_size": 1, "max_size": 2}},
        }
    },
)
django.setup()

from django.contrib.auth.models import Group, Permission, User  # noqa: E402
from django.contrib.postgres.fields import ArrayField  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, OperationalError, connection, migrations, models, transaction  # noqa: E402
from django.db.migrations.state import ProjectState  # noqa: E402


class Every(models.Model):
    flag = models.BooleanField(null=True)
    small = models.SmallIntegerField(null=True)
    big = models.BigIntegerField(null=True)
    double = models.FloatField(null=True)
    number = models.DecimalField(null=True, max_digits=20, decimal_places=5)
    text = models.TextField(null=True)
    bytes = models.BinaryField(null=True)
    day = models.DateField(null=True)
    time = models.TimeField(null=True)
    moment = models.DateTimeField(null=True)
    long = models.DurationField(null=True)
    uuid = models.UUIDField(null=True)
    json = models.JSONField(null=True)
    ints = ArrayField(models.IntegerField(null=True), null=True)

    class Meta:
        app_label = "every"
        indexes = [models.Index(fields=["day", "-big"], name="by_day")]
        constraints = [models.CheckConstraint(condition=models.Q(small__lt=100), name="is_small")]


VALUES = dict(
    flag=True,
    small=-3,
    big=2**62,
    double=-2.25,
    number=decimal.Decimal("12345.67890"),
    text="Ä'\\😀",
    day=datetime.date(2024, 2, 29),
    time=datetime.time(23, 59, 59, 999999),
    moment=datetime.datetime(2026, 11, 29, 7, tzinfo=datetime.timezone.utc),
    long=datetime.timedelta(days=3, seconds=5, microseconds=7),
    uuid=uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    json={"a": [1, None, "x"]},
    ints=[1, None, 3],
)


def login():
    call_command("migrate", verbosity=0)
    assert Permission.objects.count() > 10
    # All is there: no migration is left to do.
    call_command("migrate", check_unapplied=True, verbosity=0)


def types():
    with connection.schema_editor() as editor:
        editor.create_model(Every)
    Every.objects.create(**VALUES, bytes=b"\x00\xff")
    Every.objects.create()
    one, empty = Every.objects.order_by("id")
    for name, value in VALUES.items():
        assert getattr(one, name) == value and getattr(empty, name) is None, name
        assert Every.objects.filter(**{name: value}).get().id == one.id, name
    assert bytes(one.bytes) == b"\x00\xff"
    assert Every.objects.filter(json__a__0=1, ints__contains=[3], moment__year=2026).count() == 1


def migrate():
    """Fields that are added, changed, renamed and dropped, as migrations do it."""
    state = ProjectState()
    for operation in (
        migrations.CreateModel("Book", [("id", models.BigAutoField(primary_key=True)), ("title", models.CharField(max_length=20))]),
        migrations.AddField("Book", "pages", models.IntegerField(default=1)),
        migrations.AddIndex("Book", models.Index(fields=["pages"], name="by_pages")),
        migrations.AlterField("Book", "title", models.CharField(max_length=40, unique=True)),
        migrations.AlterField("Book", "pages", models.BigIntegerField(null=True)),
        migrations.RenameField("Book", "pages", "length"),
        migrations.RunSQL("INSERT INTO shelf_book (title, length) VALUES ('a', 7)"),
        migrations.RemoveIndex("Book", "by_pages"),
        migrations.RenameModel("Book", "Volume"),
        migrations.RemoveField("Volume", "length"),
    ):
        before = state.clone()
        operation.state_forwards("shelf", state)
        with connection.schema_editor() as editor:
            operation.database_forwards("shelf", editor, before, state)
    with connection.cursor() as cursor:
        cursor.execute("SELECT title FROM shelf_volume")
        assert cursor.fetchall() == [("a",)]
        tables = connection.introspection.table_names(cursor)
        constraints = connection.introspection.get_constraints(cursor, "every_every")
    assert {"auth_user", "shelf_volume", "every_every"} <= set(tables)
    assert constraints["by_day"]["orders"] == ["ASC", "DESC"] and constraints["is_small"]["check"]


def batch():
    users = User.objects.bulk_create(User(username=f"user{n}") for n in range(100))
    assert len({user.pk for user in users}) == 100
    group = Group.objects.create(name="all")
    group.user_set.set(users)
    found = User.objects.filter(groups=group).select_related(None).prefetch_related("groups")
    assert found.count() == 100 and found.order_by("-id")[3].username == "user96"
    counted = Group.objects.annotate(users=models.Count("user")).get()
    assert counted.users == 100
    User.objects.bulk_create(users[:1], update_conflicts=True, unique_fields=["username"], update_fields=["email"])
    assert list(User.objects.filter(groups=group).iterator(chunk_size=7))[50].username


def errors():
    try:
        with transaction.atomic():
            User.objects.create(username="user1")
    except IntegrityError as error:
        assert error.__cause__.sqlstate == "23505"
    else:
        raise AssertionError("there are two of one name")
    with transaction.atomic():
        try:
            with transaction.atomic():
                User.objects.create(username="user1")
        except IntegrityError:
            pass
        # The savepoint took the error with it.
        assert User.objects.filter(username="user1").exists()


def retry():
    import psycopg

    for turn in range(3):
        try:
            with transaction.atomic():
                user = User.objects.get(username="user1")
                if turn == 0:
                    with psycopg.connect(autocommit=True) as other:
                        other.execute("UPDATE auth_user SET email = 'b' WHERE username = 'user1'")
                user.email += "a"
                user.save()
            break
        except OperationalError as error:
            assert turn == 0 and error.__cause__.sqlstate == "40001"
    assert User.objects.get(username="user1").email == "ba"


def session():
    """What the admin does for who logs in."""
    from django.contrib.auth import authenticate
    from django.contrib.sessions.backends.db import SessionStore

    User.objects.create_superuser("root", "root@example.org", "pa55")
    assert authenticate(username="root", password="pa55").is_superuser
    store = SessionStore()
    store["seen"] = [1, 2]
    store.save()
    assert SessionStore(store.session_key)["seen"] == [1, 2]
    call_command("clearsessions")


for item in (login, types, migrate, batch, errors, retry, session):
    item()
    ok(item.__name__)
connection.close()
connection.close_pool()

"""Django: its own applications are migrated and used, and models of every kind. (Django's own suite: tests/django/run.)"""

import datetime
import decimal
import json
import signal
import threading
import uuid

import pytest

django = pytest.importorskip("django")
from django.conf import settings  # noqa: E402

settings.configure(
    SECRET_KEY="of the tests",
    USE_TZ=True,
    ALLOWED_HOSTS=["testserver"],
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.messages",
        "django.contrib.sessions",
    ],
    DATABASES={"default": {"ENGINE": "pycairndb.django", "NAME": ":memory:django"}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    ROOT_URLCONF=__name__,
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
)
django.setup()

from django.contrib import admin  # noqa: E402
from django.contrib.auth.models import Group, User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, InternalError, NotSupportedError, OperationalError, connection, models, transaction  # noqa: E402
from django.test import Client, override_settings  # noqa: E402
from django.urls import path as url  # noqa: E402

from pycairndb.django import retry  # noqa: E402

urlpatterns = [url("admin/", admin.site.urls)]


class Every(models.Model):
    flag = models.BooleanField(null=True)
    small = models.PositiveSmallIntegerField(null=True)
    double = models.FloatField(null=True)
    number = models.DecimalField(null=True, max_digits=20, decimal_places=5)
    text = models.CharField(max_length=20, unique=True)
    raw = models.BinaryField(null=True)
    day = models.DateField(null=True)
    time = models.TimeField(null=True)
    moment = models.DateTimeField(null=True)
    long = models.DurationField(null=True)
    key = models.UUIDField(null=True)
    doc = models.JSONField(null=True)
    address = models.GenericIPAddressField(null=True)

    class Meta:
        app_label = "auth"
        constraints = [models.CheckConstraint(condition=models.Q(small__lt=100), name="small_is_small")]


@pytest.fixture(scope="module", autouse=True)
def migrated():
    call_command("migrate", verbosity=0)
    with connection.schema_editor() as editor:
        editor.create_model(Every)
    yield
    connection.close()


@pytest.fixture(autouse=True)
def emptied():
    yield
    Every.objects.all().delete()


def test_values_come_back_as_they_went():
    given = dict(
        flag=True, small=7, double=1.5, number=decimal.Decimal("1.50000"), text="ü", raw=b"\0\xff",
        day=datetime.date(2000, 2, 29), time=datetime.time(12, 34, 56),
        moment=datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc), long=datetime.timedelta(days=1, seconds=2),
        key=uuid.uuid4(), doc={"a": [1, None, "x"]}, address="2001:db8::1",
    )
    made = Every.objects.create(**given)
    found = Every.objects.get(pk=made.pk)
    assert {name: bytes(getattr(found, name)) if name == "raw" else getattr(found, name) for name in given} == given
    assert Every.objects.filter(doc__a__0=1, text__icontains="Ü", day__year=2000).count() == 1
    assert Every.objects.filter(doc__contains={"a": [1]}).values_list("doc__a", flat=True).get() == [1, None, "x"]


def test_constraints_are_told():
    Every.objects.create(text="a")
    with pytest.raises(IntegrityError) as error, transaction.atomic():
        Every.objects.create(text="a")
    assert error.value.__cause__.sqlstate == "23505"
    with pytest.raises(IntegrityError) as error, transaction.atomic():
        Every.objects.create(text="b", small=100)
    assert error.value.__cause__.constraint == "small_is_small"
    assert Every.objects.count() == 1


def test_bulk_upserts_and_aggregates():
    Every.objects.bulk_create([Every(text=str(n), small=n) for n in range(50)])
    rows = [Every(text=str(n), small=1) for n in range(60)]
    Every.objects.bulk_create(rows, update_conflicts=True, unique_fields=["text"], update_fields=["small"])
    assert Every.objects.aggregate(n=models.Count("pk"), s=models.Sum("small")) == {"n": 60, "s": 60}


def test_the_admin_works():
    User.objects.create_superuser("root", "root@example.org", "secret")
    client = Client()
    assert client.login(username="root", password="secret")
    assert client.get("/admin/").status_code == 200
    answer = client.post("/admin/auth/group/add/", {"name": "readers"})
    assert answer.status_code == 302 and Group.objects.get().name == "readers"
    assert b"readers" in client.get("/admin/auth/group/").content


def test_rows_are_not_skipped_for_others_have_them():
    for options in ({"skip_locked": True}, {"nowait": True}):
        with pytest.raises(NotSupportedError), transaction.atomic():
            list(Every.objects.select_for_update(**options))
    with transaction.atomic():
        assert list(Every.objects.select_for_update()) == []


def test_who_comes_second_runs_again():
    counter = Every.objects.create(text="counter", small=0)
    runs = []

    @retry(attempts=50)
    @transaction.atomic
    def count():
        runs.append(1)
        row = Every.objects.get(pk=counter.pk)
        row.small += 1
        row.save()

    def work():
        for _ in range(10):
            count()
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counter.refresh_from_db()
    assert counter.small == 30 and len(runs) >= 30

    @retry
    def fails():
        raise OperationalError("something else")

    with pytest.raises(OperationalError):
        fails()


def test_what_there_is_can_be_inspected(capsys):
    call_command("inspectdb", "auth_every")
    told = capsys.readouterr().out
    assert "models.DecimalField(max_digits=20, decimal_places=5" in told and "models.JSONField" in told
    assert "models.CharField(unique=True, max_length=20)" in told


def test_what_other_backends_take_is_taken(settings_without_zones):
    Every.objects.create(text="50%_of", small=50, double=49.5, doc={"k": 1})
    Every.objects.create(text="of", small=7, moment=datetime.datetime(9999, 12, 31, 23, 59, 59))
    texts = lambda query: sorted(query.values_list("text", flat=True))  # noqa: E731
    # A number with a fraction beside whole ones.
    less = models.lookups.LessThan(models.F("small"), 49.5)
    assert texts(Every.objects.annotate(less=less).filter(less=True)) == ["of"]
    assert texts(Every.objects.filter(small__gte=models.F("double"))) == ["50%_of"]
    # Signs of patterns that come from a column, with and without parameters.
    assert texts(Every.objects.filter(text__contains=models.F("text"))) == ["50%_of", "of"]
    assert texts(Every.objects.filter(text__icontains=models.F("text"), small=50)) == ["50%_of"]
    assert Every.objects.extra(select={"sign": "'%%s'"})[0].sign == "%s"
    assert Every.objects.distinct("text").exists()
    # Moments without a zone, also those that are read without a model.
    assert Every.objects.get(text="of").moment == datetime.datetime(9999, 12, 31, 23, 59, 59)
    with connection.cursor() as cursor:
        cursor.execute("SELECT moment, text FROM auth_every WHERE text = %(text)s", {"text": "of"})
        assert cursor.fetchall() == [(datetime.datetime(9999, 12, 31, 23, 59, 59), "of")]
        assert connection.ops.last_executed_query(cursor, "SELECT %(a)s", {"a": "x"}) == "SELECT 'x'"
    with pytest.raises(InternalError):
        cursor.execute("SELECT 1")


@pytest.fixture
def settings_without_zones():
    with override_settings(USE_TZ=False, TIME_ZONE="America/Chicago"):
        connection.close()
        yield
        Every.objects.all().delete()
    connection.close()


def test_json_is_written_by_the_encoder_of_its_field():
    class Encoder(json.JSONEncoder):
        def default(self, value):
            return str(value)

    key = uuid.uuid4()
    made = connection.ops.adapt_json_value({"key": key}, Encoder)
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::jsonb", (made,))
        assert cursor.fetchone() == ({"key": str(key)},)
    with pytest.raises(TypeError, match="UUID is not JSON serializable"):
        Every.objects.create(text="x", doc=key)


def test_moments_are_shown_in_the_zone_of_the_settings():
    moment = datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.timezone.utc)
    connection.settings_dict["TIME_ZONE"] = "Europe/Paris"
    # (What is known already is forgotten.)
    assert connection.timezone and connection.timezone_name
    del connection.timezone, connection.timezone_name
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s::timestamptz", (moment,))
            (shown,) = cursor.fetchone()
        assert shown == moment and str(shown.tzinfo) == "Europe/Paris"
    finally:
        connection.settings_dict["TIME_ZONE"] = None
        del connection.timezone, connection.timezone_name


def test_ctrl_c_is_the_shells_while_it_runs(monkeypatch):
    seen, before = [], signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("subprocess.run", lambda command, **_: seen.append((command, signal.getsignal(signal.SIGINT))))
    connection.client.runshell(["--read-only"])
    assert seen == [(["cairn", ":memory:django", "--read-only"], signal.SIG_IGN)] and signal.getsignal(signal.SIGINT) is before

"""A plugin of pytest: SQLAlchemy's tests make extensions before they begin, of which there are none here."""

from sqlalchemy.dialects.postgresql import provision

provision._extensions.clear()

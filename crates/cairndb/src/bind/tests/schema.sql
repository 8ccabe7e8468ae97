CREATE TABLE artist (artist_id integer PRIMARY KEY, name varchar(120));
CREATE TABLE album (
    album_id integer PRIMARY KEY,
    title varchar(160) NOT NULL,
    artist_id integer NOT NULL REFERENCES artist (artist_id)
);
CREATE TABLE track (
    track_id integer PRIMARY KEY,
    name varchar(200) NOT NULL,
    album_id integer REFERENCES album (album_id),
    milliseconds integer NOT NULL,
    bytes bigint,
    unit_price numeric(10,2) NOT NULL
);
CREATE TABLE kinds (
    b boolean,
    i2 smallint,
    i4 integer,
    i8 bigint,
    f4 real,
    f8 double precision,
    n numeric(10,2),
    t text,
    v varchar(20),
    c char(3),
    y bytea,
    d date,
    tm time,
    ts timestamp,
    tz timestamptz,
    iv interval,
    u uuid
);
CREATE TABLE person (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email text UNIQUE,
    age smallint DEFAULT 18,
    joined timestamp DEFAULT now(),
    "Mixed Case" text DEFAULT 'x'
);
CREATE TABLE line (order_id integer, line_no integer, qty integer NOT NULL, PRIMARY KEY (order_id, line_no));
CREATE VIEW artist_albums (artist, albums) AS
    SELECT artist.name, count(*) FROM artist JOIN album USING (artist_id) GROUP BY artist.artist_id;
CREATE VIEW long_tracks AS SELECT track_id, name AS title, milliseconds / 1000.0 AS seconds FROM track;

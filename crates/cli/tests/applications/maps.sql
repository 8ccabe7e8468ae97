CREATE TABLE place (id serial PRIMARY KEY, name text, lat double precision CHECK (lat BETWEEN -90 AND 90), lon double precision CHECK (lon BETWEEN -180 AND 180), kind text, opened daterange);
CREATE TABLE route (id serial PRIMARY KEY, name text, stops int[] NOT NULL);
CREATE FUNCTION distance_km(a place, b place) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$ SELECT 6371 * 2 * asin(sqrt(power(sin(radians(b.lat - a.lat) / 2), 2) + cos(radians(a.lat)) * cos(radians(b.lat)) * power(sin(radians(b.lon - a.lon) / 2), 2))) $$;
INSERT INTO place (name, lat, lon) VALUES ('Rome', 41.9, 12.5), ('Oslo', 59.9, 10.7);
INSERT INTO route (name, stops) VALUES ('South', '{2,1}');

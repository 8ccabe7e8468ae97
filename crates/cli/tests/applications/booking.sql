CREATE EXTENSION btree_gist;
CREATE TABLE room (id serial PRIMARY KEY, name text UNIQUE);
CREATE TABLE booking (id serial PRIMARY KEY, room_id int REFERENCES room, during tstzrange NOT NULL, EXCLUDE USING gist (room_id WITH =, during WITH &&));
INSERT INTO room (name) VALUES ('Blue');

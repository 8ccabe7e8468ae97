CREATE EXTENSION intarray;
CREATE TABLE device (id serial PRIMARY KEY, mac macaddr, address inet, net cidr, tags int[]);
CREATE INDEX device_tags ON device USING gin (tags gin__int_ops);
CREATE TABLE site (id serial PRIMARY KEY, name text);
INSERT INTO device (mac, address, net, tags) VALUES ('08:00:2b:01:02:03', '10.0.0.1', '10.0.0.0/8', '{1,2}');
INSERT INTO site (name) VALUES ('Here');

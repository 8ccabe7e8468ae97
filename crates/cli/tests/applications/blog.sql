CREATE TABLE author (id serial PRIMARY KEY, name text NOT NULL);
CREATE TABLE article (id serial PRIMARY KEY, author_id int REFERENCES author, title text NOT NULL, body text NOT NULL, tsv tsvector, published timestamptz);
CREATE INDEX article_tsv ON article USING gin (tsv);
CREATE TRIGGER article_search BEFORE INSERT OR UPDATE ON article FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger('tsv', 'pg_catalog.english', 'title', 'body');
INSERT INTO author (name) VALUES ('Ada');
INSERT INTO article (author_id, title, body) VALUES (1, 'On cats', 'Cats sat on mats');

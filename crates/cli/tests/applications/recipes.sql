CREATE TABLE ingredient (id serial PRIMARY KEY, name text UNIQUE NOT NULL, kcal numeric);
CREATE TABLE recipe (id serial PRIMARY KEY, title text NOT NULL, steps text[] NOT NULL, takes interval DEFAULT '30 minutes', serves int DEFAULT 2, added time DEFAULT '12:00', rating real);
CREATE TABLE part (recipe_id int REFERENCES recipe ON DELETE CASCADE, ingredient_id int REFERENCES ingredient, amount numeric, unit text, PRIMARY KEY (recipe_id, ingredient_id));
CREATE VIEW shopping AS SELECT i.name, string_agg(DISTINCT r.title, ', ' ORDER BY r.title) AS recipes, sum(p.amount) AS amount, p.unit FROM part p JOIN ingredient i ON i.id = p.ingredient_id JOIN recipe r ON r.id = p.recipe_id GROUP BY i.name, p.unit;
CREATE VIEW quick AS SELECT title, array_length(steps, 1) AS steps, extract(epoch FROM takes) / 60 AS minutes FROM recipe WHERE takes < interval '1 hour' AND rating IS DISTINCT FROM 0;
CREATE VIEW as_json AS SELECT json_build_object('title', r.title, 'parts', (SELECT json_agg(row_to_json(x)) FROM (SELECT i.name, p.amount FROM part p JOIN ingredient i ON i.id = p.ingredient_id WHERE p.recipe_id = r.id) x)) AS document FROM recipe r;
INSERT INTO ingredient (name) VALUES ('Flour'); INSERT INTO recipe (title, steps) VALUES ('Bread', ARRAY['Mix', 'Bake, "hot"']); INSERT INTO part VALUES (1, 1, 500, 'g');

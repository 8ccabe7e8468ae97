-- Questions a person would ask of the Apollo database. Each answers itself from the tables in schema.sql.

-- Who walked on the Moon, for how long, and what did each of those missions bring home?
SELECT w.name AS moonwalker,
       m.name AS mission,
       w.walks,
       w.time_outside,
       l.returned_kg AS "returned (kg)",
       s.sample_no AS "heaviest sample",
       round(s.mass_g / 1000, 2) AS "its mass (kg)"
FROM moonwalkers w
JOIN missions m ON m.mission_id = w.mission_id
JOIN landings l ON l.mission_id = w.mission_id
JOIN samples s ON s.mission_id = w.mission_id
WHERE s.mass_g = (SELECT max(mass_g) FROM samples WHERE mission_id = w.mission_id)
ORDER BY w.time_outside DESC, moonwalker;

-- Who flew to the Moon more than once?
SELECT a.given_name || ' ' || a.family_name AS name,
       count(*) AS flights,
       string_agg(m.name, ', ' ORDER BY m.launched_at) AS missions
FROM astronauts a
JOIN crew c USING (astronaut_id)
JOIN missions m USING (mission_id)
GROUP BY a.astronaut_id, a.given_name, a.family_name
HAVING count(*) > 1
ORDER BY flights DESC, name;

-- How old were they when they left, and who was the oldest of each crew?
WITH ages AS (
    SELECT m.name AS mission,
           a.family_name,
           c.seat,
           m.launched_at::date - a.born AS days,
           m.launched_at
    FROM crew c
    JOIN astronauts a ON a.astronaut_id = c.astronaut_id
    JOIN missions m ON m.mission_id = c.mission_id
), oldest AS (
    SELECT mission, max(days) AS days FROM ages GROUP BY mission
)
SELECT a.mission, a.family_name, a.seat, round(a.days / 365.2425, 1) AS age
FROM ages a
JOIN oldest o ON o.mission = a.mission AND o.days = a.days
ORDER BY a.launched_at;

-- How much of each stay on the Moon was spent outside?
SELECT m.name AS mission,
       l.site,
       l.surface_stay,
       l.moonwalk_total,
       round(100 * extract(epoch FROM l.moonwalk_total) / extract(epoch FROM l.surface_stay), 1) AS "outside (%)"
FROM landings l
JOIN missions m USING (mission_id)
ORDER BY m.launched_at;

-- What kinds of rock are the well-known samples, and how heavy is each kind?
SELECT kind,
       count(*) AS samples,
       round(sum(mass_g) / 1000, 2) AS kg,
       max(mass_g) AS "heaviest (g)"
FROM samples
GROUP BY kind
ORDER BY kg DESC;

-- Which flight beyond low Earth orbit never reached lunar orbit, and what happened to it?
SELECT m.name, e.happened_at, e.happened_at - m.launched_at AS elapsed, e.what
FROM missions m
JOIN events e USING (mission_id)
WHERE m.lunar_orbits IS NULL
ORDER BY e.happened_at;

CREATE ROLE school_teacher; CREATE TABLE student (id serial PRIMARY KEY, first text NOT NULL, last text NOT NULL, born date, full_name text GENERATED ALWAYS AS (first || ' ' || last) STORED);
CREATE TABLE course (code char(6) PRIMARY KEY, title text, credits smallint DEFAULT 5);
CREATE TABLE grade (student_id int REFERENCES student, course char(6) REFERENCES course, mark numeric(2,1) CHECK (mark >= 1 AND mark <= 6), given date DEFAULT CURRENT_DATE, PRIMARY KEY (student_id, course));
GRANT SELECT, INSERT ON grade TO school_teacher; REVOKE ALL ON student FROM PUBLIC; ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO school_teacher;
CREATE VIEW transcript AS SELECT s.full_name, c.title, g.mark, CASE WHEN g.mark < 1.5 THEN 'excellent' WHEN g.mark <= 4 THEN 'passed' ELSE 'failed' END AS verdict FROM grade g JOIN student s ON s.id = g.student_id JOIN course c ON c.code = g.course;
CREATE VIEW averages AS SELECT course, round(avg(mark), 2) AS average, count(*) AS n FROM grade GROUP BY ROLLUP (course);
CREATE FUNCTION age_of(s student) RETURNS int LANGUAGE sql STABLE AS $$ SELECT extract(year FROM age(s.born))::int $$;
INSERT INTO student (first, last, born) VALUES ('Ada', 'L', '1815-12-10'); INSERT INTO course VALUES ('MATH01', 'Mathematics'); INSERT INTO grade VALUES (1, 'MATH01', 1.0, '1830-01-01');

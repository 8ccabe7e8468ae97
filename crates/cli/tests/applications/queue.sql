CREATE TYPE job_state AS ENUM ('ready', 'running', 'done', 'failed');
CREATE TABLE job (id bigserial PRIMARY KEY, queue text NOT NULL DEFAULT 'default', payload jsonb NOT NULL, state job_state NOT NULL DEFAULT 'ready', attempts smallint NOT NULL DEFAULT 0, run_at timestamptz NOT NULL DEFAULT now(), locked_by text, error text);
CREATE INDEX job_ready ON job (queue, run_at) WHERE state = 'ready';
CREATE FUNCTION notify_job() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('jobs', NEW.queue); RETURN NEW; END $$;
CREATE TRIGGER job_added AFTER INSERT ON job FOR EACH ROW WHEN (NEW.state = 'ready'::job_state) EXECUTE FUNCTION notify_job();
CREATE FUNCTION take_job(q text, worker text) RETURNS SETOF job LANGUAGE sql AS $$ UPDATE job SET state = 'running', locked_by = worker, attempts = attempts + 1 WHERE id = (SELECT id FROM job WHERE queue = q AND state = 'ready' AND run_at <= now() ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING * $$;
CREATE UNLOGGED TABLE heartbeat (worker text PRIMARY KEY, at timestamptz);
CREATE PUBLICATION jobs FOR TABLE job;
INSERT INTO job (payload, run_at) VALUES ('{"mail": 1}', '2024-01-01'), ('[]', '2024-01-02');

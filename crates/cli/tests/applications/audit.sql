CREATE SCHEMA audit;
CREATE TABLE audit.log (id bigserial PRIMARY KEY, relation regclass NOT NULL, op char(1) NOT NULL CHECK (op IN ('I', 'U', 'D')), before jsonb, after jsonb, who text DEFAULT SESSION_USER, at timestamptz DEFAULT statement_timestamp());
CREATE FUNCTION audit.changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'audit' AS $$ BEGIN IF TG_OP = 'DELETE' THEN INSERT INTO log (relation, op, before) VALUES (TG_RELID::regclass, 'D', to_jsonb(OLD)); RETURN OLD; END IF; INSERT INTO log (relation, op, before, after) VALUES (TG_RELID::regclass, left(TG_OP, 1), CASE WHEN TG_OP = 'UPDATE' THEN to_jsonb(OLD) END, to_jsonb(NEW)); RETURN NEW; END $$;
CREATE TABLE contract (id serial PRIMARY KEY, party text NOT NULL, worth numeric);
CREATE TRIGGER contract_audit AFTER INSERT OR DELETE OR UPDATE ON contract FOR EACH ROW EXECUTE FUNCTION audit.changed();
CREATE FUNCTION audit.no_drops() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'dropped %', tg_tag; END $$;
CREATE EVENT TRIGGER no_drops ON sql_drop EXECUTE FUNCTION audit.no_drops();
INSERT INTO contract (party, worth) VALUES ('Ada Ltd', 10);

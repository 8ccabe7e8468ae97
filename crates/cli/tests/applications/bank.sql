CREATE TABLE account (iban varchar(34) PRIMARY KEY, holder text NOT NULL, balance numeric(16,2) NOT NULL DEFAULT 0, CONSTRAINT covered CHECK (balance >= -1000));
CREATE TABLE transfer (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, from_iban varchar(34) REFERENCES account, to_iban varchar(34) REFERENCES account, amount numeric(16,2) CHECK (amount > 0), at timestamptz(3) DEFAULT now(), reference text COLLATE "C");
CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE account SET balance = balance - NEW.amount WHERE iban = NEW.from_iban; UPDATE account SET balance = balance + NEW.amount WHERE iban = NEW.to_iban; RETURN NEW; END $$;
CREATE CONSTRAINT TRIGGER moved AFTER INSERT ON transfer DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move();
CREATE FUNCTION statement(i varchar, since date DEFAULT '-infinity') RETURNS TABLE (at timestamptz, amount numeric, running numeric) LANGUAGE sql STABLE SET work_mem = '64MB' AS $$ SELECT t.at, CASE WHEN t.to_iban = i THEN t.amount ELSE -t.amount END, sum(CASE WHEN t.to_iban = i THEN t.amount ELSE -t.amount END) OVER (ORDER BY t.at, t.id) FROM transfer t WHERE i IN (t.from_iban, t.to_iban) AND t.at >= since $$;
CREATE STATISTICS both_sides ON from_iban, to_iban FROM transfer;
INSERT INTO account VALUES ('A', 'Ada', 100), ('B', 'Bob', 0);
INSERT INTO transfer (from_iban, to_iban, amount, at) VALUES ('A', 'B', 25, '2024-01-01');

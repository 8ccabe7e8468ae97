--
-- PostgreSQL database dump
--

\restrict wUmQc1GA5zhkVGSQikkcPwEyqItbycOcYSTgLTJ9mZ04U8nyXiyCG16c6J9Mmqw

-- Dumped from database version 15.20 (Debian 15.20-0+deb12u1)
-- Dumped by pg_dump version 15.20 (Debian 15.20-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: support; Type: SCHEMA; Schema: -; Owner: postgres
--

CREATE SCHEMA support;


ALTER SCHEMA support OWNER TO postgres;

--
-- Name: pgcrypto; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS pgcrypto WITH SCHEMA public;


--
-- Name: EXTENSION pgcrypto; Type: COMMENT; Schema: -; Owner: 
--

COMMENT ON EXTENSION pgcrypto IS 'cryptographic functions';


--
-- Name: uuid-ossp; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS "uuid-ossp" WITH SCHEMA public;


--
-- Name: EXTENSION "uuid-ossp"; Type: COMMENT; Schema: -; Owner: 
--

COMMENT ON EXTENSION "uuid-ossp" IS 'generate universally unique identifiers (UUIDs)';


--
-- Name: email; Type: DOMAIN; Schema: support; Owner: postgres
--

CREATE DOMAIN support.email AS text
	CONSTRAINT email_check CHECK ((VALUE ~ '^[^@]+@[^@]+$'::text));


ALTER DOMAIN support.email OWNER TO postgres;

--
-- Name: close(bigint); Type: PROCEDURE; Schema: support; Owner: postgres
--

CREATE PROCEDURE support.close(IN n bigint)
    LANGUAGE plpgsql
    AS $$ BEGIN DELETE FROM support.ticket WHERE id = n; END $$;


ALTER PROCEDURE support.close(IN n bigint) OWNER TO postgres;

--
-- Name: now_ms(); Type: FUNCTION; Schema: support; Owner: postgres
--

CREATE FUNCTION support.now_ms() RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO '$user', 'public'
    AS $$ SELECT (extract(epoch FROM now()) * 1000)::bigint $$;


ALTER FUNCTION support.now_ms() OWNER TO postgres;

--
-- Name: open_tickets(uuid); Type: FUNCTION; Schema: support; Owner: postgres
--

CREATE FUNCTION support.open_tickets(c uuid) RETURNS TABLE(id bigint, title text)
    LANGUAGE sql STABLE
    AS $$ SELECT t.id, t.title FROM support.ticket t WHERE t.customer = c ORDER BY t.id $$;


ALTER FUNCTION support.open_tickets(c uuid) OWNER TO postgres;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: customer; Type: TABLE; Schema: support; Owner: postgres
--

CREATE TABLE support.customer (
    id uuid DEFAULT public.uuid_generate_v4() NOT NULL,
    mail support.email NOT NULL,
    secret text DEFAULT encode(public.digest('x'::text, 'sha256'::text), 'hex'::text),
    token bytea DEFAULT public.gen_random_bytes(8)
);


ALTER TABLE support.customer OWNER TO postgres;

--
-- Name: session; Type: TABLE; Schema: support; Owner: postgres
--

CREATE UNLOGGED TABLE support.session (
    id uuid DEFAULT public.uuid_generate_v1() NOT NULL,
    customer uuid,
    seen timestamp with time zone
);


ALTER TABLE support.session OWNER TO postgres;

--
-- Name: ticket; Type: TABLE; Schema: support; Owner: postgres
--

CREATE TABLE support.ticket (
    id bigint NOT NULL,
    customer uuid NOT NULL,
    title text,
    words integer GENERATED ALWAYS AS (length(title)) STORED,
    rank real,
    price numeric(12,2),
    due date,
    span interval,
    at time without time zone
);
ALTER TABLE ONLY support.ticket ALTER COLUMN customer SET (n_distinct=-0.5);
ALTER TABLE ONLY support.ticket ALTER COLUMN title SET STATISTICS 500;
ALTER TABLE ONLY support.ticket ALTER COLUMN title SET COMPRESSION pglz;


ALTER TABLE support.ticket OWNER TO postgres;

--
-- Name: ticket_id_seq; Type: SEQUENCE; Schema: support; Owner: postgres
--

ALTER TABLE support.ticket ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME support.ticket_id_seq
    START WITH 100
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Data for Name: customer; Type: TABLE DATA; Schema: support; Owner: postgres
--

COPY support.customer (id, mail, secret, token) FROM stdin;
6ba7b810-9dad-11d1-80b4-00c04fd430c8	a@b.c	2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881	\\x035b1478770dfa19
\.


--
-- Data for Name: session; Type: TABLE DATA; Schema: support; Owner: postgres
--

COPY support.session (id, customer, seen) FROM stdin;
\.


--
-- Data for Name: ticket; Type: TABLE DATA; Schema: support; Owner: postgres
--

COPY support.ticket (id, customer, title, rank, price, due, span, at) FROM stdin;
100	6ba7b810-9dad-11d1-80b4-00c04fd430c8	It's broken	1.5	9.99	2024-02-29	1 day 02:03:04	12:00:00
\.


--
-- Name: ticket_id_seq; Type: SEQUENCE SET; Schema: support; Owner: postgres
--

SELECT pg_catalog.setval('support.ticket_id_seq', 100, true);


--
-- Name: customer customer_pkey; Type: CONSTRAINT; Schema: support; Owner: postgres
--

ALTER TABLE ONLY support.customer
    ADD CONSTRAINT customer_pkey PRIMARY KEY (id);


--
-- Name: session session_pkey; Type: CONSTRAINT; Schema: support; Owner: postgres
--

ALTER TABLE ONLY support.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (id);


--
-- Name: ticket ticket_pkey; Type: CONSTRAINT; Schema: support; Owner: postgres
--

ALTER TABLE ONLY support.ticket
    ADD CONSTRAINT ticket_pkey PRIMARY KEY (id);


--
-- Name: session session_customer_fkey; Type: FK CONSTRAINT; Schema: support; Owner: postgres
--

ALTER TABLE ONLY support.session
    ADD CONSTRAINT session_customer_fkey FOREIGN KEY (customer) REFERENCES support.customer(id);


--
-- Name: ticket ticket_customer_fkey; Type: FK CONSTRAINT; Schema: support; Owner: postgres
--

ALTER TABLE ONLY support.ticket
    ADD CONSTRAINT ticket_customer_fkey FOREIGN KEY (customer) REFERENCES support.customer(id) DEFERRABLE INITIALLY DEFERRED;


--
-- PostgreSQL database dump complete
--

\unrestrict wUmQc1GA5zhkVGSQikkcPwEyqItbycOcYSTgLTJ9mZ04U8nyXiyCG16c6J9Mmqw


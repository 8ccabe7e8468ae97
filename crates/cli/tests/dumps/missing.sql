--
-- PostgreSQL database dump
--

\restrict FwN9cF3b4EIMPIU8QXplpK4js8kfiS8cLXAaIFwoGGZfhl3xfX86bQjOVkCQ7Uq

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
-- Name: cube; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS cube WITH SCHEMA public;


--
-- Name: EXTENSION cube; Type: COMMENT; Schema: -; Owner: 
--

COMMENT ON EXTENSION cube IS 'data type for multidimensional cubes';


--
-- Name: earthdistance; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS earthdistance WITH SCHEMA public;


--
-- Name: EXTENSION earthdistance; Type: COMMENT; Schema: -; Owner: 
--

COMMENT ON EXTENSION earthdistance IS 'calculate great-circle distances on the surface of the Earth';


--
-- Name: ltree; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS ltree WITH SCHEMA public;


--
-- Name: EXTENSION ltree; Type: COMMENT; Schema: -; Owner: 
--

COMMENT ON EXTENSION ltree IS 'data type for hierarchical tree-like structures';


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: article; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.article (
    id integer NOT NULL,
    attributes public.ltree,
    plain_id integer
);


ALTER TABLE public.article OWNER TO postgres;

--
-- Name: plain; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.plain (
    id integer NOT NULL,
    name text
);


ALTER TABLE public.plain OWNER TO postgres;

--
-- Name: article_names; Type: VIEW; Schema: public; Owner: postgres
--

CREATE VIEW public.article_names AS
 SELECT a.id,
    p.name
   FROM (public.article a
     JOIN public.plain p ON ((p.id = a.plain_id)));


ALTER TABLE public.article_names OWNER TO postgres;

--
-- Name: measure; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.measure (
    at date NOT NULL,
    v integer
)
PARTITION BY RANGE (at);


ALTER TABLE public.measure OWNER TO postgres;

--
-- Name: measure_2024; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.measure_2024 (
    at date NOT NULL,
    v integer
);


ALTER TABLE public.measure_2024 OWNER TO postgres;

--
-- Name: names; Type: VIEW; Schema: public; Owner: postgres
--

CREATE VIEW public.names AS
 SELECT plain.name
   FROM public.plain;


ALTER TABLE public.names OWNER TO postgres;

--
-- Name: place; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.place (
    id integer NOT NULL,
    search tsvector
);


ALTER TABLE public.place OWNER TO postgres;

--
-- Name: secret; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.secret (
    id integer NOT NULL,
    owner text
);


ALTER TABLE public.secret OWNER TO postgres;

--
-- Name: measure_2024; Type: TABLE ATTACH; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.measure ATTACH PARTITION public.measure_2024 FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');


--
-- Data for Name: article; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.article (id, attributes, plain_id) FROM stdin;
1	"a"=>"1"	1
\.


--
-- Data for Name: measure_2024; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.measure_2024 (at, v) FROM stdin;
2024-05-05	5
\.


--
-- Data for Name: place; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.place (id, search) FROM stdin;
\.


--
-- Data for Name: plain; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.plain (id, name) FROM stdin;
1	kept
2	too
\.


--
-- Data for Name: secret; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.secret (id, owner) FROM stdin;
1	ada
\.


--
-- Name: article article_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.article
    ADD CONSTRAINT article_pkey PRIMARY KEY (id);


--
-- Name: place place_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.place
    ADD CONSTRAINT place_pkey PRIMARY KEY (id);


--
-- Name: plain plain_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.plain
    ADD CONSTRAINT plain_pkey PRIMARY KEY (id);


--
-- Name: secret secret_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.secret
    ADD CONSTRAINT secret_pkey PRIMARY KEY (id);


--
-- Name: article_plain; Type: INDEX; Schema: public; Owner: postgres
--

CREATE INDEX article_plain ON public.article USING btree (plain_id);


--
-- Name: article article_plain_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.article
    ADD CONSTRAINT article_plain_id_fkey FOREIGN KEY (plain_id) REFERENCES public.plain(id);


--
-- Name: secret own; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY own ON public.secret USING ((owner = CURRENT_USER));


--
-- Name: secret; Type: ROW SECURITY; Schema: public; Owner: postgres
--

ALTER TABLE public.secret ENABLE ROW LEVEL SECURITY;

--
-- PostgreSQL database dump complete
--

\unrestrict FwN9cF3b4EIMPIU8QXplpK4js8kfiS8cLXAaIFwoGGZfhl3xfX86bQjOVkCQ7Uq


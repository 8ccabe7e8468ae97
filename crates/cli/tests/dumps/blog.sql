--
-- PostgreSQL database dump
--

\restrict enpjNVEsRPhPO9BtW2X9IUytApxAeQZb1YWg25sWFXcrtTSbaneMmjSqVgzHw2X

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
-- Name: post_state; Type: TYPE; Schema: public; Owner: postgres
--

CREATE TYPE public.post_state AS ENUM (
    'draft',
    'published',
    'gone'
);


ALTER TYPE public.post_state OWNER TO postgres;

--
-- Name: touch(); Type: FUNCTION; Schema: public; Owner: postgres
--

CREATE FUNCTION public.touch() RETURNS trigger
    LANGUAGE plpgsql
    SET work_mem TO '8MB'
    AS $$ BEGIN NEW.published_at := COALESCE(NEW.published_at, '2024-01-01 00:00:00+00'); RETURN NEW; END $$;


ALTER FUNCTION public.touch() OWNER TO postgres;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: author; Type: TABLE; Schema: public; Owner: blog_reader
--

CREATE TABLE public.author (
    id integer NOT NULL,
    email character varying(255) NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    created_at timestamp without time zone DEFAULT now() NOT NULL
);


ALTER TABLE public.author OWNER TO blog_reader;

--
-- Name: author_id_seq; Type: SEQUENCE; Schema: public; Owner: blog_reader
--

CREATE SEQUENCE public.author_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE public.author_id_seq OWNER TO blog_reader;

--
-- Name: author_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: blog_reader
--

ALTER SEQUENCE public.author_id_seq OWNED BY public.author.id;


--
-- Name: post; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.post (
    id integer NOT NULL,
    author_id integer NOT NULL,
    slug text NOT NULL,
    state public.post_state DEFAULT 'draft'::public.post_state NOT NULL,
    body text,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    meta jsonb DEFAULT '{}'::jsonb NOT NULL,
    published_at timestamp with time zone,
    CONSTRAINT slug_is_short CHECK ((length(slug) < 80))
);


ALTER TABLE public.post OWNER TO postgres;

--
-- Name: TABLE post; Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON TABLE public.post IS 'What is read';


--
-- Name: COLUMN post.slug; Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON COLUMN public.post.slug IS 'Its address';


--
-- Name: post_id_seq; Type: SEQUENCE; Schema: public; Owner: postgres
--

CREATE SEQUENCE public.post_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE public.post_id_seq OWNER TO postgres;

--
-- Name: post_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: postgres
--

ALTER SEQUENCE public.post_id_seq OWNED BY public.post.id;


--
-- Name: posts_by_author; Type: MATERIALIZED VIEW; Schema: public; Owner: postgres
--

CREATE MATERIALIZED VIEW public.posts_by_author AS
 SELECT post.author_id,
    count(*) AS posts
   FROM public.post
  GROUP BY post.author_id
  WITH NO DATA;


ALTER TABLE public.posts_by_author OWNER TO postgres;

--
-- Name: published; Type: VIEW; Schema: public; Owner: postgres
--

CREATE VIEW public.published AS
 SELECT p.id,
    p.slug,
    a.name
   FROM (public.post p
     JOIN public.author a ON ((a.id = p.author_id)))
  WHERE (p.state = 'published'::public.post_state);


ALTER TABLE public.published OWNER TO postgres;

--
-- Name: schema_migrations; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.schema_migrations (
    version character varying NOT NULL
);


ALTER TABLE public.schema_migrations OWNER TO postgres;

--
-- Name: author id; Type: DEFAULT; Schema: public; Owner: blog_reader
--

ALTER TABLE ONLY public.author ALTER COLUMN id SET DEFAULT nextval('public.author_id_seq'::regclass);


--
-- Name: post id; Type: DEFAULT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.post ALTER COLUMN id SET DEFAULT nextval('public.post_id_seq'::regclass);


--
-- Data for Name: author; Type: TABLE DATA; Schema: public; Owner: blog_reader
--

COPY public.author (id, email, name, created_at) FROM stdin;
1	ada@example.org	Ada	2026-11-30 11:58:48.122913
2	bob@example.org	Bob\tB\\	2026-11-30 11:58:48.122913
\.


--
-- Data for Name: post; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.post (id, author_id, slug, state, body, tags, meta, published_at) FROM stdin;
1	1	first	published	Lines\nof text	{a,"b c"}	{"k": [1, 2]}	2024-01-01 00:00:00+00
2	2	second	draft	\N	{}	{}	\N
\.


--
-- Data for Name: schema_migrations; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.schema_migrations (version) FROM stdin;
20240101
20240102
\.


--
-- Name: author_id_seq; Type: SEQUENCE SET; Schema: public; Owner: blog_reader
--

SELECT pg_catalog.setval('public.author_id_seq', 2, true);


--
-- Name: post_id_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.post_id_seq', 2, true);


--
-- Name: author author_email_key; Type: CONSTRAINT; Schema: public; Owner: blog_reader
--

ALTER TABLE ONLY public.author
    ADD CONSTRAINT author_email_key UNIQUE (email);


--
-- Name: author author_pkey; Type: CONSTRAINT; Schema: public; Owner: blog_reader
--

ALTER TABLE ONLY public.author
    ADD CONSTRAINT author_pkey PRIMARY KEY (id);


--
-- Name: post post_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.post
    ADD CONSTRAINT post_pkey PRIMARY KEY (id);


--
-- Name: schema_migrations schema_migrations_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);


--
-- Name: index_post_on_slug; Type: INDEX; Schema: public; Owner: postgres
--

CREATE UNIQUE INDEX index_post_on_slug ON public.post USING btree (lower(slug));


--
-- Name: index_post_on_tags; Type: INDEX; Schema: public; Owner: postgres
--

CREATE INDEX index_post_on_tags ON public.post USING gin (tags);


--
-- Name: index_published; Type: INDEX; Schema: public; Owner: postgres
--

CREATE INDEX index_published ON public.post USING btree (published_at DESC) WHERE (state = 'published'::public.post_state);


--
-- Name: post_stat; Type: STATISTICS; Schema: public; Owner: postgres
--

CREATE STATISTICS public.post_stat (dependencies) ON author_id, state FROM public.post;


ALTER STATISTICS public.post_stat OWNER TO postgres;

--
-- Name: STATISTICS post_stat; Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON STATISTICS public.post_stat IS 'planner';


--
-- Name: post touch; Type: TRIGGER; Schema: public; Owner: postgres
--

CREATE TRIGGER touch BEFORE INSERT OR UPDATE ON public.post FOR EACH ROW WHEN ((new.state = 'published'::public.post_state)) EXECUTE FUNCTION public.touch();


--
-- Name: post post_author_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.post
    ADD CONSTRAINT post_author_id_fkey FOREIGN KEY (author_id) REFERENCES public.author(id) ON DELETE CASCADE;


--
-- Name: everything; Type: PUBLICATION; Schema: -; Owner: postgres
--

CREATE PUBLICATION everything FOR ALL TABLES WITH (publish = 'insert, update, delete, truncate');


ALTER PUBLICATION everything OWNER TO postgres;

--
-- Name: TABLE post; Type: ACL; Schema: public; Owner: postgres
--

GRANT SELECT ON TABLE public.post TO PUBLIC;


--
-- Name: TABLE published; Type: ACL; Schema: public; Owner: postgres
--

GRANT SELECT ON TABLE public.published TO blog_reader;


--
-- Name: posts_by_author; Type: MATERIALIZED VIEW DATA; Schema: public; Owner: postgres
--

REFRESH MATERIALIZED VIEW public.posts_by_author;


--
-- PostgreSQL database dump complete
--

\unrestrict enpjNVEsRPhPO9BtW2X9IUytApxAeQZb1YWg25sWFXcrtTSbaneMmjSqVgzHw2X

